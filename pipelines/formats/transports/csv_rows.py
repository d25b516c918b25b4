"""CSV, TSV and semicolon-separated text with a header line: one row is one record of strings."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Collection, Iterator
from typing import BinaryIO

from pipelines.formats.container import SourceRecord
from pipelines.formats.transports.limits import UNLIMITED, too_large
from schemas.reject import MAX_EXCERPT, Reject, RejectReason
from schemas.text import bounded

#: A header has at least one of these columns, or one that the suite's `input.fields` name, or the rows below it are as wide as it is.
KNOWN_COLUMNS = frozenset(
    {
        "input", "output", "reference", "prompt", "response", "completion", "query", "question", "answer", "expected",
        "ground_truth", "messages", "trace_id", "span_id", "id", "text", "target",
    }
)  # fmt: skip
_DELIMITERS = ",\t;"
_LARGEST_FIELD = 2**31 - 1
_LONGEST_HEADER = 10_000
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NAME = re.compile(r"(?=.*[^\W\d_])[\w .:/#%@()\[\]-]{1,64}$")
_PIECE = 2**20
#: So many rows that never end are read on behind their first line.
_TOLERATED = 8
#: So many rows below an unknown header must be as wide as it is.
_COMPARED_ROWS = 20


def csv_header(head: bytes, fields: Collection[str] = ()) -> list[str] | None:
    """The column names of a text that begins with a CSV header, or None where its first line is none.

    `fields` are column names that the suite maps: a header that has one of them is a header, whatever else it has.
    """
    text = head.decode("utf-8", "replace")
    rows = _first_rows(text)
    names = [column.strip().strip("\ufeff") for column in rows[0]] if rows else []
    if not names or len(set(names)) != len(names) or not all(names):
        return None
    if set(fields) & set(names):
        return names
    if len(names) < 2:
        return None
    if any(name.lower() in KNOWN_COLUMNS for name in names):
        return names
    is_table = len(rows) > 1 and all(len(row) == len(names) and row[0][:1] not in ("{", "[") for row in rows[1:])
    return names if is_table and all(_NAME.match(name) for name in names) else None


def iter_csv(file: BinaryIO, uri: str, max_record: int = UNLIMITED) -> Iterator[SourceRecord | Reject]:
    """The rows of a CSV file; the offset of a row is its number (the first row after the header is 0).

    A row over `max_record` bytes is a reject `too_large`, and is never held whole.
    """
    csv.field_size_limit(_LARGEST_FIELD)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    try:
        yield from _rows(text, uri, max_record)
    finally:
        with contextlib.suppress(ValueError):  # the file may be closed already
            text.detach()


def _rows(text: io.TextIOWrapper, uri: str, max_record: int) -> Iterator[SourceRecord | Reject]:
    first = text.readline(_LONGEST_HEADER)
    while first.isspace():
        first = text.readline(_LONGEST_HEADER)
    delimiter = _delimiter_of(first)
    lines = _BoundedLines(text, first, max(max_record, _LONGEST_HEADER))
    rows = csv.reader(lines, delimiter=delimiter)
    header: list[str] | None = None
    number = 0
    while True:
        lines.begin_row()
        try:
            row = next(rows, None)
        except _Oversize as oversize:
            size = oversize.size + lines.skip_row(oversize.line, delimiter, oversize.is_quoted)
            yield too_large(uri, number, size, oversize.head, "csv", "row")
            if header is None:
                return
            number += 1
            continue
        except csv.Error as error:
            detail = f"CSV can't be read on from row {number}: {error}"
            yield Reject(uri, number, "csv", RejectReason.CORRUPT_FILE, detail, "", 0)
            return
        if row is None:
            return
        if lines.has_ended:
            yield _never_closed(uri, number, lines.give_back())
            number += 1
            continue
        if not row:
            continue
        if header is None:
            header = [name.strip() for name in row]
            continue
        yield _record(row, header, uri, number, max_record)
        number += 1


def _never_closed(uri: str, number: int, lost: list[str]) -> Reject:
    """The lines of a row that the file ends in, of which the others were given back."""
    more = f" ({len(lost):,} lines with it)" if len(lost) > 1 else ""
    detail = f"a quoted field that begins in this row{more} never ends"
    size = sum(len(line.encode("utf-8", "replace")) for line in lost)
    return Reject(
        uri, number, "csv", RejectReason.TRUNCATED_TAIL, detail, bounded(lost[0].rstrip("\r\n"), MAX_EXCERPT), size
    )


def _record(row: list[str], header: list[str], uri: str, number: int, max_record: int) -> SourceRecord | Reject:
    size = sum(len(field.encode("utf-8", "replace")) + 1 for field in row)
    excerpt = bounded(",".join(field[:MAX_EXCERPT] for field in row[:MAX_EXCERPT]), MAX_EXCERPT)
    if size > max_record:
        return too_large(uri, number, size, excerpt, "csv", "row")
    if len(row) > len(header):
        detail = f"the row has {len(row)} fields, the header {len(header)}"
        return Reject(uri, number, "csv", RejectReason.INVALID_JSON, detail, excerpt, size)
    issues = ("short_row",) if len(row) < len(header) else ()
    if any("\ufffd" in field for field in row):
        issues = (*issues, "invalid_utf8")
    value = {name: field for name, field in zip(header, row, strict=False) if field != ""}
    return SourceRecord(value, uri, number, size, issues, 0, excerpt)


class _Oversize(Exception):
    """The row that is being read has grown over the limit."""

    def __init__(self, line: str, size: int, is_quoted: bool, head: str) -> None:
        super().__init__()
        self.line = line
        self.size = size
        self.is_quoted = is_quoted
        self.head = head


class _BoundedLines:
    """Lines for a CSV reader, which stops with `_Oversize` instead of letting it collect an endless row."""

    def __init__(self, text: io.TextIOWrapper, first: str, limit: int) -> None:
        self._text = text
        self._pushed = [first]
        self._limit = limit
        self._taken = 0
        self._head = ""
        self._row: list[str] = []
        self._given_back = 0
        self.has_ended = False
        """Whether the text ended while the row was being read: then it ended inside a quoted field."""

    def __iter__(self) -> Iterator[str]:
        return self

    def begin_row(self) -> None:
        self._taken, self._head, self._row, self.has_ended = 0, "", [], False

    def give_back(self) -> list[str]:
        """The first line of a row that never ended; the lines after it are read again. After a few such rows all lines, and none is."""
        self._given_back += 1
        lost = self._row if self._given_back > _TOLERATED else self._row[:1]
        self._pushed = self._row[: len(lost) - 1 : -1]
        return lost

    def __next__(self) -> str:
        line = self._pushed.pop() if self._pushed else ""
        if not line.endswith(("\n", "\r")):
            line += self._text.readline(max(self._limit - self._taken - len(line), 0) + 1)
        if not line:
            self.has_ended = True
            raise StopIteration
        # A row that goes on in a further line is inside a quoted field.
        is_quoted = self._taken > 0
        before = self._taken
        self._head = self._head or line[:MAX_EXCERPT]
        self._taken += len(line)
        if self._taken > self._limit:
            raise _Oversize(line, before, is_quoted, self._head)
        self._row.append(line)
        return line

    def skip_row(self, line: str, delimiter: str, is_quoted: bool) -> int:
        """Read to the end of the row that `line` is a piece of; bytes of the line and of all that was read."""
        state = _QUOTED_FIELD if is_quoted else _FIELD_START
        stops = re.compile(f"[{re.escape(delimiter)}\r\n]")
        size = 0
        while line:
            size += len(line.encode("utf-8", "replace"))
            state = _state_after(line, state, stops)
            if line.endswith(("\n", "\r")) and state != _QUOTED_FIELD:
                return size
            line = self._pushed.pop() if self._pushed else self._text.readline(_PIECE)
        return size


_FIELD_START, _PLAIN_FIELD, _QUOTED_FIELD, _AFTER_QUOTE = range(4)


def _state_after(text: str, state: int, stops: re.Pattern[str]) -> int:
    """Where in a row a CSV reader stands after `text`, by the rules of the standard library's."""
    position = 0
    while position < len(text):
        if state == _QUOTED_FIELD:
            found = text.find('"', position)
            if found < 0:
                return state
            position, state = found + 1, _AFTER_QUOTE
        elif state in (_FIELD_START, _AFTER_QUOTE) and text[position] == '"':
            position, state = position + 1, _QUOTED_FIELD
        else:
            match = stops.search(text, position)
            if match is None:
                return _PLAIN_FIELD
            position, state = match.end(), _FIELD_START
    return state


def _first_rows(text: str) -> list[list[str]]:
    """The header and some rows below it, as far as the text holds them whole."""
    is_cut = len(text) > 4 * _LONGEST_HEADER
    lines = list(io.StringIO(text[: 4 * _LONGEST_HEADER], newline=""))
    if not lines or len(lines[0]) > _LONGEST_HEADER:
        return []
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=_delimiter_of(lines[0])):
            if row:
                rows.append(row)
            if len(rows) > _COMPARED_ROWS:
                return rows
    except csv.Error:
        return rows
    return rows[:-1] if is_cut and len(rows) > 1 else rows


def _delimiter_of(line: str) -> str:
    plain = _QUOTED.sub("", line)
    return max(_DELIMITERS, key=plain.count)
