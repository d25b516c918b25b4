"""JSON values that follow one another (concatenated, pretty-printed) or stand in an array, one at a time from a stream.

The extents of values are found by counting brackets outside strings, so memory holds one value; each value's bytes are then decoded, and
repaired, like a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from pipelines.formats.container import SourceRecord
from pipelines.formats.json_values import Decoded, Failure, decode_line
from schemas.reject import MAX_EXCERPT, Reject, RejectReason
from schemas.text import storable

_PIECE = 1024 * 1024
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]"]', re.DOTALL)
_BLANKS = re.compile(rb"[\s,\xef\xbb\xbf]*")
_SCALAR = re.compile(rb"[^\s,\[\]{}]+")


def iter_documents(file: BinaryIO, uri: str) -> Iterator[SourceRecord | Reject]:
    """The values of a stream of JSON documents, with their byte offsets."""
    for offset, text, is_cut in _extents(_Window(file), 0):
        yield from _records(text, offset, uri, is_cut)


def iter_array(file: BinaryIO, uri: str) -> Iterator[SourceRecord | Reject]:
    """The elements of a JSON array, with their byte offsets. What follows the array is read as documents."""
    window = _Window(file)
    start = window.skip_blanks(0)
    if window.byte(start) != b"[":
        yield from iter_documents_of(window, uri)
        return
    for offset, text, is_cut in _extents(window, start + 1):
        yield from _records(text, offset, uri, is_cut)


def iter_documents_of(window: _Window, uri: str) -> Iterator[SourceRecord | Reject]:
    """The values from a window's start."""
    for offset, text, is_cut in _extents(window, 0):
        yield from _records(text, offset, uri, is_cut)


class _Window:
    """A stream's bytes from `base` on, extended as needed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.data = bytearray()
        self.base = 0

    def more(self) -> bool:
        piece = self._file.read(_PIECE)
        self.data += piece
        return bool(piece)

    def drop(self, count: int) -> None:
        del self.data[:count]
        self.base += count

    def byte(self, position: int) -> bytes:
        while position >= len(self.data):
            if not self.more():
                return b""
        return bytes(self.data[position : position + 1])

    def skip_blanks(self, position: int) -> int:
        while True:
            match = _BLANKS.match(self.data, position)
            position = match.end() if match else position
            if position < len(self.data) or not self.more():
                return position


def _extents(window: _Window, position: int) -> Iterator[tuple[int, bytes, bool]]:
    """(offset, bytes, whether the stream ended inside) of each value from `position` on; a closing bracket outside a value is passed over."""
    window.drop(position)
    while True:
        window.drop(window.skip_blanks(0))
        first = window.byte(0)
        if not first:
            return
        if first in (b"]", b"}"):
            window.drop(1)
            continue
        end = _end_of_value(window) if first in (b"{", b"[", b'"') else _end_of_scalar(window)
        if end is None:
            resume = _next_document(window.data)
            end = len(window.data) if resume is None else resume
            yield window.base, bytes(window.data[:end]), resume is None
        else:
            yield window.base, bytes(window.data[:end]), False
        window.drop(end)


def _end_of_value(window: _Window) -> int | None:
    """Where the value at the window's start ends; None where the stream ends first."""
    depth = 0
    position = 0
    while True:
        data = window.data
        for match in _TOKEN.finditer(data, position):
            token = data[match.start()]
            if token == 0x22:
                if match.end() - match.start() == 1:
                    position = match.start()
                    break
                if depth == 0:
                    return match.end()
            elif token in (0x7B, 0x5B):
                depth += 1
            else:
                depth -= 1
                if depth <= 0:
                    return match.end()
            position = match.end()
        if not window.more():
            return None


def _end_of_scalar(window: _Window) -> int:
    while True:
        match = _SCALAR.match(window.data)
        end = match.end() if match else 1
        if end < len(window.data) or not window.more():
            return end


def _next_document(data: bytearray) -> int | None:
    """Where, after a value that never ends, the next one begins: an opening brace in the first column."""
    found = data.find(b"\n{", 1)
    return None if found < 0 else found + 1


def _records(text: bytes, offset: int, uri: str, is_cut: bool) -> Iterator[SourceRecord | Reject]:
    excerpt = storable(text[: MAX_EXCERPT * 4].decode("utf-8", "replace"))[:MAX_EXCERPT]
    for part in decode_line(text, is_cut):
        if isinstance(part, Decoded):
            yield SourceRecord(part.value, uri, offset, part.size, part.issues, part.ordinal, excerpt)
        else:
            yield rejected(part, uri, offset, excerpt)


def rejected(failure: Failure, uri: str, offset: int, excerpt: str) -> Reject:
    """A failure as a reject."""
    reason = failure.reason if isinstance(failure.reason, RejectReason) else RejectReason.INVALID_JSON
    return Reject(uri, offset, "", reason, failure.detail, excerpt, failure.size)
