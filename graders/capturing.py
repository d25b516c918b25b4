"""A pattern that takes a value out of a text: its first capturing group, or all that it matches."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from graders.errors import ConfigError
from graders.matching import InvalidPattern, compile
from graders.text_config import DialectName

#: Longest match out of which a group is taken, in code points: RE2 passes it in a small part of a match's budget.
MAX_CAPTURED = 4_096


class NotCaptured(Enum):
    """Why there is no value."""

    NO_MATCH = "no match"
    LIMIT = "limit"


class CapturingPattern:
    """Finds the pattern with the bounded engine, then takes the group out of what it found, with RE2.

    Raises:
        ConfigError: the dialect does not have the pattern, or it has a group and RE2 does not have it.
    """

    def __init__(self, pattern: str, dialect: DialectName, path: tuple[str | int, ...]) -> None:
        try:
            self._compiled = compile(pattern, dialect)
        except InvalidPattern as problem:
            raise ConfigError(str(problem), path) from None
        named = with_first_group_named(pattern)
        self._group: str | None = None
        if named is not None:
            self._group = rf"(?s)\A(?:{named})\z"
            try:
                pc.extract_regex(pa.array([""]), self._group)
            except pa.ArrowInvalid:
                message = (
                    "a value can be captured only by a pattern without lookaround, backreferences and atomic groups"
                )
                raise ConfigError(message, path) from None

    def capture(self, texts: Sequence[str]) -> list[str | NotCaptured]:
        """The value in each text: that of its first match."""
        array = pa.array(texts, pa.large_string())
        found = self._compiled.match_array(array, spans=True)
        assert found.starts is not None
        assert found.ends is not None
        spans = zip(texts, found.matched.to_pylist(), found.starts.to_pylist(), found.ends.to_pylist(), strict=True)
        return [self._value(text, matched, start, end) for text, matched, start, end in spans]

    def _value(self, text: str, matched: bool | None, start: int | None, end: int | None) -> str | NotCaptured:
        if matched is False:
            return NotCaptured.NO_MATCH
        if matched is None or start is None or end is None:
            return NotCaptured.LIMIT
        whole = text[start:end]
        if self._group is None:
            return whole
        if len(whole) > MAX_CAPTURED:
            return NotCaptured.LIMIT
        extracted = pc.extract_regex(pa.array([whole]), self._group)[0].as_py()
        return NotCaptured.LIMIT if extracted is None else extracted["value"]


def with_first_group_named(pattern: str) -> str | None:
    """The pattern with its first group named `value` and the others not capturing; None where it has no group."""
    parts: list[str] = []
    position = 0
    named = in_class = False
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            parts.append(pattern[position : position + 2])
            position += 2
            continue
        if in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
            start = position + 1 + pattern.startswith("^", position + 1)
            if pattern.startswith("]", start):
                parts.append(pattern[position : start + 1])
                position = start + 1
                continue
        elif character == "(":
            length = _capturing_length(pattern, position)
            if length:
                parts.append("(?:" if named else "(?P<value>")
                named = True
                position += length
                continue
        parts.append(character)
        position += 1
    return "".join(parts) if named else None


def _capturing_length(pattern: str, position: int) -> int:
    """How many characters open a capturing group here; 0 where none is opened."""
    if not pattern.startswith("(?", position):
        return 0 if pattern.startswith("(*", position) else 1
    for opening in ("(?P<", "(?<"):
        if pattern.startswith(opening, position):
            if pattern[position + len(opening) : position + len(opening) + 1] in ("=", "!"):
                return 0
            return pattern.index(">", position) + 1 - position
    return 0
