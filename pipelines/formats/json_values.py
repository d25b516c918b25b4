"""Decoding the bytes of one line or document to JSON values, with repairs that are named and nothing lost.

The fast path is orjson; a line that it can't read, or would read with loss (duplicate keys, integers beyond 64 bits), is read
again by the tolerant path.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import orjson

from schemas.nesting import is_nested_deeper
from schemas.reject import RejectReason
from schemas.text import storable

NON_FINITE_NUMBER = "non_finite_number"
DUPLICATE_KEY = "duplicate_key"
LONE_SURROGATE = "lone_surrogate"
INVALID_UTF8 = "invalid_utf8"
CONTROL_CHARACTER = "control_character"
SEVERAL_VALUES_ON_LINE = "several_values_on_line"

#: Deeper values are not read: what walks through them may then be recursive, and says the same with every version of Python.
MAX_DEPTH = 640

_BOM = b"\xef\xbb\xbf"
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_BLANK = b" \t\r\n\x0b\x0c"
_SPACE = re.compile(r"[ \t\r\n]*")
_DIGITS_TO_ZERO = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else byte for byte in range(256))
_TWENTY_DIGITS = b"0" * 20
_NEGATIVE_NINETEEN_DIGITS = b"-" + b"0" * 19
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """One JSON value of a line."""

    value: Any
    issues: tuple[str, ...] = ()
    """What decoding had to repair."""
    size: int = 0
    """Bytes of the line that it took (a lone value: the whole line without its line end)."""
    ordinal: int = 0
    """Which part of the line it is."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A line, or the rest of one, that holds no JSON value."""

    reason: RejectReason
    detail: str
    size: int = 0
    """Bytes that were given up."""
    ordinal: int = 0
    """Which part of the line it is."""


def decode_line(line: bytes, is_last_without_newline: bool = False) -> list[Decoded | Failure]:
    """The JSON values of one line (or one document) of bytes.

    Usually one entry; none for a blank line; several where a writer lost line ends, of which the last may be a `Failure`. A text that
    ends inside a value is `truncated_tail` when it is the last of its file and has no newline, else `invalid_json`. It never raises.
    """
    line = line.rstrip(_BLANK)
    if line.startswith(_BOM):
        line = line[3:]
    if not line or line.isspace():
        return []
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _decode_tolerantly(line, is_last_without_newline)
    if _is_exact(value, line):
        return [Decoded(value, (), len(line))]
    return _decode_tolerantly(line, is_last_without_newline)


def decode_text(text: str) -> Any | None:
    """The value of a string that holds one JSON object or array, else None. For JSON inside JSON."""
    stripped = text.strip()
    if not stripped or stripped[0] not in '{["' or stripped[-1] not in '}]"':
        return None
    data = stripped.encode("utf-8", "replace")
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    else:
        if not _may_lose_integers(data):
            return None if _is_too_deep(value, data) else value
    decoded = _decode_tolerantly(data, False)
    if len(decoded) == 1 and isinstance(decoded[0], Decoded):
        return decoded[0].value
    return None


def compact_json(value: Any) -> str:
    """`value` as compact JSON text that UTF-8 can hold; integers exact, non-finite numbers as null."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        pass
    try:
        return json.dumps(without_non_finite(value), separators=(",", ":"), ensure_ascii=False, default=str)
    except RecursionError:
        return '"…"'


def without_non_finite(value: Any) -> Any:
    """`value` with NaN and infinities as None and text made storable (recursive; for values of bounded depth)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): without_non_finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_non_finite(item) for item in value]
    return value


def _is_exact(value: Any, line: bytes) -> bool:
    """Whether orjson lost nothing: no key given twice, and no integer beyond 64 bits, which it reads as a float.

    Written out again, the value has as many `":` as the line where no key was dropped. Blanks before a colon, long digit strings and
    deep nesting only cost a second reading.
    """
    try:
        written = orjson.dumps(value)
    except TypeError:
        return False
    if written == line:
        return True
    if written.count(b'":') != line.count(b'":'):
        return False
    return not _may_lose_integers(line)


def _is_too_deep(value: Any, text: bytes) -> bool:
    """Whether a value that was read from `text` is deeper than allowed."""
    if len(text) <= 2 * MAX_DEPTH or text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    return is_nested_deeper(value, MAX_DEPTH)


def _may_lose_integers(line: bytes) -> bool:
    digits = line.translate(_DIGITS_TO_ZERO)
    return _TWENTY_DIGITS in digits or _NEGATIVE_NINETEEN_DIGITS in digits


