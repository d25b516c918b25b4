"""Escapes, references and character classes of the `pcre` dialect."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.folding import asked_of_regex, close_over_case, pcre_same_case
from graders.matching.parsing import (
    ASCII_DIGIT,
    ASCII_SPACE,
    ASCII_WORD,
    DECIMAL_DIGITS,
    HEX_DIGITS,
    OCTAL_DIGITS,
    PatternParser,
    not_any,
)
from graders.matching.syntax import Anchor, Atomic, BackReference, Call, Chars, Choice, Node, Position, Sequence

_HORIZONTAL = charset.from_ranges(
    [
        *((0x09, 0x09), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E)),
        *((0x2000, 0x200A), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
    ]
)
_VERTICAL: CharSet = ((0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
_CLASSES: dict[str, CharSet] = {
    "d": ASCII_DIGIT,
    "w": ASCII_WORD,
    "s": ASCII_SPACE,
    "h": _HORIZONTAL,
    "v": _VERTICAL,
}
_CLASSES.update({name.upper(): charset.complement(members) for name, members in tuple(_CLASSES.items())})
NOT_NEWLINE = not_any(0x0A)
_NEWLINE_SEQUENCE = Atomic(Choice((Sequence((Chars(charset.of(0x0D)), Chars(charset.of(0x0A)))), Chars(_VERTICAL))))
_POSIX: dict[str, CharSet] = {
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "lower": ((0x61, 0x7A),),
    "upper": ((0x41, 0x5A),),
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "ascii": charset.ASCII,
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": ASCII_DIGIT,
    "graph": ((0x21, 0x7E),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ASCII_SPACE,
    "word": ASCII_WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
_CONTROLS = {"a": 0x07, "e": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09}
_ANCHORS = {
    "A": Anchor.TEXT_START,
    "G": Anchor.TEXT_START,
    "z": Anchor.TEXT_END,
    "Z": Anchor.FINAL_END,
    "b": Anchor.WORD,
    "B": Anchor.NOT_WORD,
}
_CATEGORIES = frozenset(
    re.findall(
        r"\S+",
        "Any L& C Cc Cf Cn Co L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs",
    )
)
_MOST_NAME = 128


@dataclass(frozen=True, slots=True)
class Options:
    """What `(?imsxnU)` set, at one place of the pattern."""

    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    extended: bool = False
    extended_more: bool = False
    no_capture: bool = False
    ungreedy: bool = False


class PcreEscapes(PatternParser):
    """The part of the parser that reads one backslash or one bracket."""

    def __init__(self, pattern: str, options: Options) -> None:
        super().__init__(pattern)
        self.options = options
        self.group_count = 0
        self.names: dict[str, int] = {}
        self.quoting = False
        self.in_look = 0
        self.quantifiable = False
        self.pending: list[tuple[str | int, int]] = []

    def chars(self, members: CharSet) -> Chars:
        """One character out of `members` or what they fold to."""
        return Chars(close_over_case(members, pcre_same_case()) if self.options.ignore_case else members)

    def literal(self, code_point: int) -> Chars:
        """The one character `code_point`, or what it folds to."""
        self.quantifiable = True
        return self.chars(charset.of(code_point))

    def name(self, closing: str) -> str:
        """A group's name up to `closing`, both stepped over."""
        at = self.position
        if closing == "}":
            self.take_while(frozenset(" \t"))
        start = self.position
        while not self.at_end() and _is_name_character(self.peek(), first=self.position == start):
            self.position += 1
        name = self.pattern[start : self.position]
        if closing == "}":
            self.take_while(frozenset(" \t"))
        if not name or len(name) > _MOST_NAME or not self.accept(closing):
            raise self.invalid("a group name is missing, malformed or too long", at)
        return name

    def placeholder(self, name: str, at: int) -> int:
        """A negative number that stands for `name` until the whole pattern is known."""
        self.pending.append((name, at))
        return -len(self.pending)

    def reference_by_name(self, at: int, closing: str) -> Node:
        """A back reference whose name ends at `closing`."""
        return self.reference(self.placeholder(self.name(closing), at), at)

    def reference(self, number: int, at: int) -> Node:
        """A back reference to a group by number (a negative one stands for a name)."""
        if number > 0:
            self.pending.append((number, at))
        self.quantifiable = True
        return BackReference(number, self.options.ignore_case, at)

    def call(self, number: int, at: int) -> Node:
        """A call of a group by number (a negative one stands for a name)."""
        if number > 0:
            self.pending.append((number, at))
        self.quantifiable = True
        return Call(number, at)

    def relative(self, sign: str, digits: str, at: int) -> int:
        """The group that a reference such as -1 or +2 means here."""
        if not digits or len(digits) > 5:
            raise self.invalid("a malformed group number", at)
        if not sign:
            return int(digits)
        distance = int(digits)
        number = self.group_count + distance if sign == "+" else self.group_count + 1 - distance
        if distance == 0 or number < 1:
            raise self.invalid("reference to a group that does not exist", at)
        return number

    def escape(self) -> Node | None:
        """What a backslash outside a class stands for."""
        at = self.position
        self.position += 1
        letter = self.peek()
        if not letter:
            raise self.invalid("a backslash at the end of the pattern", at)
        if letter in "123456789":
            return self.numbered(at)
        if letter == "Q":
            self.position += 1
            self.quoting = True
            return None
        if letter in _ANCHORS:
            self.position += 1
            return Position(_ANCHORS[letter])
        if letter == "K":
            self.position += 1
            if self.in_look:
                raise self.invalid("\\K inside a look-around", at)
            return Position(Anchor.KEEP)
        self.quantifiable = True
        if letter == "R":
            self.position += 1
            return _NEWLINE_SEQUENCE
        if letter == "N" and not self.looking_at("N{U+"):
            self.position += 1
            if self.looking_at("{") and self.braces(self.position) is None:
                raise self.invalid("\\N{name} is not supported by PCRE2", at)
            self.position = at + 2
            return Chars(NOT_NEWLINE)
        if letter in "gk":
            self.position += 1
            return self.referenced(letter, at)
        if letter in _CLASSES:
            self.position += 1
            return Chars(_CLASSES[letter])
        if letter in "pP":
            return Chars(self.unicode_property(at))
        return self.literal(self.character_escape(at))

    def numbered(self, at: int) -> Node:
        """A backslash and digits: a back reference, or a character in octal."""
        start = self.position
        digits = self.take_while(DECIMAL_DIGITS)
        small = len(digits) < 6
        if small and (len(digits) == 1 or digits[0] in "89" or int(digits) <= self.group_count):
            return self.reference(int(digits), at)
        if not small or digits[0] in "89":
            raise self.invalid("reference to a group that does not exist", at)
        self.position = start
        return self.literal(int(self.take_while(OCTAL_DIGITS, most=3), 8))

    def referenced(self, letter: str, at: int) -> Node:
        r"""`\g…` and `\k…` after their letter."""
        for opening, closing in (("<", ">"), ("'", "'")):
            if self.accept(opening):
                if letter == "k":
                    return self.reference_by_name(at, closing)
                return self.called(closing, at)
        braced = self.accept("{")
        if letter == "k":
            if not braced:
                raise self.invalid("\\k is not followed by a name", at)
            return self.reference_by_name(at, "}")
        if braced:
            self.take_while(frozenset(" \t"))
        sign = "-" if self.accept("-") else "+" if self.accept("+") else ""
        digits = self.take_while(DECIMAL_DIGITS)
        if braced and not digits and not sign:
            return self.reference_by_name(at, "}")
        number = self.relative(sign, digits, at)
        if braced:
            self.take_while(frozenset(" \t"))
            if not self.accept("}"):
                raise self.invalid("a malformed group number", at)
        if number == 0:
            raise self.invalid("a reference to group 0", at)
        return self.reference(number, at)

    def called(self, closing: str, at: int) -> Node:
        r"""`\g<…>`: a call, by name or number."""
        sign = "-" if self.accept("-") else "+" if self.accept("+") else ""
        digits = self.take_while(DECIMAL_DIGITS)
        if digits or sign:
            number = self.relative(sign, digits, at)
            if not self.accept(closing):
                raise self.invalid("a malformed group number", at)
            return self.call(number, at)
        return self.call(self.placeholder(self.name(closing), at), at)

    def character_escape(self, at: int) -> int:
        """The code point of an escape whose backslash is behind us, in or out of a class."""
        letter = self.peek()
        self.position += 1
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "c":
            control = self.peek()
            if not control or not " " <= control <= "~":
                raise self.invalid("\\c is not followed by a printable ASCII character", at)
            self.position += 1
            return ord(control.upper()) ^ 0x40
        if letter in OCTAL_DIGITS:
            self.position -= 1
            return int(self.take_while(OCTAL_DIGITS, most=3), 8)
        if letter == "o":
            return self.braced_number(OCTAL_DIGITS, 8, at)
        if letter == "x":
            if self.looking_at("{"):
                return self.braced_number(HEX_DIGITS, 16, at)
            digits = self.take_while(HEX_DIGITS, most=2)
            if not digits:
                raise self.invalid("\\x is not followed by hexadecimal digits", at)
            return int(digits, 16)
        if letter == "N" and self.accept("{U+"):
            return self._named_code_point(at)
        if letter.isascii() and letter.isalnum() and letter not in "89":
            if letter in "CX":
                raise self.unsupported(f"\\{letter}", at)
            raise self.invalid("an unrecognised character follows the backslash", at)
        return ord(letter)

    def _named_code_point(self, at: int) -> int:
        digits = self.take_while(HEX_DIGITS)
        if not digits or not self.accept("}"):
            raise self.invalid("a malformed \\N{U+…}", at)
        return self.checked_code_point(int(digits, 16), at)

    def braced_number(self, allowed: frozenset[str], base: int, at: int) -> int:
        """A number in braces, as a code point."""
        blank = frozenset(" \t")
        if not self.accept("{"):
            raise self.invalid("a missing brace after an escape", at)
        self.take_while(blank)
        digits = self.take_while(allowed)
        self.take_while(blank)
        if not digits or not self.accept("}"):
            raise self.invalid("malformed digits in braces", at)
        return self.checked_code_point(int(digits[-12:], base) if len(digits.lstrip("0")) < 12 else 1 << 40, at)

    def checked_code_point(self, value: int, at: int) -> int:
        """`value`, if it is a character."""
        if value > charset.MAX_CODE_POINT:
            raise self.invalid("a character code that is too large", at)
        if 0xD800 <= value <= 0xDFFF:
            raise self.invalid("a surrogate is not a character", at)
        return value

    def unicode_property(self, at: int) -> CharSet:
        """What `p{…}` or `P{…}` takes."""
        negated = self.peek() == "P"
        self.position += 1
        if self.accept("{"):
            end = self.pattern.find("}", self.position)
            if end < 0:
                raise self.invalid("a malformed \\p or \\P", at)
            name = self.pattern[self.position : end].translate({ord(c): None for c in " \t-_"})
            self.position = end + 1
            if name.startswith("^"):
                name, negated = name[1:], not negated
        else:
            name = self.peek()
            self.position += 1
        category = next((known for known in _CATEGORIES if known.lower() == name.lower()), None)
        if category is None:
            raise self.unsupported("\\p of anything but a general category", at)
        if category == "Any":
            members = charset.EVERYTHING
        elif category == "L&" or (self.options.ignore_case and category in ("Lu", "Ll", "Lt")):
            members = asked_of_regex(r"[\p{Lu}\p{Ll}\p{Lt}]", 0)
        else:
            members = asked_of_regex(rf"\p{{{category}}}", 0)
        return charset.complement(members) if negated else members

    def char_class(self) -> Node:
        """A class from its bracket to its closing bracket."""
        at = self.position
        if self.posix_end(at) >= 0:
            raise self.invalid("POSIX named classes are supported only within a class", at)
        self.position += 1
        negated = self.accept("^")
        members: list[CharSet] = []
        quoting, first = False, True
        while True:
            if self.at_end():
                raise self.invalid("missing terminating ] of a character class", at)
            if self.accept("\\E"):
                quoting = False
                continue
            if not quoting and self.accept("\\Q"):
                quoting = True
                continue
            if not quoting and self.options.extended_more and self.peek() in " \t":
                self.position += 1
                continue
            if not quoting and not first and self.accept("]"):
                break
            first = False
            low = self.class_item(quoting)
            if isinstance(low, int):
                members.append(self._class_range(low, quoting))
            else:
                members.append(low)
                self._refuse_range_after_class()
        self.quantifiable = True
        taken = charset.union(*members)
        return Chars(charset.complement(taken) if negated else taken)

    def posix_end(self, bracket: int) -> int:
        """Where the `:]`, `.]` or `=]` is that closes the item whose `[` is at `bracket`; -1 if it is none."""
        kind = self.pattern[bracket + 1 : bracket + 2]
        if not kind or kind not in ":.=":
            return -1
        position = bracket + 2
        while position + 1 < len(self.pattern):
            here, following = self.pattern[position], self.pattern[position + 1]
            if here == "\\" and following in "]\\":
                position += 1
            elif here == "]" or (here == "[" and following == kind):
                return -1
            elif here == kind and following == "]":
                return position
            position += 1
        return -1

    def _refuse_range_after_class(self) -> None:
        if self.looking_at("-") and self.pattern[self.position + 1 : self.position + 2] not in ("", "]"):
            raise self.invalid("an invalid range in a character class")

    def _class_range(self, low: int, quoting: bool) -> CharSet:
        if quoting and self.looking_at("\\E-") and self.pattern[self.position + 3 : self.position + 4] != "]":
            raise self.unsupported("a quotation inside a range of a class", self.position)
        if quoting or not self.looking_at("-") or self.pattern[self.position + 1 : self.position + 2] in ("", "]"):
            return self.chars(charset.of(low)).members
        at = self.position
        if self.looking_at("-\\E") or self.looking_at("-\\Q"):
            raise self.unsupported("a quotation inside a range of a class", at)
        self.position += 1
        high = self.class_item(quoting=False)
        if not isinstance(high, int):
            raise self.invalid("an invalid range in a character class", at)
        if low > high:
            raise self.invalid("range out of order in a character class", at)
        return self.chars(((low, high),)).members

    def class_item(self, quoting: bool) -> int | CharSet:
        """One character, or one set, of a class."""
        at = self.position
        character = self.peek()
        if not quoting and character == "[":
            end = self.posix_end(at)
            if end >= 0:
                return self.posix_class(at, end)
        self.position += 1
        if quoting or character != "\\":
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
        if letter in "pP":
            return self.unicode_property(at)
        if letter in "BRXCKAZzGgk" or (letter == "N" and not self.looking_at("N{U+")):
            raise self.invalid("this escape is invalid in a character class", at)
        return self.character_escape(at)

    def posix_class(self, at: int, end: int) -> CharSet:
        """The set of the POSIX item between `at` and `end`."""
        inner = self.pattern[at + 2 : end]
        negated, name = inner.startswith("^"), inner.removeprefix("^")
        if self.pattern[at + 1] != ":":
            raise self.invalid("POSIX collating elements are not supported", at)
        if name not in _POSIX:
            raise self.invalid("an unknown POSIX class name", at)
        self.position = end + 2
        members = _POSIX[name]
        if self.options.ignore_case and name in ("upper", "lower"):
            members = _POSIX["alpha"]
        return charset.complement(members) if negated else members


def _is_name_character(character: str, *, first: bool) -> bool:
    category = unicodedata.category(character)
    return character == "_" or category[0] == "L" or (category == "Nd" and not first)
