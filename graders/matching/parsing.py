"""What the parsers of the three dialects share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.errors import InvalidPattern
from graders.matching.syntax import EMPTY, Choice, Greed, Node, Repeat, sequence

MAX_NESTING = 100
ASCII_DIGIT: CharSet = ((0x30, 0x39),)
ASCII_WORD: CharSet = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_SPACE: CharSet = ((0x09, 0x0D), (0x20, 0x20))
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
OCTAL_DIGITS = frozenset("01234567")
DECIMAL_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class ParsedPattern:
    """A pattern's tree, the number of its capturing groups, and their names."""

    root: Node
    group_count: int
    names: dict[str, int] = field(default_factory=dict)


class PatternParser(ABC):
    """Recursive descent over the code points of one pattern; a dialect supplies `atom` and `quantifier`."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.depth = 0

    def at_end(self) -> bool:
        """Whether the whole pattern has been read."""
        return self.position >= len(self.pattern)

    def peek(self) -> str:
        """The next character, or the empty string at the end."""
        return self.pattern[self.position : self.position + 1]

    def looking_at(self, text: str) -> bool:
        """Whether `text` comes next."""
        return self.pattern.startswith(text, self.position)

    def accept(self, text: str) -> bool:
        """Step over `text` if it comes next."""
        if self.looking_at(text):
            self.position += len(text)
            return True
        return False

    def take_while(self, allowed: frozenset[str], most: int | None = None) -> str:
        """Step over, and give, the next characters that are in `allowed`, at most `most`."""
        start = self.position
        end = len(self.pattern) if most is None else min(len(self.pattern), start + most)
        while self.position < end and self.pattern[self.position] in allowed:
            self.position += 1
        return self.pattern[start : self.position]

    def take_hex(self, digits: int) -> int | None:
        """The value of exactly `digits` hexadecimal digits, or None and no step if they are not there."""
        text = self.pattern[self.position : self.position + digits]
        if len(text) == digits and set(text) <= HEX_DIGITS:
            self.position += digits
            return int(text, 16)
        return None

    def invalid(self, reason: str, at: int | None = None) -> InvalidPattern:
        """The error for a pattern that the dialect refuses, at the current place or `at`."""
        return InvalidPattern(reason, self.position if at is None else at)

    def unsupported(self, what: str, at: int) -> InvalidPattern:
        """The error for a construct that the dialect has and this engine refuses."""
        return InvalidPattern(f"not supported: {what}", at, supported=False)

    def whole(self) -> Node:
        """The tree of the whole pattern."""
        root = self.alternation()
        if not self.at_end():
            raise self.invalid("unmatched closing parenthesis")
        return root

    def alternation(self) -> Node:
        """Branches separated by bars, up to the end of the group."""
        branches = [self.branch()]
        while self.accept("|"):
            branches.append(self.branch())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def branch(self) -> Node:
        """Quantified items up to a bar or the end of the group."""
        items: list[Node] = []
        while not self.at_end() and self.peek() not in "|)":
            start = self.position
            atom = self.atom()
            if atom is not None:
                items.append(self.quantified(atom, start))
        return sequence(items) if items else EMPTY

    def enter_group(self, at: int) -> None:
        """Count one more level of nesting."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.unsupported(f"groups nested more than {MAX_NESTING} deep", at)

    def leave_group(self, opened_at: int) -> None:
        """Step over the closing parenthesis of the group that was opened at `opened_at`."""
        self.depth -= 1
        if not self.accept(")"):
            raise self.invalid("missing closing parenthesis", opened_at)

    def group_body(self, opened_at: int) -> Node:
        """What stands between here and the closing parenthesis, which is stepped over."""
        self.enter_group(opened_at)
        body = self.alternation()
        self.leave_group(opened_at)
        return body

    def braces(self, pattern_from: int) -> tuple[int, int | None] | None:
        """`{n}`, `{n,}` or `{n,m}` at `pattern_from` (which is stepped over), or None and no step."""
        self.position = pattern_from + 1
        low = self.take_while(DECIMAL_DIGITS)
        high: str | None = low
        if low and self.accept(","):
            high = self.take_while(DECIMAL_DIGITS) or None
        if low and self.accept("}"):
            return _bounded(low), None if high is None else _bounded(high)
        self.position = pattern_from
        return None

    @abstractmethod
    def atom(self) -> Node | None:
        """The next item without its quantifier; None if it stands for nothing."""

    @abstractmethod
    def quantified(self, atom: Node, start: int) -> Node:
        """`atom`, which began at `start`, with the quantifier that follows it, if any."""


def _bounded(digits: str) -> int:
    return int(digits) if len(digits) < 10 else 10**9


def repeat(item: Node, least: int, most: int | None, greed: Greed) -> Node:
    """`item` repeated; itself if that is once."""
    return item if (least, most) == (1, 1) and greed is not Greed.POSSESSIVE else Repeat(item, least, most, greed)


def not_any(*code_points: int) -> CharSet:
    """All code points but these."""
    return charset.complement(charset.of(*code_points))
