"""`input.max_record_bytes` in every transport: the record over it is a reject with its place, its neighbours are read, memory is bounded."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.formats.container import SourceRecord
from pipelines.formats.transports import iter_array, iter_csv, iter_documents, iter_zip
from pipelines.formats.transports.limits import UNLIMITED
from pipelines.reading.parquet_rows import parquet_records
from schemas.reject import Reject, RejectReason
from schemas.suite import InputConfig
from tests.pipelines.reading.loading import load

LIMIT = 2_000
CONFIG = InputConfig(max_record_bytes=LIMIT)
LONG = 'x\\"{\n' * 1_000


def row(name: str, answer: str = "ok") -> dict[str, Any]:
    return {"id": name, "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": answer}]}


ROWS = [row("a"), row("big", LONG), row("b")]


def lines() -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in ROWS)


def documents(indent: int = 2) -> bytes:
    return b"\n".join(json.dumps(each, indent=indent).encode() for each in ROWS)


def array() -> bytes:
    return json.dumps(ROWS).encode()


def csv_text() -> bytes:
    cell = '"' + 'y\n"",' * 1_000 + '"'
    return f"id,output,reference\na,one,\nbig,{cell},z\nb,two,\n".encode()


def wide_csv() -> bytes:
    return b"id,output\na,one\n" + b"big," + b"y" * 3_000 + b"\nb,two\n"


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.json", json.dumps(row("z")))
        archive.writestr("log", data)
    return buffer.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "lines": lines,
    "documents": documents,
    "unindented documents": lambda: documents(0),
    "array": array,
    "csv": csv_text,
    "wide csv": wide_csv,
    "zipped lines": lambda: zipped(lines()),
    "zipped array": lambda: zipped(array()),
    "zipped documents": lambda: zipped(documents()),
    "zipped csv": lambda: zipped(csv_text()),
    "gzipped lines": lambda: gzip.compress(lines()),
    "gzipped array": lambda: gzip.compress(array()),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_record_over_the_limit_is_a_reject_and_its_neighbours_are_read(kind: str, tmp_path: Path) -> None:
    data = FILES[kind]()
    (tmp_path / "log").write_bytes(data)
    unlimited = load(tmp_path / "log")
    assert unlimited.reasons == []
    loaded = load(tmp_path / "log", CONFIG)
    ids = [made.trajectory_id for made in unlimited.trajectories]
    assert [made.trajectory_id for made in loaded.trajectories] == [each for each in ids if each != "big"]
    (reject,) = loaded.rejects
    (big,) = [made for made in unlimited.trajectories if made.trajectory_id == "big"]
    assert reject.reason is RejectReason.TOO_LARGE
    assert (reject.source_uri, reject.source_offset) == (str(tmp_path / "log"), big.source_offset)
    assert "`input.max_record_bytes`" in reject.detail
    assert abs(reject.bytes - big.bytes) <= 4
    assert 0 < len(reject.excerpt) <= 512
    assert loaded.records == len(ids)


def test_a_parquet_row_over_the_limit(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "log")
    loaded = load(tmp_path / "log", CONFIG)
    assert [made.trajectory_id for made in loaded.trajectories] == ["a", "b"]
    assert [(each.reason, each.source_offset) for each in loaded.rejects] == [(RejectReason.TOO_LARGE, 1)]
    assert loaded.records == 3


def test_parquet_rows_are_decoded_a_few_at_a_time_where_they_are_large() -> None:
    table = pa.table({"id": ["a", "big", "b"], "output": ["x", "y" * 40_000_000, "z"]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, use_dictionary=False, compression="zstd")
    parts = list(parquet_records(buffer, "u", 0, None, 30_000_000))
    assert [part.value["id"] if isinstance(part, SourceRecord) else part.reason.value for part in parts] == [
        "a",
        "too_large",
        "b",
    ]


def test_a_session_over_the_limit_is_one_reject_that_names_the_file(tmp_path: Path) -> None:
    events = [{"type": "session_meta", "payload": {"id": "s"}}]
    for number in range(30):
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"hello {number}"}]}
        events.append({"type": "response_item", "payload": item})
    (tmp_path / "log").write_text("".join(json.dumps(each) + "\n" for each in events))
    assert len(load(tmp_path / "log").trajectories) == 1
    loaded = load(tmp_path / "log", CONFIG)
    assert (loaded.trajectories, loaded.reasons, loaded.records) == ([], ["too_large"], 1)
    assert str(tmp_path / "log") in loaded.rejects[0].detail
    assert loaded.rejects[0].source_format == "codex"


def test_lines_that_are_grouped_are_held_to_the_limit_too(tmp_path: Path) -> None:
    """A line over the limit may well fit into the chunk it is read in."""
    record = {"type": "session_meta", "payload": {"id": "s", "instructions": "x" * 3_000}}
    (tmp_path / "log").write_text(json.dumps(record) + "\n")
    assert load(tmp_path / "log", CONFIG).reasons == ["too_large"]


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1])
@pytest.mark.parametrize("kind", ["lines", "array", "documents", "csv", "zip"])
def test_the_limit_itself_is_allowed(kind: str, size: int) -> None:
    if kind == "csv":
        # A field counts with its separator.
        data = b"id,output\na," + b"x" * (size - 3) + b"\n"
        parts = list(iter_csv(io.BytesIO(data), "u", LIMIT))
    else:
        text = b'{"a":"' + b"x" * (size - 8) + b'"}'
        assert len(text) == size
        if kind == "zip":
            parts = list(iter_zip(io.BytesIO(zipped(text)), "u", LIMIT))[1:]
        elif kind == "lines":
            parts = list(iter_zip(io.BytesIO(zipped(text + b"\r\n" + text)), "u", LIMIT))[1:2]
        else:
            cut = {"array": iter_array, "documents": iter_documents}[kind]
            parts = list(cut(io.BytesIO(b"[" + text + b"]" if kind == "array" else text), "u", LIMIT))
    assert [isinstance(part, SourceRecord) for part in parts] == [size <= LIMIT]


class Endless(io.RawIOBase):
    """A stream of `opening`, `count` times `middle`, and `closing`, made as it is read."""

    def __init__(self, opening: bytes, middle: bytes, count: int, closing: bytes) -> None:
        self._parts = iter((opening, *(middle for _ in range(count)), closing))
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._ready = part
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


MEBIBYTE = 2**20
STREAMS: dict[str, tuple[Any, bytes, bytes, bytes]] = {
    "a string": (iter_documents, b'{"a":"', b"x" * MEBIBYTE, b'"}\n{"b":2}'),
    "escapes": (iter_documents, b'{"a":"', b'\\\\\\"' * (MEBIBYTE // 4), b'"}\n{"b":2}'),
    "objects": (iter_documents, b'{"a":[\n1', b',\n{"c":"' + b"1" * MEBIBYTE + b'"}', b'\n]}\n{"b":2}'),
    "depth": (iter_documents, b"", (b"[" + b" " * 50) * 2_000, b"]" * 20_000 + b'\n{"b":2}'),
    "an element": (iter_array, b'[{"a":"', b"x" * MEBIBYTE, b'"},{"b":2}]'),
    "a word": (iter_documents, b"a", b"x" * MEBIBYTE, b' {"b":2}'),
    "a quoted cell": (iter_csv, b'b,c\nbig,"', (b'"",' + b"z" * 1_000 + b"\n") * 1_000, b'",1\n2,\n'),
    "a plain cell": (iter_csv, b"b,c\nbig,", (b'"' + b"z" * 1_000 + b'"x') * 1_000, b"\n2,\n"),
}
LARGE = 32 * MEBIBYTE


@pytest.mark.parametrize("kind", STREAMS)
def test_memory_is_bounded_by_the_limit(kind: str) -> None:
    cut, opening, middle, closing = STREAMS[kind]
    tracemalloc.start()
    try:
        count = 10 if kind == "depth" else LARGE // len(middle)
        stream = io.BufferedReader(Endless(opening, middle, count, closing))
        before = tracemalloc.get_traced_memory()[0]
        parts: Iterator[SourceRecord | Reject] = cut(stream, "u", MEBIBYTE // 2)
        found = [part.value if isinstance(part, SourceRecord) else part.reason.value for part in parts]
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert found == ["too_large", {"b": "2" if cut is iter_csv else 2}]
    assert peak < 12 * MEBIBYTE, peak


def test_a_member_of_a_zip_archive_is_never_held_whole() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("log.json", "w") as member:
        member.write(b'[{"a":"')
        for _ in range(32):
            member.write(b"x" * MEBIBYTE)
        member.write(b'"},{"b":2}]')
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        parts = list(iter_zip(buffer, "u", MEBIBYTE))
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert [part.value if isinstance(part, SourceRecord) else part.reason.value for part in parts] == [
        "too_large",
        {"b": 2},
    ]
    assert peak < 12 * MEBIBYTE, peak


def test_after_a_document_over_the_limit_that_never_ends_the_next_ones_are_read() -> None:
    text = b'{\n "a": ["' + b"x" * 3_000 + b'"\n{\n "b": 2\n}\n{\n "c": 3\n}'
    parts = list(iter_documents(io.BytesIO(text), "u", LIMIT))
    assert [part.value if isinstance(part, SourceRecord) else part.reason.value for part in parts] == [
        "too_large",
        {"b": 2},
        {"c": 3},
    ]


def test_no_limit_is_none() -> None:
    assert [part.value for part in iter_documents(io.BytesIO(documents()), "u", UNLIMITED)] == ROWS  # type: ignore[union-attr]
