r"""The tree of an ecma or pcre pattern, written out for the `regex` package.

The result is meant for `regex.compile(text, regex.VERSION0 | regex.ASCII)`: every set of characters is explicit, so the
flags decide nothing but `\b`.
"""

from __future__ import annotations

from functools import lru_cache

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.errors import InvalidPattern
from graders.matching.parsing import ASCII_DIGIT, ASCII_SPACE, ASCII_WORD, ParsedPattern
from graders.matching.syntax import (
    Anchor,
    Atomic,
    BackReference,
    Call,
    Capture,
    Chars,
    Choice,
    Conditional,
    Definitions,
    Greed,
    Look,
    Node,
    Position,
    Repeat,
    Sequence,
    children,
    walk,
    widths,
)

_NAMED_SETS: dict[CharSet, str] = {ASCII_DIGIT: r"\d", ASCII_WORD: r"\w", ASCII_SPACE: r"\s"}
_NAMED_SETS.update({charset.complement(members): name.upper() for members, name in tuple(_NAMED_SETS.items())})
_ECMA_NEWLINES = r"[\n\r\u2028\u2029]"
_ANCHORS = {
    Anchor.TEXT_START: r"\A",
    Anchor.TEXT_END: r"\Z",
    Anchor.FINAL_END: r"(?:\Z|(?=\n\Z))",
    Anchor.LINE_START: r"(?m:^)",
    Anchor.LINE_START_INNER: r"(?:\A|(?<=\n)(?!\Z))",
    Anchor.LINE_END: r"(?m:$)",
    Anchor.ECMA_LINE_START: rf"(?:\A|(?<={_ECMA_NEWLINES}))",
    Anchor.ECMA_LINE_END: rf"(?:\Z|(?={_ECMA_NEWLINES}))",
    Anchor.WORD: r"\b",
    Anchor.NOT_WORD: r"\B",
    Anchor.KEEP: r"\K",
}
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def to_regex(parsed: ParsedPattern, *, unset_is_empty: bool) -> str:
    """The pattern for `regex`.

    Args:
        parsed: a tree without Unicode word boundaries.
        unset_is_empty: whether a reference to a group that has not matched is empty (ECMAScript) or fails (PCRE2).

    Raises:
        InvalidPattern: with `supported=False`, for what `regex` would answer differently.
    """
    _refuse_differences(parsed.root, unset_is_empty=unset_is_empty)
    return _Writer(parsed.root, unset_is_empty).text


class _Writer:
    def __init__(self, root: Node, unset_is_empty: bool) -> None:
        self.unset_is_empty = unset_is_empty
        referenced = _referenced(root)
        present = [node.number for node in walk(root) if isinstance(node, Capture) and node.number in referenced]
        self.numbers = {number: index for index, number in enumerate(sorted(present), start=1)}
        self.text = self.write(root)

    def write(self, node: Node) -> str:
        match node:
            case Chars(members):
                return write_set(members)
            case Position(anchor):
                return _ANCHORS[anchor]
            case Sequence(items):
                return "".join(f"(?:{self.write(i)})" if isinstance(i, Choice) else self.write(i) for i in items)
            case Choice(branches):
                return "|".join(self.write(branch) for branch in branches)
            case Repeat(item, least, most, greed):
                return self.write_repeated(item) + _quantifier(least, most) + greed.value
            case Capture(number, item):
                return f"({self.write(item)})" if number in self.numbers else f"(?:{self.write(item)})"
            case Atomic(item):
                return f"(?>{self.write(item)})"
            case Look(item, ahead, negative):
                return f"(?{'' if ahead else '<'}{'!' if negative else '='}{self.write(item)})"
            case BackReference(number, folded, _):
                if number not in self.numbers:
                    return "(?:)" if self.unset_is_empty else "(?!)"
                return self.write_reference(self.numbers[number], folded)
            case Conditional(condition, then, otherwise):
                test = f"({self.numbers[condition]})" if isinstance(condition, int) else self.write(condition)
                return f"(?{test}{self.grouped(then)}|{self.grouped(otherwise)})"
            case Definitions(item):
                return f"(?(DEFINE){self.grouped(item)})"
            case Call(number, _):
                return "(?R)" if number == 0 else f"(?{self.numbers[number]})"
        raise TypeError(f"not a node: {node!r}")

    def grouped(self, node: Node) -> str:
        return f"(?:{self.write(node)})"

    def write_repeated(self, item: Node) -> str:
        return self.write(item) if isinstance(item, Chars | Atomic) else self.grouped(item)

    def write_reference(self, number: int, folded: bool) -> str:
        reference = rf"(?i:\g<{number}>)" if folded else rf"\g<{number}>"
        return f"(?({number}){reference}|)" if self.unset_is_empty else reference


def _quantifier(least: int, most: int | None) -> str:
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if simple:
        return simple
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


