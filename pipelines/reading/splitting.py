"""From an input file to its blocks: what the file is, told from its first bytes, and where it is cut."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from pipelines import storage
from pipelines.formats.container import Container, SourceRecord
from pipelines.formats.detection import CSV, container_by_name, detect
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.formats.transports import iter_array, iter_csv, iter_documents, iter_zip, sniff_file, utf8_stream
from pipelines.reading.block import Block
from pipelines.reading.compression import CORRUPT, decompressed, is_damage, seekable
from pipelines.reading.expectations import expected_of
from pipelines.reading.lines import LineChunk, chunk_bytes_for, lines_of_stream, read_some
from pipelines.reading.parquet_rows import parquet_records
from schemas.manifest import InputFile
from schemas.reject import Reject, RejectReason
from schemas.suite import InputConfig

_HEAD_BYTES = 256 * 1024
_SAMPLE_RECORDS = 50
_READERS: dict[str, Callable[..., Iterator[SourceRecord | Reject]]] = {
    "documents": iter_documents,
    "array": iter_array,
    "csv": iter_csv,
}
_EMPTY = {
    "parquet": "a table without rows",
    "csv": "a table with a header and no rows",
    "array": "an array without elements",
    "documents": "there is no JSON value in it",
}


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What a file is taken for, and why."""

    block: Block
    """The whole file as one block."""
    why: str
    line_bytes: int = 0
    """How long its lines are on average, told from its first bytes."""

    @property
    def name(self) -> str:
        """The container's name, or `unreadable`."""
        return self.block.container.name if self.block.container is not None else "unreadable"


def file_format(file: InputFile, config: InputConfig) -> FileFormat:
    """What a file is. A file that can't be read is a block of kind `unreadable`; nothing raises for content."""
    try:
        return _file_format(file, config)
    except CORRUPT as error:
        if not is_damage(error):
            raise
        problem = (RejectReason.CORRUPT_FILE, f"{file.uri} can't be read: {type(error).__name__}")
        return FileFormat(Block(file.uri, "unreadable", None, size=file.size, problem=problem), problem[1])


