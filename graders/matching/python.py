"""The `python` dialect: the `regex` package, version 0 behaviour, Unicode.

What it means is what `regex` does, for the backtracking tier hands it the pattern as written. This parser knows the
part of the language that the linear tier can run, and asks `regex` itself which characters each item takes, case
folding included. Everything else is `NotLinear`, and is checked by compiling it in a worker process.
"""

from __future__ import annotations

import re

import regex

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.folding import asked_of_regex, same_as_in_regex
from graders.matching.parsing import (
    OCTAL_DIGITS,
    ParsedPattern,
    PatternParser,
    not_any,
    repeat,
)
from graders.matching.syntax import Anchor, Capture, Chars, Greed, Node, Position, Sequence

_LEADING_FLAGS = re.compile(r"\(\?([imsau]+)\)")
_SCOPED_FLAGS = re.compile(r"\(\?([ims]*)(?:-([ims]+))?:")
_NAMED_GROUP = re.compile(r"\(\?P?<([A-Za-z_][A-Za-z0-9_]*)>")
_BRACES = re.compile(r"\{([0-9]{1,9})?(?:(,)([0-9]{1,9})?)?\}")
_CONTROLS = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_PUNCTUATION = frozenset("!\"#%&',-./:;<=>@_`~ $()*+?[\\]^{|}")
_CLASSES = frozenset("dDwWsS")
_LONGEST_ASKED_CLASS = 60
_MOST_ASKED_CLASSES = 24
"""Asking `regex` about a class costs milliseconds, and a pattern may be a bomb of classes."""


class NotLinear(Exception):
    """A construct that only `regex` itself can judge; the message says which."""


def parse_python(pattern: str, flags: str) -> ParsedPattern:
    """The tree of the part of the language that can run in linear time.

    Raises:
        NotLinear: for every other pattern, valid or not.
    """
    leading = _LEADING_FLAGS.match(pattern)
    start = leading.end() if leading else 0
    letters = flags + (leading.group(1) if leading else "")
    if "a" in letters and "u" in letters:
        raise NotLinear("contradicting flags")
    return _PythonParser(pattern, start, letters).parse()