@lru_cache(maxsize=256)
def write_set(members: CharSet) -> str:
    """One character out of `members`."""
    if len(members) == 1 and members[0][0] == members[0][1]:
        return _escaped(members[0][0])
    if members == charset.EVERYTHING:
        return "(?s:.)"
    if not members:
        return "(?!)"
    named = _NAMED_SETS.get(members)
    if named:
        return named
    negated = charset.complement(members)
    if members[-1][1] == charset.MAX_CODE_POINT and negated:
        return f"[^{_ranges(negated)}]"
    return f"[{_ranges(members)}]"


def _ranges(members: CharSet) -> str:
    return "".join(_escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}" for low, high in members)


def _escaped(point: int) -> str:
    if chr(point) in _SAFE:
        return chr(point)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _referenced(root: Node) -> set[int]:
    numbers: set[int] = set()
    for node in walk(root):
        if isinstance(node, BackReference | Call):
            numbers.add(node.number)
        elif isinstance(node, Conditional) and isinstance(node.condition, int):
            numbers.add(node.condition)
    return numbers


def _refuse_differences(root: Node, *, unset_is_empty: bool) -> None:
    nodes = list(walk(root))
    references = [node for node in nodes if isinstance(node, BackReference)]
    calls = [node for node in nodes if isinstance(node, Call)]
    captures = {node.number: node for node in nodes if isinstance(node, Capture)}
    tested = [node for node in nodes if isinstance(node, Conditional) and isinstance(node.condition, int)]
    if calls and (references or tested):
        raise _refused("recursion together with back references or conditions on groups", calls[0].at)
    behind = {inner.number for node in nodes if _is_behind(node) for inner in walk(node) if isinstance(inner, Capture)}
    for node in nodes:
        if _is_behind(node) and any(_one_way(inner) for inner in walk(node)):
            raise _refused("a reference, a call, \\K, or an atomic or possessive item inside a look-behind", 0)
    for reference in references:
        if reference.number in behind:
            raise _refused("a back reference to a group inside a look-behind", reference.at)
        if (
            reference.folded
            and reference.number in captures
            and not _folds_as_ascii(captures[reference.number], ecma=unset_is_empty)
        ):
            raise _refused("a case-insensitive back reference to text that may fold outside ASCII", reference.at)
    if not unset_is_empty:
        _refuse_state_in_empty_loops(nodes)
    else:
        reset = _reset_groups(root)
        for reference in references:
            if reference.number in reset:
                raise _refused("a back reference to a group that a loop may leave unset", reference.at)


def _refuse_state_in_empty_loops(nodes: list[Node]) -> None:
    """PCRE2 leaves a loop after an iteration that took nothing, `regex` may go on: a group's state could tell."""
    for node in nodes:
        if not isinstance(node, Repeat) or node.most == 1 or widths(node.item)[0] > 0:
            continue
        for inner in walk(node.item):
            if isinstance(inner, BackReference):
                raise _refused("a back reference in a loop that may take nothing", inner.at)
            if isinstance(inner, Conditional) and isinstance(inner.condition, int):
                raise _refused("a condition on a group in a loop that may take nothing", 0)


def _refused(what: str, at: int) -> InvalidPattern:
    return InvalidPattern(f"not supported: {what}", at, supported=False)


def _is_behind(node: Node) -> bool:
    return isinstance(node, Look) and not node.ahead


def _one_way(node: Node) -> bool:
    """Whether `node` may come out otherwise when it is matched from right to left."""
    possessive = isinstance(node, Repeat) and node.greed is Greed.POSSESSIVE
    atomic = isinstance(node, Atomic) and widths(node)[0] != widths(node)[1]
    return possessive or atomic or isinstance(node, BackReference | Call | Conditional | Definitions)


def _folds_as_ascii(group: Node, *, ecma: bool) -> bool:
    """Whether everything that `group` can hold folds with ASCII alone."""
    for node in walk(group):
        if isinstance(node, BackReference | Call):
            return False
        if isinstance(node, Chars):
            beyond = [p for p in node.members if p[1] > 0x7F]
            partners = not ecma and any(charset.contains(node.members, ord(letter)) for letter in "kKsS")
            if beyond or partners:
                return False
    return True


def _reset_groups(root: Node) -> set[int]:
    """Groups that an iteration of a loop can leave unset although an earlier iteration set them."""
    found: set[int] = set()

    def visit(node: Node, in_loop: bool, skippable: bool) -> None:
        match node:
            case Capture(number, item):
                if in_loop and skippable:
                    found.add(number)
                visit(item, in_loop, skippable)
            case Repeat(item, least, most, _):
                loops = most is None or most > 1
                may_be_empty = loops and least != most and widths(item)[0] == 0
                visit(item, in_loop or loops, may_be_empty or (in_loop and (skippable or least == 0)))
            case Choice(branches):
                for branch in branches:
                    visit(branch, in_loop, in_loop or skippable)
            case Look(item, _, negative):
                visit(item, in_loop, skippable or negative)
            case _:
                for inner in children(node):
                    visit(inner, in_loop, skippable)

    visit(root, in_loop=False, skippable=False)
    return found
