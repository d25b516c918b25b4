"""Reads a whole file into records, the way the pipeline's reader does, for tests of formats."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq
import zstandard

from pipelines.formats.container import Container, Normalised, SourceRecord, in_order
from pipelines.formats.detection import Detected, detect
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.formats.transports import iter_array, iter_csv, iter_documents, iter_zip, sniff_file, utf8_stream
from schemas.reject import Reject

_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@dataclass
class Outcome:
    """What became of one file."""

    detected: Detected | None
    records: int
    normalised: Normalised
    unreadable: list[Reject] = field(default_factory=list)

    @property
    def accounted(self) -> int:
        return (
            self.normalised.records_used
            + len(self.normalised.rejects)
            + sum(self.normalised.skipped.values())
            + len(self.unreadable)
        )


def records_of(data: bytes, uri: str) -> tuple[list[SourceRecord], list[Reject]]:
    """The records of a file's bytes, and what of it can't be read."""
    sniffed = sniff_file(data[:65536], uri, len(data) <= 65536)
    while sniffed.compression != "none":
        data = _UNPACK[sniffed.compression](data)
        sniffed = sniff_file(data[:65536], uri, len(data) <= 65536)
    if sniffed.error is not None:
        return [], [Reject(uri, 0, "", *sniffed.error, "", len(data))]
    stream = io.BytesIO(data)
    if sniffed.encoding == "utf-16":
        stream = io.BytesIO(utf8_stream(stream).read())
    if sniffed.transport == "parquet":
        return _parquet_rows(stream, uri), []
    parts: Iterable[SourceRecord | Reject]
    if sniffed.transport == "lines":
        parts = _lines(stream.getvalue(), uri)
    else:
        cut = {"documents": iter_documents, "array": iter_array, "csv": iter_csv, "zip": iter_zip}[
            str(sniffed.transport)
        ]
        parts = cut(stream, uri)
    records: list[SourceRecord] = []
    rejects: list[Reject] = []
    for part in parts:
        if isinstance(part, Reject):
            rejects.append(part)
        else:
            records.append(part)
    return records, rejects


def read(data: bytes, uri: str = "x.jsonl", container: Container | None = None) -> Outcome:
    """Detect, group and normalise one file."""
    records, unreadable = records_of(data, uri)
    return normalise(records, unreadable, uri, container)


def normalise(
    records: Sequence[SourceRecord], unreadable: list[Reject], uri: str, container: Container | None = None
) -> Outcome:
    if not records:
        return Outcome(None, len(unreadable), Normalised(), unreadable)
    detected = Detected(container, "given") if container else detect([r.value for r in records], uri)
    pieces, result = run(records, detected.container)
    return Outcome(detected, len(pieces) + len(unreadable), result, unreadable)


def run(records: Sequence[SourceRecord], container: Container) -> tuple[list[SourceRecord], Normalised]:
    """(what was counted as a record, what became of it)."""
    if container.grouping != "key":
        if container.grouping == "file":
            return list(records), container.normalise(in_order(records))
        return list(records), container.normalise(records)
    pieces = [piece for record in records for piece in container.pieces(record)]
    groups: dict[str, list[SourceRecord]] = defaultdict(list)
    result = Normalised()
    for piece in pieces:
        key = container.key(piece)
        if key is None:
            result.add(container.normalise([piece]))
        else:
            groups[key].append(piece)
    for key in sorted(groups):
        result.add(container.normalise(in_order(groups[key])))
    return pieces, result


def _lines(data: bytes, uri: str) -> list[SourceRecord | Reject]:
    parts: list[SourceRecord | Reject] = []
    offset = 0
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        for part in decode_line(line, number == len(lines) - 1):
            excerpt = line[:512].decode("utf-8", "replace")
            if isinstance(part, Decoded):
                parts.append(SourceRecord(part.value, uri, offset, part.size, part.issues, part.ordinal, excerpt))
            else:
                parts.append(Reject(uri, offset, "", part.reason, part.detail, excerpt, part.size))
        offset += len(line) + 1
    return parts


def _parquet_rows(stream: io.BytesIO, uri: str) -> list[SourceRecord]:
    rows: list[Any] = pq.read_table(stream).to_pylist()
    return [SourceRecord(row, uri, number, 0, place=f"{uri}#0:{number}") for number, row in enumerate(rows)]
