"""Paths into JSON values: dots and indices (`items[0].name`), or JSONPath (RFC 9535) from `$` without its functions.

Of JSONPath there are names, indices, slices, wildcards, unions, descent (`..`) and filters of one comparison (`[?@.id
== 3]`) or of existence (`[?@.error]`). Functions and combined filters are refused: their patterns and their work have
no bound here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any

from graders.json_values import same

#: How many values one query may visit; a query over a larger document than that is stopped.
MAX_VISITED = 1_000_000


class InvalidPath(ValueError):
    """The text is not a path that can be followed."""


class PathLimit(Exception):
    """A query visited more than `MAX_VISITED` values."""


@dataclass(frozen=True, slots=True)
class _Filter:
    path: tuple[str | int, ...]
    operator: str | None
    literal: Any


@dataclass(frozen=True, slots=True)
class _KeyOrIndex:
    """A number after a dot: an object's key, or an array's index."""

    digits: str


@dataclass(frozen=True, slots=True)
class _Wildcard:
    pass


Selector = str | int | slice | _Filter | _KeyOrIndex | _Wildcard
_Segment = tuple[bool, tuple[Selector, ...]]
_WILDCARD = _Wildcard()
_TEST_OF_ORDER: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_NAME = re.compile(r"[^\W\d][\w\-]*")
_PLAIN_NAME = re.compile(r"[^.\[\]]+")
_INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")
_SLICE = re.compile(r"(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?)?")
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_SINGLE_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_BLANKS = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A parsed path. `find` gives every value it leads to, in document order."""

    text: str
    segments: tuple[_Segment, ...]

    @property
    def singular(self) -> bool:
        """Whether it can lead to one value at most."""
        return all(
            not descend and len(selectors) == 1 and isinstance(selectors[0], (str, int, _KeyOrIndex))
            for descend, selectors in self.segments
        )

    def find(self, document: Any) -> list[Any]:
        """The values that the path leads to; empty where it leads nowhere.

        Raises:
            PathLimit: more than `MAX_VISITED` values were visited.
        """
        visited = 0
        found = [document]
        for descend, selectors in self.segments:
            selected: list[Any] = []
            for value in found:
                for node in _descendants(value) if descend else (value,):
                    for selector in selectors:
                        visited += 1
                        selected.extend(_select(node, selector))
                        if visited + len(selected) > MAX_VISITED:
                            raise PathLimit(f"the path visits more than {MAX_VISITED} values")
            found = selected
        return found


def parse_path(text: str) -> JsonPath:
    """A path from its text.

    Raises:
        InvalidPath: with the place of what can't be read.
    """
    if not text.strip():
        raise InvalidPath("the path is empty")
    reader = _Reader(text)
    if text.startswith("$"):
        reader.position = 1
        return JsonPath(text, tuple(_query_segments(reader)))
    return JsonPath(text, tuple(_dotted_segments(reader)))


def _descendants(value: Any) -> Iterator[Any]:
    stack = [value]
    while stack:
        node = stack.pop()
        yield node
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        stack.extend(reversed(list(children)))


def _select(node: Any, selector: Selector) -> Sequence[Any]:
    if isinstance(selector, str):
        return (node[selector],) if isinstance(node, dict) and selector in node else ()
    if isinstance(selector, int):
        return (node[selector],) if isinstance(node, list) and -len(node) <= selector < len(node) else ()
    if isinstance(selector, _KeyOrIndex):
        return _select(node, int(selector.digits) if isinstance(node, list) else selector.digits)
    if isinstance(selector, slice):
        return node[selector] if isinstance(node, list) else ()
    children = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    if isinstance(selector, _Wildcard):
        return children
    return [child for child in children if _holds(child, selector)]


def _holds(node: Any, test: _Filter) -> bool:
    for step in test.path:
        found = _select(node, step)
        if not found:
            return test.operator == "!="
        node = found[0]
    if test.operator is None:
        return True
    if test.operator in ("==", "!="):
        return same(node, test.literal) is (test.operator == "==")
    if isinstance(node, bool) or isinstance(test.literal, bool):
        return False
    numbers = isinstance(node, (int, float)) and isinstance(test.literal, (int, float))
    texts = isinstance(node, str) and isinstance(test.literal, str)
    return (numbers or texts) and _TEST_OF_ORDER[test.operator](node, test.literal)