class _PythonParser(PatternParser):
    def __init__(self, pattern: str, start: int, letters: str) -> None:
        super().__init__(pattern)
        self.position = start
        self.letters = frozenset(letters) & frozenset("ims")
        self.ascii = "a" in letters
        self.group_count = 0
        self.names: dict[str, int] = {}
        self.asked: set[str] = set()

    def parse(self) -> ParsedPattern:
        try:
            root = self.whole()
        except ValueError as error:
            raise NotLinear(str(error)) from None
        return ParsedPattern(root, self.group_count, self.names)

    def flags(self) -> int:
        base = regex.ASCII if self.ascii else regex.UNICODE
        return int(base | (regex.IGNORECASE if "i" in self.letters else 0) | regex.VERSION0)

    def literal(self, character: str) -> Chars:
        if "i" not in self.letters:
            return Chars(charset.of(ord(character)))
        if self.ascii:
            return Chars(asked_of_regex(regex.escape(character), self.flags()))
        return Chars(same_as_in_regex(character))

    def atom(self) -> Node:
        at = self.position
        character = self.peek()
        if character == "(":
            return self.group()
        if character == "\\":
            return self.escape()
        if character == "[":
            return self.char_class()
        if character in "*+?{":
            raise NotLinear("a repeat or brace with nothing before it")
        self.position = at + 1
        if character == "^":
            return Position(Anchor.LINE_START if "m" in self.letters else Anchor.TEXT_START)
        if character == "$":
            return Position(Anchor.LINE_END if "m" in self.letters else Anchor.FINAL_END)
        if character == ".":
            return Chars(charset.EVERYTHING if "s" in self.letters else not_any(0x0A))
        return self.literal(character)

    def quantified(self, atom: Node, start: int) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return atom
        if isinstance(atom, Position):
            raise NotLinear("a repeated anchor")
        least, most = bounds
        if most is not None and least > most:
            raise NotLinear("bounds out of order")
        greed = Greed.LAZY if self.accept("?") else Greed.GREEDY
        if self.peek() in ("*", "+", "?", "{"):
            raise NotLinear("a possessive or repeated quantifier")
        return repeat(atom, least, most, greed)

    def _bounds(self) -> tuple[int, int | None] | None:
        if self.accept("*"):
            return 0, None
        if self.accept("+"):
            return 1, None
        if self.accept("?"):
            return 0, 1
        if not self.looking_at("{"):
            return None
        found = _BRACES.match(self.pattern, self.position)
        if found is None or not (found.group(1) or found.group(3)):
            raise NotLinear("a brace that is no plain quantifier")
        self.position = found.end()
        low = int(found.group(1) or 0)
        if not found.group(2):
            return low, low
        return low, int(found.group(3)) if found.group(3) else None

    def group(self) -> Node:
        at = self.position
        if self.pattern[at + 1 : at + 2] != "?":
            self.position += 1
            return self.capture(at)
        named = _NAMED_GROUP.match(self.pattern, at)
        if named:
            if named.group(1) in self.names:
                raise NotLinear("a group name used twice")
            self.names[named.group(1)] = self.group_count + 1
            self.position = named.end()
            return self.capture(at)
        scoped = _SCOPED_FLAGS.match(self.pattern, at)
        if not scoped:
            raise NotLinear("look-around, an atomic group or another extension")
        turned_on, turned_off = frozenset(scoped.group(1)), frozenset(scoped.group(2) or "")
        if turned_on & turned_off:
            raise NotLinear("contradicting flags")
        self.position = scoped.end()
        before, self.letters = self.letters, (self.letters | turned_on) - turned_off
        body = self.group_body(at)
        self.letters = before
        return Sequence((body,))

    def capture(self, at: int) -> Node:
        self.group_count += 1
        number = self.group_count
        return Capture(number, self.group_body(at))

    def escape(self) -> Node:
        letter = self.pattern[self.position + 1 : self.position + 2]
        anchor = self._anchor(letter)
        if anchor is not None:
            self.position += 2
            return Position(anchor)
        if letter in _CLASSES and letter:
            self.position += 2
            return Chars(asked_of_regex("\\" + letter, self.flags()))
        return self.literal(chr(self.character_escape()))

    def _anchor(self, letter: str) -> Anchor | None:
        if letter in ("b", "B"):
            if self.ascii:
                return Anchor.WORD if letter == "b" else Anchor.NOT_WORD
            return Anchor.UNICODE_WORD if letter == "b" else Anchor.UNICODE_NOT_WORD
        return {"A": Anchor.TEXT_START, "Z": Anchor.TEXT_END, "z": Anchor.TEXT_END}.get(letter)

    def character_escape(self) -> int:
        """The code point of the escape at the position, in or out of a class."""
        letter = self.pattern[self.position + 1 : self.position + 2]
        self.position += 2
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter and letter in _PUNCTUATION:
            return ord(letter)
        digits = {"x": 2, "u": 4, "U": 8}.get(letter)
        value = self.take_hex(digits) if digits else None
        if value is not None and value <= charset.MAX_CODE_POINT:
            return value
        if letter == "0" and self.peek() not in OCTAL_DIGITS:
            return 0
        raise NotLinear("an escape that is not plain")

    def char_class(self) -> Node:
        """A class without set operations, as `regex` reads its source."""
        at = self.position
        self.position += 1
        negated = self.accept("^")
        members: list[CharSet] = []
        first = True
        while first or not self.looking_at("]"):
            if self.at_end():
                raise NotLinear("an unterminated class")
            if first and self.looking_at("]"):
                raise NotLinear("a class that begins with a bracket")
            first = False
            members.append(self.class_range())
        self.position += 1
        source = self.pattern[at : self.position]
        if "i" not in self.letters and not any("\\" + letter in source for letter in _CLASSES):
            taken = charset.union(*members)
            return Chars(charset.complement(taken) if negated else taken)
        self.asked.add(source)
        if len(source) > _LONGEST_ASKED_CLASS or len(self.asked) > _MOST_ASKED_CLASSES:
            raise NotLinear("many or large classes that only regex itself can judge")
        return Chars(asked_of_regex(source, self.flags()))

    def class_range(self) -> CharSet:
        low = self.class_item()
        if not self.looking_at("-") or self.pattern[self.position + 1 : self.position + 2] in ("]", ""):
            return low
        self.position += 1
        high = self.class_item()
        if charset.size(low) != 1 or charset.size(high) != 1 or low[0][0] > high[0][0]:
            raise NotLinear("a range that is not plain")
        return ((low[0][0], high[0][0]),)

    def class_item(self) -> CharSet:
        pair = self.pattern[self.position : self.position + 2]
        if pair[:1] == "[" or pair in ("--", "||", "&&", "~~"):
            raise NotLinear("a nested set or set operation")
        if pair[:1] != "\\":
            self.position += 1
            return charset.of(ord(pair[0]))
        if pair[1:] in _CLASSES and pair[1:]:
            self.position += 2
            return asked_of_regex(pair, self.flags())
        if pair[1:] == "b":
            self.position += 2
            return charset.of(0x08)
        return charset.of(self.character_escape())
