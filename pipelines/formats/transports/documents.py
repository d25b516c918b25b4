"""JSON values that follow one another (concatenated, pretty-printed) or stand in an array, one at a time from a stream.

The extents of values are found by counting brackets outside strings, so memory holds one value, of at most the limit; each value's bytes are
then decoded, and repaired, like a line. Every byte is looked at once, however long a value is; only values that never end cost more, and of
those a few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from pipelines.formats.container import SourceRecord
from pipelines.formats.json_values import Decoded, Failure, decode_line
from pipelines.formats.transports.limits import UNLIMITED, too_large
from schemas.reject import MAX_EXCERPT, Reject, RejectReason
from schemas.text import storable

_PIECE = 1024 * 1024
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]"]', re.DOTALL)
_STRING_REST = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BLANKS = re.compile(rb"[\s,\xef\xbb\xbf]*")
_SCALAR = re.compile(rb"[^\s,\[\]{}]+")
_HEAD = 4 * MAX_EXCERPT
#: So much is looked at in one step: a match needs memory for every escape in it.
_STEP = 64 * 1024
#: So much of what is passed over stays in reach, to look back at.
_TAIL = 256
#: Brackets open beyond this depth are only counted.
_DEEPEST = 10_000
#: After so many values that never end, an opening brace in the first column always begins a value.
_TOLERATED = 8
#: An opening brace in the first column that can't belong to the value before it.
_BROKEN_OFF = re.compile(rb"[^\s\[,:]\s*?\n(?=\{)")
#: The end of what looks like a string that was cut, where the next document's first key closes it.
_OPENED_IN_STRING = re.compile(rb'\n(\{[ \t\r\n]*)"\Z')
_AFTER_STRING = b" \t\r\n,:]}"


def iter_documents(file: BinaryIO, uri: str, max_record: int = UNLIMITED) -> Iterator[SourceRecord | Reject]:
    """The values of a stream of JSON documents, with their byte offsets; one over `max_record` bytes is a reject `too_large`."""
    for extent in _extents(_Window(file), max_record):
        yield from _records(extent, uri)


def iter_array(file: BinaryIO, uri: str, max_record: int = UNLIMITED) -> Iterator[SourceRecord | Reject]:
    """The elements of a JSON array, like `iter_documents`. What follows the array is read as documents."""
    window = _Window(file)
    window.skip_blanks()
    if window.byte(0) == b"[":
        window.drop(1)
    for extent in _extents(window, max_record):
        yield from _records(extent, uri)


class _Window:
    """A stream's bytes from `base` on, extended as needed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.data = bytearray()
        self.base = 0

    def more(self) -> bool:
        # Of a damaged archive a whole `read` would lose what comes before the damage.
        piece = getattr(self._file, "read1", self._file.read)(_PIECE)
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

    def head(self, count: int) -> bytes:
        with memoryview(self.data) as view:
            return bytes(view[:count])

    def skip_blanks(self) -> None:
        """Drop blanks and commas from the start."""
        while True:
            match = _BLANKS.match(self.data)
            self.drop(match.end() if match else 0)
            if self.data or not self.more():
                return


@dataclass(frozen=True, slots=True)
class _Extent:
    """Where a value stands."""

    offset: int
    size: int
    text: bytes
    """The value; of one over the limit its head."""
    is_large: bool = False
    is_cut: bool = False
    """Whether the stream ended inside."""
    is_unended: bool = False
    """Whether it was read far beyond what turned out to be its end."""


def _extents(window: _Window, max_record: int) -> Iterator[_Extent]:
    """The values from the window's start on; a closing bracket outside a value is passed over."""
    unended = 0
    while True:
        window.skip_blanks()
        first = window.byte(0)
        if not first:
            return
        if first in (b"]", b"}"):
            window.drop(1)
            continue
        value = _Value(window, max_record, unended >= _TOLERATED) if first in (b"{", b"[", b'"') else None
        extent = _scalar(window, max_record) if value is None else value.read()
        unended += extent.is_unended
        yield extent