class _Reader:
    """A text with a place in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def done(self) -> bool:
        return self.position >= len(self.text)

    def take(self, literal: str) -> bool:
        """Whether `literal` stands here; if so, step over it."""
        if not self.text.startswith(literal, self.position):
            return False
        self.position += len(literal)
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What `pattern` matches here; if it does, step over it."""
        matched = pattern.match(self.text, self.position)
        if matched is not None:
            self.position = matched.end()
        return matched

    def expect(self, literal: str) -> None:
        self.match(_BLANKS)
        if not self.take(literal):
            raise self.error(f'"{literal}" is missing')

    def error(self, message: str) -> InvalidPath:
        return InvalidPath(f"{message} at character {self.position} of the path")


def _dotted_segments(reader: _Reader) -> Iterator[_Segment]:
    first = True
    while not reader.done:
        if reader.take("["):
            yield False, _bracketed(reader)
        elif first or reader.take("."):
            name = reader.match(_PLAIN_NAME)
            if name is None:
                raise reader.error("a name is missing")
            part = name.group()
            yield False, (_KeyOrIndex(part) if part.isascii() and part.isdigit() and len(part) < 10 else part,)
        else:
            raise reader.error('"." or "[" is missing')
        first = False


def _query_segments(reader: _Reader) -> Iterator[_Segment]:
    reader.match(_BLANKS)
    while not reader.done:
        descend = reader.take("..")
        if reader.take("["):
            yield descend, _bracketed(reader)
        elif descend or reader.take("."):
            if reader.take("*"):
                yield descend, (_WILDCARD,)
            else:
                name = reader.match(_NAME)
                if name is None:
                    raise reader.error("a name is missing")
                yield descend, (name.group(),)
        else:
            raise reader.error('".", ".." or "[" is missing')
        reader.match(_BLANKS)


def _bracketed(reader: _Reader) -> tuple[Selector, ...]:
    selectors = [_selector(reader)]
    reader.match(_BLANKS)
    while reader.take(","):
        selectors.append(_selector(reader))
        reader.match(_BLANKS)
    reader.expect("]")
    return tuple(selectors)


def _selector(reader: _Reader) -> Selector:
    reader.match(_BLANKS)
    if reader.take("*"):
        return _WILDCARD
    if reader.take("?"):
        return _filter(reader)
    quoted = _quoted(reader)
    if quoted is not None:
        return quoted
    part = reader.match(_SLICE)
    if part is not None:
        start, stop, step = (None if group is None else int(group) for group in part.groups())
        if step == 0:
            raise reader.error("a step of 0 selects nothing")
        return slice(start, stop, step)
    index = reader.match(_INTEGER)
    if index is not None:
        return int(index.group())
    raise reader.error("an index, a quoted name, a slice, * or ? is missing")


def _quoted(reader: _Reader) -> str | None:
    found = reader.match(_DOUBLE_QUOTED)
    if found is not None:
        return _decoded(reader, found.group())
    found = reader.match(_SINGLE_QUOTED)
    if found is not None:
        inner = found.group()[1:-1].replace("\\'", "'").replace('"', '\\"')
        return _decoded(reader, f'"{inner}"')
    return None


def _decoded(reader: _Reader, quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise reader.error("a quoted name has a bad escape before this place,") from None


def _filter(reader: _Reader) -> _Filter:
    reader.match(_BLANKS)
    parenthesis = reader.take("(")
    reader.match(_BLANKS)
    if not reader.take("@"):
        raise reader.error("a filter starts with @ (functions, ! and $ are not supported)")
    path: list[str | int] = []
    while reader.text.startswith((".", "["), reader.position):
        if reader.take("."):
            name = reader.match(_NAME)
            if name is None:
                raise reader.error("a name is missing")
            path.append(name.group())
        else:
            reader.take("[")
            (step,) = _bracketed(reader)[:1]
            if not isinstance(step, (str, int)):
                raise reader.error("a filter's path has names and indices only,")
            path.append(step)
    reader.match(_BLANKS)
    operator = reader.match(_OPERATOR)
    literal = None
    if operator is not None:
        reader.match(_BLANKS)
        literal = _quoted(reader)
        if literal is None:
            value = reader.match(_LITERAL)
            if value is None:
                raise reader.error("a filter compares with a number, a quoted text, true, false or null")
            literal = json.loads(value.group())
    if parenthesis:
        reader.expect(")")
    reader.match(_BLANKS)
    if reader.text.startswith(("&&", "||"), reader.position):
        raise reader.error("a filter has one comparison; && and || are not supported")
    return _Filter(tuple(path), None if operator is None else operator.group(), literal)
