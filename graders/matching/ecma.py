r"""The `ecma` dialect: ECMAScript 2018 to 2024 regular expressions without the u flag, Annex B included.

Guaranteed to be as in a browser or Node: `\d \w \b` are ASCII; `\s` is ECMAScript's white space with U+FEFF; `.`
leaves out LF, CR, U+2028 and U+2029; `$` is the very end; `^ $` under m know those same four line ends; `[]` never
matches and `[^]` always does; `\A`, `\Z` and `\p` are plain letters; back references to a group that has not matched
are empty; look-behind and `(?<name>…)` are there; case folding is `Canonicalize` without u.

Ours, and stated: a character beyond U+FFFF is one character, not two units. A leading `(?ims)` sets flags, as vally
does. Refused with a position: everything that ECMAScript refuses (possessive and atomic groups, inline flags elsewhere,
`(?P<…>…)`), flags u and v, and the few back references whose value depends on ECMAScript's resetting of groups in
loops or on case folding outside ASCII.
"""

from __future__ import annotations

import re

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.errors import InvalidPattern
from graders.matching.folding import close_over_case, ecma_same_case
from graders.matching.parsing import (
    ASCII_DIGIT,
    ASCII_WORD,
    DECIMAL_DIGITS,
    OCTAL_DIGITS,
    ParsedPattern,
    PatternParser,
    not_any,
    repeat,
)
from graders.matching.syntax import (
    EMPTY,
    Anchor,
    BackReference,
    Capture,
    Chars,
    Greed,
    Look,
    Node,
    Position,
    Sequence,
)