class _TolerantDecoder:
    """A JSON decoder that notes what it repaired since `issues` was last emptied."""

    def __init__(self) -> None:
        self.issues: set[str] = set()
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self._constant, parse_float=self._float, strict=False
        )

    def raw_decode(self, text: str, start: int) -> tuple[Any, int]:
        self.issues.clear()
        return self._decoder.raw_decode(text, start)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self.issues.add(DUPLICATE_KEY)
        return value

    def _constant(self, _name: str) -> None:
        self.issues.add(NON_FINITE_NUMBER)

    def _float(self, text: str) -> float | None:
        value = float(text)
        if math.isfinite(value):
            return value
        self.issues.add(NON_FINITE_NUMBER)
        return None


def _decode_tolerantly(line: bytes, is_last_without_newline: bool) -> list[Decoded | Failure]:
    line_issues: list[str] = []
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        line_issues.append(INVALID_UTF8)
    if _CONTROL.search(text):
        line_issues.append(CONTROL_CHARACTER)
    decoder = _TolerantDecoder()
    parts: list[Decoded | Failure] = []
    position = _skip_blanks(text, 0)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except RecursionError:
            parts.append(_failure(RejectReason.TOO_DEEP, _TOO_DEEP, text, position, len(parts)))
            break
        except ValueError as error:
            parts.append(_broken(error, text, position, len(parts), is_last_without_newline))
            break
        if _is_too_deep(value, line):
            size = len(text[position:end].encode("utf-8", "replace"))
            parts.append(Failure(RejectReason.TOO_DEEP, _TOO_DEEP, size, len(parts)))
            position = _skip_blanks(text, end)
            continue
        issues = sorted(decoder.issues) + line_issues
        if "\\u" in text:
            value, replaced = _without_surrogates(value)
            if replaced:
                issues.append(LONE_SURROGATE)
        whole = position == 0 and end == len(text)
        size = len(line) if whole else len(text[position:end].encode("utf-8", "replace"))
        parts.append(Decoded(value, tuple(issues), size, len(parts)))
        position = _skip_blanks(text, end)
    if len(parts) > 1 and isinstance(parts[0], Decoded) and not isinstance(parts[0].value, (dict, list)):
        # Prose that begins with a number ("2026-11-30 INFO …") is one bad line, not several records.
        return [_failure(RejectReason.INVALID_JSON, "text, not JSON", text, 0, 0)]
    if len(parts) > 1:
        parts = [_with_issue(part, SEVERAL_VALUES_ON_LINE) if isinstance(part, Decoded) else part for part in parts]
    return parts


def _skip_blanks(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _with_issue(part: Decoded, issue: str) -> Decoded:
    return Decoded(part.value, (*part.issues, issue), part.size, part.ordinal)


def _broken(error: ValueError, text: str, position: int, ordinal: int, is_last_without_newline: bool) -> Failure:
    message = getattr(error, "msg", None) or "a number is too long"
    at = getattr(error, "pos", position)
    ends_inside = at >= len(text) or message.startswith("Unterminated string")
    if ends_inside and is_last_without_newline:
        return _failure(
            RejectReason.TRUNCATED_TAIL,
            "the file ends inside this record: it was being written, or its writer was stopped",
            text,
            position,
            ordinal,
        )
    hint = ""
    if re.match(r"\{\s*'", text[position : position + 40]):
        hint = " (it looks like a Python repr, not JSON: write it with json.dumps)"
    return _failure(RejectReason.INVALID_JSON, f"{message} at character {at}{hint}", text, position, ordinal)


def _failure(reason: RejectReason, detail: str, text: str, position: int, ordinal: int) -> Failure:
    return Failure(reason, detail, len(text[position:].encode("utf-8", "replace")), ordinal)


def _without_surrogates(value: Any) -> tuple[Any, bool]:
    """`value` with lone surrogates replaced in place, and whether there were any. Iterative: the value may be deep."""
    root = [value]
    pending: list[Any] = [root]
    replaced = False
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if not all(_is_storable(key) for key in item):
                replaced = True
                renamed = {storable(key): child for key, child in item.items()}
                item.clear()
                item.update(renamed)
            entries: list[tuple[Any, Any]] = list(item.items())
        else:
            entries = list(enumerate(item))
        for place, child in entries:
            if isinstance(child, str):
                if not _is_storable(child):
                    item[place] = storable(child)
                    replaced = True
            elif isinstance(child, (dict, list)):
                pending.append(child)
    return root[0], replaced


def _is_storable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
