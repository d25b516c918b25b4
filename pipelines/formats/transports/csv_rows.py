"""CSV and TSV with a header line: one row is one record of strings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import BinaryIO

from pipelines.formats.container import SourceRecord
from schemas.reject import Reject, RejectReason
from schemas.text import bounded

#: A header has at least one of these columns; other tables are told by `input.fields`.
KNOWN_COLUMNS = frozenset(
    {
        "input", "output", "reference", "prompt", "response", "completion", "query", "question", "answer", "expected",
        "ground_truth", "messages", "trace_id", "span_id", "id", "text", "target",
    }
)  # fmt: skip
_DELIMITERS = ",\t;"
_LARGEST_FIELD = 2**31 - 1


def csv_header(head: bytes) -> list[str] | None:
    """The column names of a text that begins with a CSV header, or None where its first line is none."""
    line = head.split(b"\n", 1)[0].strip().decode("utf-8", "replace")
    if not line or len(line) > 10_000:
        return None
    columns = next(csv.reader([line], delimiter=_delimiter_of(line)), [])
    names = [column.strip().strip("\ufeff") for column in columns]
    if len(names) < 2 or len(set(names)) != len(names) or not all(names):
        return None
    return names if any(name.lower() in KNOWN_COLUMNS for name in names) else None


def iter_csv(file: BinaryIO, uri: str) -> Iterator[SourceRecord | Reject]:
    """The rows of a CSV file; the offset of a row is its number (the first row after the header is 0)."""
    csv.field_size_limit(_LARGEST_FIELD)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    first = text.readline()
    rows = csv.reader(_chained(first, text), delimiter=_delimiter_of(first))
    header = [name.strip() for name in next(rows, [])]
    number = 0
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield Reject(
                uri, number, "csv", RejectReason.CORRUPT_FILE, f"CSV can't be read on from row {number}: {error}", "", 0
            )
            return
        if row is None:
            return
        if not row:
            continue
        size = sum(len(field.encode("utf-8", "replace")) + 1 for field in row)
        excerpt = bounded(",".join(row), 512)
        if len(row) > len(header):
            detail = f"the row has {len(row)} fields, the header {len(header)}"
            yield Reject(uri, number, "csv", RejectReason.INVALID_JSON, detail, excerpt, size)
        else:
            issues = ("short_row",) if len(row) < len(header) else ()
            if "\ufffd" in "".join(row):
                issues = (*issues, "invalid_utf8")
            value = {name: field for name, field in zip(header, row, strict=False) if field != ""}
            yield SourceRecord(value, uri, number, size, issues, 0, excerpt)
        number += 1


def _delimiter_of(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _chained(first: str, rest: io.TextIOWrapper) -> Iterator[str]:
    yield first
    yield from rest