def split(file: InputFile, config: InputConfig) -> Iterator[Block]:
    """The blocks of a file: byte ranges of plain JSON lines, row groups of Parquet, else the whole file."""
    told = file_format(file, config)
    whole = told.block
    if whole.container is not None and whole.container.grouping == "file":
        yield whole
    elif whole.kind == "lines" and whole.compression == "none" and whole.encoding == "utf-8":
        chunk_bytes = chunk_bytes_for(file.size, told.line_bytes)
        for start in range(0, max(file.size, 1), chunk_bytes):
            end = min(start + chunk_bytes, file.size)
            yield replace(whole, start=start, end=end, size=end - start)
    elif whole.kind == "parquet" and whole.compression == "none":
        with storage.open_read(file.uri) as stream:
            groups = pq.ParquetFile(stream).num_row_groups
        for group in range(groups):
            yield replace(whole, start=group, end=group + 1, size=file.size // groups)
    else:
        yield whole


def _file_format(file: InputFile, config: InputConfig) -> FileFormat:
    with storage.open_read(file.uri) as stream:
        head = _read_up_to(stream, _HEAD_BYTES)
    is_whole = len(head) < _HEAD_BYTES
    expected = expected_of(config)
    sniffed = sniff_file(head, file.uri, is_whole, expected)
    compression = sniffed.compression
    reasons = [sniffed.why]
    if compression != "none":
        with storage.open_read(file.uri) as stream:
            head = _read_up_to(decompressed(stream, compression), _HEAD_BYTES)
        is_whole = len(head) < _HEAD_BYTES
        sniffed = sniff_file(head, file.uri, is_whole, expected)
        reasons.append(sniffed.why)
    if sniffed.error is not None or sniffed.transport is None:
        problem = sniffed.error or (RejectReason.UNKNOWN_FORMAT, f"{file.uri} is compressed twice: decompress it once")
        return FileFormat(Block(file.uri, "unreadable", None, size=file.size, problem=problem), problem[1])
    block = Block(file.uri, sniffed.transport, None, compression, sniffed.encoding, size=file.size)
    if _holds_nothing(block, head, is_whole):
        problem = (RejectReason.EMPTY_FILE, f"{file.uri} is empty: {_EMPTY[block.kind]}")
        return FileFormat(replace(block, kind="unreadable", problem=problem), problem[1])
    container, why = _container(block, head, is_whole, file.uri, config)
    reasons.append(why)
    why = "; ".join(reason for reason in reasons if reason)
    return FileFormat(replace(block, container=container), why, len(head) // (head.count(b"\n") + 1))


def _holds_nothing(block: Block, head: bytes, is_whole: bool) -> bool:
    """Whether a file is well formed and has no record in it."""
    if block.kind == "parquet":
        with storage.open_read(block.uri) as stream:
            return int(pq.ParquetFile(seekable(stream, block.compression)).metadata.num_rows) == 0
    if block.kind not in _READERS or not is_whole:
        return False
    stream = io.BytesIO(head)
    plain = utf8_stream(stream) if block.encoding == "utf-16" else stream
    return next(_READERS[block.kind](plain, block.uri), None) is None


def _container(block: Block, head: bytes, is_whole: bool, uri: str, config: InputConfig) -> tuple[Container, str]:
    if config.fields is not None:
        return container_by_name("mapped_rows", {"fields": dict(config.fields)}), "the suite maps its fields"
    if config.format not in ("auto", CSV):
        return container_by_name(config.format), f"the suite says `format: {config.format}`"
    detected = detect(_sample(block, head, is_whole, uri, config), uri)
    return detected.container, detected.why


def _sample(block: Block, head: bytes, is_whole: bool, uri: str, config: InputConfig) -> list[Any]:
    """The first records of a file, decoded."""
    if block.kind in ("parquet", "zip"):
        limit = config.max_record_bytes
        with storage.open_read(uri) as file:
            plain = seekable(file, block.compression)
            if block.kind == "parquet":
                return [record.value for record in _first(parquet_records(plain, uri, 0, 1, limit))]
            return [record.value for record in _first(iter_zip(plain, uri, limit, expected_of(config)))]
    stream = io.BytesIO(head)
    if block.encoding == "utf-16":
        stream = io.BytesIO(utf8_stream(stream).read())
    if block.kind == "lines":
        lines = stream.getvalue().split(b"\n")
        if not is_whole and len(lines) > 1:
            lines.pop()
        values = [
            item.value
            for line in lines[: 4 * _SAMPLE_RECORDS]
            for item in decode_line(line)
            if isinstance(item, Decoded)
        ]
        if values or is_whole:
            return values[:_SAMPLE_RECORDS]
        return _first_line(block, uri, config.max_record_bytes)
    reader = _READERS[block.kind]
    values = [record.value for record in _first(reader(stream, uri))]
    if values or is_whole:
        return values
    with storage.open_read(uri) as file:  # the first value is longer than the head
        plain = decompressed(file, block.compression)
        plain = utf8_stream(plain) if block.encoding == "utf-16" else plain
        return [record.value for record in _first(reader(plain, uri, config.max_record_bytes), 1)]


def _first_line(block: Block, uri: str, max_line: int) -> list[Any]:
    """The values of a first line that is longer than the head."""
    with storage.open_read(uri) as file:
        plain = decompressed(file, block.compression)
        plain = utf8_stream(plain) if block.encoding == "utf-16" else plain
        chunk = next(lines_of_stream(plain, 0, None, max_line), None)
    if not isinstance(chunk, LineChunk):
        return []
    line = chunk.data.partition(b"\n")[0]
    return [item.value for item in decode_line(line) if isinstance(item, Decoded)]


def _first(records: Any, count: int = _SAMPLE_RECORDS) -> Iterator[Any]:
    for record in records:
        if hasattr(record, "value"):
            yield record
            count -= 1
            if not count:
                return


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    """The first bytes of a stream; of a damaged one those before the damage, if there are any."""
    pieces: list[bytes] = []
    while size > 0:
        try:
            piece = read_some(stream, size)
        except CORRUPT as error:
            if not pieces or not is_damage(error):
                raise
            break
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