_SPACE: CharSet = charset.from_ranges(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
_CLASSES: dict[str, CharSet] = {"d": ASCII_DIGIT, "w": ASCII_WORD, "s": _SPACE}
_CLASSES.update({name.upper(): charset.complement(members) for name, members in tuple(_CLASSES.items())})
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_NOT_NEWLINE = not_any(0x0A, 0x0D, 0x2028, 0x2029)
_LEADING_FLAGS = re.compile(r"\(\?([A-Za-z]+)\)")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def parse_ecma(pattern: str, flags: str) -> ParsedPattern:
    """The tree of an ECMAScript pattern.

    Args:
        pattern: without its slashes; it may begin with one `(?ims)` group.
        flags: letters of i, m, s.

    Raises:
        InvalidPattern: if ECMAScript refuses it, or this engine does.
    """
    start = 0
    leading = _LEADING_FLAGS.match(pattern)
    if leading:
        for offset, letter in enumerate(leading.group(1), start=2):
            if letter not in "ims":
                raise InvalidPattern(f"unknown flag {letter!r} in the leading flag group", offset)
            if letter in leading.group(1)[: offset - 2]:
                raise InvalidPattern(f"repeated flag {letter!r} in the leading flag group", offset)
        flags += leading.group(1)
        start = leading.end()
    return _EcmaParser(pattern, start, flags).parse()


class _EcmaParser(PatternParser):
    def __init__(self, pattern: str, start: int, flags: str) -> None:
        super().__init__(pattern)
        self.position = start
        self.ignore_case = "i" in flags
        self.multiline = "m" in flags
        self.dot_all = "s" in flags
        self.group_total, self.has_names = _count_groups(pattern, start)
        self.group_count = 0
        self.names: dict[str, int] = {}
        self.open_groups: set[int] = set()
        self.named_references: list[tuple[str, int]] = []
        self.in_lookbehind = 0

    def parse(self) -> ParsedPattern:
        root = self.whole()
        for name, at in self.named_references:
            if name not in self.names:
                raise self.invalid(f"no group is called {name!r}", at)
        return ParsedPattern(root, self.group_count, self.names)

    def chars(self, members: CharSet) -> Chars:
        return Chars(close_over_case(members, ecma_same_case()) if self.ignore_case else members)

    def atom(self) -> Node:
        at = self.position
        character = self.peek()
        if character == "(":
            return self.group()
        if character == "\\":
            return self.escape()
        if character == "[":
            return self.char_class()
        if character in "*+?" or (character == "{" and self.braces(at) is not None):
            raise self.invalid("nothing to repeat", at)
        self.position = at + 1
        if character == "^":
            return Position(Anchor.ECMA_LINE_START if self.multiline else Anchor.TEXT_START)
        if character == "$":
            return Position(Anchor.ECMA_LINE_END if self.multiline else Anchor.TEXT_END)
        if character == ".":
            return Chars(charset.EVERYTHING if self.dot_all else _NOT_NEWLINE)
        return self.chars(charset.of(ord(character)))

    def quantified(self, atom: Node, start: int) -> Node:
        at = self.position
        bounds = self._bounds(at)
        if bounds is None:
            return atom
        if isinstance(atom, Position) or (isinstance(atom, Look) and not atom.ahead):
            raise self.invalid("nothing to repeat", at)
        least, most = bounds
        if most is not None and least > most:
            raise self.invalid("numbers out of order in a {} quantifier", at)
        greed = Greed.LAZY if self.accept("?") else Greed.GREEDY
        if isinstance(atom, Look):
            return atom if least else EMPTY
        return repeat(atom, least, most, greed)

    def _bounds(self, at: int) -> tuple[int, int | None] | None:
        if self.accept("*"):
            return 0, None
        if self.accept("+"):
            return 1, None
        if self.accept("?"):
            return 0, 1
        return self.braces(at) if self.looking_at("{") else None

    def group(self) -> Node:
        at = self.position
        self.position += 1
        if not self.accept("?"):
            return self.capture(at)
        if self.accept(":"):
            return Sequence((self.group_body(at),))
        if self.accept("="):
            return Look(self.group_body(at), ahead=True, negative=False)
        if self.accept("!"):
            return Look(self.group_body(at), ahead=True, negative=True)
        if self.accept("<=") or self.accept("<!"):
            negative = self.pattern[self.position - 1] == "!"
            self.in_lookbehind += 1
            body = self.group_body(at)
            self.in_lookbehind -= 1
            return Look(body, ahead=False, negative=negative)
        if self.accept("<"):
            name = self.group_name(at)
            if name in self.names:
                raise self.invalid(f"two groups are called {name!r}", at)
            self.names[name] = self.group_count + 1
            return self.capture(at)
        raise self.invalid("invalid group", at)

    def capture(self, at: int) -> Node:
        self.group_count += 1
        number = self.group_count
        self.open_groups.add(number)
        body = self.group_body(at)
        self.open_groups.discard(number)
        return Capture(number, body)

    def group_name(self, at: int) -> str:
        r"""The name up to `>`, its `\u` escapes resolved."""
        end = self.pattern.find(">", self.position)
        if end < 0:
            raise self.invalid("invalid group name", at)
        raw = self.pattern[self.position : end]
        name = re.sub(r"\\u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))", _named_character, raw)
        if not name.replace("$", "_").replace("\u200c", "_").replace("\u200d", "_").isidentifier():
            raise self.invalid("invalid group name", at)
        self.position = end + 1
        return name

    def escape(self) -> Node:
        at = self.position
        self.position += 1
        letter = self.peek()
        if not letter:
            raise self.invalid("a backslash at the end of the pattern", at)
        if letter in "bB":
            self.position += 1
            return Position(Anchor.WORD if letter == "b" else Anchor.NOT_WORD)
        if letter == "k" and self.has_names:
            self.position += 1
            if not self.accept("<"):
                raise self.invalid("invalid named reference", at)
            return self.named_reference(at)
        if letter in "123456789":
            reference = self.numbered_reference(at)
            if reference is not None:
                return reference
        if letter in _CLASSES:
            self.position += 1
            return self.chars(_CLASSES[letter])
        return self.chars(charset.of(self.character_escape(at, in_class=False)))

    def numbered_reference(self, at: int) -> Node | None:
        start = self.position
        digits = self.take_while(DECIMAL_DIGITS)
        if len(digits) < 6 and int(digits) <= self.group_total:
            return self.reference(int(digits), at)
        self.position = start
        return None

    def named_reference(self, at: int) -> Node:
        name = self.group_name(at)
        self.named_references.append((name, at))
        return self.reference(self.names[name], at) if name in self.names else EMPTY

    def reference(self, number: int, at: int) -> Node:
        if self.in_lookbehind:
            raise self.unsupported("a back reference inside a look-behind", at)
        if number > self.group_count or number in self.open_groups:
            return EMPTY
        return BackReference(number, self.ignore_case, at)

    def character_escape(self, at: int, *, in_class: bool) -> int:
        """The code point of an escape whose backslash is behind us."""
        letter = self.peek()
        self.position += 1
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "c":
            control = self.peek()
            if control and (control in _LETTERS or (in_class and (control == "_" or control in DECIMAL_DIGITS))):
                self.position += 1
                return ord(control) % 32
            self.position = at + 1
            return ord("\\")
        if letter in OCTAL_DIGITS:
            self.position -= 1
            digits = self.take_while(OCTAL_DIGITS, most=3 if letter in "0123" else 2)
            return int(digits, 8)
        if letter == "x":
            value = self.take_hex(2)
            return ord("x") if value is None else value
        if letter == "u":
            return self.unicode_escape()
        if letter == "k" and self.has_names:
            raise self.invalid("invalid escape", at)
        return ord(letter)

    def unicode_escape(self) -> int:
        high = self.take_hex(4)
        if high is None:
            return ord("u")
        after_high = self.position
        if 0xD800 <= high <= 0xDBFF and self.accept("\\u"):
            low = self.take_hex(4)
            if low is not None and 0xDC00 <= low <= 0xDFFF:
                return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            self.position = after_high
        return high

    def char_class(self) -> Node:
        at = self.position
        self.position += 1
        negated = self.accept("^")
        members: list[CharSet] = []
        while not self.accept("]"):
            if self.at_end():
                raise self.invalid("unterminated character class", at)
            members.append(self.class_range())
        taken = charset.union(*members)
        if self.ignore_case:
            taken = close_over_case(taken, ecma_same_case())
        return Chars(charset.complement(taken) if negated else taken)

    def class_range(self) -> CharSet:
        at = self.position
        low = self.class_atom()
        if not self.looking_at("-") or self.pattern[self.position + 1 : self.position + 2] in ("", "]"):
            return charset.of(low) if isinstance(low, int) else low
        self.position += 1
        high = self.class_atom()
        if isinstance(low, int) and isinstance(high, int):
            if low > high:
                raise self.invalid("range out of order in a character class", at)
            return ((low, high),)
        ends = [charset.of(end) if isinstance(end, int) else end for end in (low, high)]
        return charset.union(*ends, charset.of(ord("-")))

    def class_atom(self) -> int | CharSet:
        at = self.position
        character = self.peek()
        self.position += 1
        if character != "\\":
            return ord(character)
        letter = self.peek()
        if not letter:
            raise self.invalid("a backslash at the end of the pattern", at)
        if letter in _CLASSES:
            self.position += 1
            return _CLASSES[letter]
        if letter == "b":
            self.position += 1
            return 0x08
        return self.character_escape(at, in_class=True)


def _named_character(escape: re.Match[str]) -> str:
    value = int(escape.group(1) or escape.group(2), 16)
    return chr(value) if value <= charset.MAX_CODE_POINT else ""


def _count_groups(pattern: str, start: int) -> tuple[int, bool]:
    r"""How many groups capture, and whether one has a name: what `\8` and `\k` mean depends on the whole pattern."""
    count, named, in_class = 0, False, False
    position = start
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            if pattern[position + 1 : position + 2] != "?":
                count += 1
            elif pattern[position + 1 : position + 3] == "?<" and pattern[position + 3 : position + 4] not in "=!":
                count, named = count + 1, True
        position += 1
    return count, named