class _Value:
    """The object, array or string at the window's start, read piece by piece to its end."""

    def __init__(self, window: _Window, max_record: int, is_strict: bool) -> None:
        self._window = window
        self._max_record = max_record
        self._is_strict = is_strict
        self._offset = window.base
        self._position = 0
        """How far the window has been looked at."""
        self._opened = bytearray()
        self._deeper = 0
        self._in_string = False
        self._is_escaped = False

    def read(self) -> _Extent:
        """The value's extent; the window then begins behind it."""
        window = self._window
        head: bytes | None = None
        while True:
            end = self._end()
            if end is not None and head is None and end <= self._max_record:
                return self._taken(end)
            if end is None and window.base + self._position - self._offset > self._max_record:
                broken_off = _BROKEN_OFF.search(window.data) if head is None else None
                if broken_off is not None:
                    return self._taken(broken_off.end(), is_unended=True)
                head = head or window.head(_HEAD)
                self._pass_over()
            if end is not None:
                head = head or window.head(_HEAD)
                size = window.base + end - self._offset
                window.drop(end)
                return _Extent(self._offset, size, head, is_large=True)
            if not window.more():
                break
        if head is not None:
            size = window.base + len(window.data) - self._offset
            window.drop(len(window.data))
            return _Extent(self._offset, size, head, is_large=True)
        resume = window.data.find(b"\n{", 1)
        if resume < 0:
            return self._taken(len(window.data), is_cut=True)
        return self._taken(resume + 1, is_unended=True)

    def _taken(self, end: int, is_cut: bool = False, is_unended: bool = False) -> _Extent:
        text = self._window.head(end)
        self._window.drop(end)
        return _Extent(self._offset, len(text), text, False, is_cut, is_unended)

    def _pass_over(self) -> None:
        passed = max(self._position - _TAIL, 0)
        self._window.drop(passed)
        self._position -= passed

    def _end(self) -> int | None:
        """Where in the window the value ends or breaks off; None where the window does not hold that."""
        data = self._window.data
        while True:
            if self._in_string:
                end = self._string_end(data)
                if end is None:
                    return None
                self._in_string = False
                self._position = end
                if not self._opened:
                    return end
                broken_off = self._broken_off_in_string(end)
                if broken_off is not None:
                    return broken_off
            opened = self._opened
            stop = min(self._position + _STEP, len(data))
            for match in _TOKEN.finditer(data, self._position, stop):
                start, end = match.span()
                token = data[start]
                if token == 0x22:
                    if end - start == 1:
                        self._in_string, self._position = True, end
                        break
                    if not opened:
                        return end
                    if data[end - 2] in b"{ \t\r\n":
                        broken_off = self._broken_off_in_string(end)
                        if broken_off is not None:
                            return broken_off
                elif token == 0x7B or token == 0x5B:
                    if token == 0x7B and opened and data[start - 1] == 0x0A and not self._may_open(start):
                        return start
                    if len(opened) < _DEEPEST:
                        opened.append(token)
                    else:
                        self._deeper += 1
                elif self._deeper:
                    self._deeper -= 1
                elif len(opened) > 1:
                    opened.pop()
                else:
                    return end
            if not self._in_string:
                self._position = stop
                if stop == len(data):
                    return None

    def _may_open(self, brace: int) -> bool:
        """Whether the value may go on with an object here: in JSON one follows `[`, `:` or, in an array, a comma."""
        if self._is_strict:
            return False
        before = self._window.data[max(brace - _TAIL, 0) : brace].rstrip()
        if not before:
            return True
        return before[-1] in b"[:" or (before[-1] == 0x2C and (self._deeper > 0 or self._opened[-1] == 0x5B))

    def _broken_off_in_string(self, end: int) -> int | None:
        """Where the string that ends at `end` is none: a document was cut inside a string, and the next one's first quote closed it."""
        data = self._window.data
        match = _OPENED_IN_STRING.search(data, max(end - _TAIL, 0), end)
        return match.start(1) if match is not None and end < len(data) and data[end] not in _AFTER_STRING else None

    def _string_end(self, data: bytearray) -> int | None:
        """Past the closing quote of the string that the window's looked-at part ends in."""
        position = self._position
        if self._is_escaped and position < len(data):
            position, self._is_escaped = position + 1, False
        while position < len(data):
            stop = min(position + _STEP, len(data))
            match = _STRING_REST.match(data, position, stop)
            position = match.end() if match else position
            if position < stop:
                if data[position] == 0x22:
                    return position + 1
                self._is_escaped = position + 1 == len(data)
                position += 2
        self._position = len(data)
        return None


def _scalar(window: _Window, max_record: int) -> _Extent:
    """The number, word or other text at the window's start."""
    offset, position = window.base, 0
    head: bytes | None = None
    while True:
        match = _SCALAR.match(window.data, position)
        position = match.end() if match else position
        if window.base + position - offset > max_record:
            head = head or window.head(_HEAD)
            window.drop(position)
            position = 0
        if position < len(window.data) or not window.more():
            break
    size = window.base + position - offset
    text = window.head(position) if head is None else head
    window.drop(position)
    return _Extent(offset, size, text, is_large=head is not None)


def _records(extent: _Extent, uri: str) -> Iterator[SourceRecord | Reject]:
    excerpt = storable(extent.text[:_HEAD].decode("utf-8", "replace"))[:MAX_EXCERPT]
    if extent.is_large:
        yield too_large(uri, extent.offset, extent.size, excerpt)
        return
    for part in decode_line(extent.text, extent.is_cut):
        if isinstance(part, Decoded):
            yield SourceRecord(part.value, uri, extent.offset, part.size, part.issues, part.ordinal, excerpt)
        else:
            yield rejected(part, uri, extent.offset, excerpt)


def rejected(failure: Failure, uri: str, offset: int, excerpt: str) -> Reject:
    """A failure as a reject."""
    reason = failure.reason if isinstance(failure.reason, RejectReason) else RejectReason.INVALID_JSON
    return Reject(uri, offset, "", reason, failure.detail, excerpt, failure.size)
