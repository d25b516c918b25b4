"""Reading a block: its records, in bounded pieces, as loaded blocks."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, TypeVar

import zstandard

from graders.trajectory_batch import TrajectoryBatch
from pipelines import storage
from pipelines.formats.container import Container, Normalised, SourceRecord, in_order, normalised_safely
from pipelines.formats.container import reject as rejected
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.formats.transports import iter_array, iter_csv, iter_documents, iter_zip, utf8_stream
from pipelines.reading.block import Block
from pipelines.reading.compression import CORRUPT, decompressed, is_damage, seekable
from pipelines.reading.expectations import expected_of
from pipelines.reading.line_blocks import empty_batch, load_lines, oversize_reject
from pipelines.reading.lines import CHUNK_BYTES, LineChunk, OversizeLine, lines_of_range, lines_of_stream
from pipelines.reading.loaded import LoadedBlock
from pipelines.reading.parquet_rows import parquet_records
from schemas.reject import MAX_EXCERPT, Reject, RejectReason
from schemas.suite import InputConfig
from schemas.trajectory_batch import to_record_batch

#: A piece of a block that is no line chunk holds at most this many records.
_PIECE_RECORDS = 20_000
_Item = TypeVar("_Item")


def _nothing_is_done(key: str) -> bool:
    return False


class BlockReader:
    """Reads blocks as one suite says."""

    def __init__(self, config: InputConfig, hash_seed: int) -> None:
        self.config = config
        self.hash_seed = hash_seed

    def load(self, block: Block, is_done: Callable[[str], bool] = _nothing_is_done) -> Iterator[LoadedBlock]:
        """The pieces of a block, each with a key of its own.

        Args:
            block: what to read.
            is_done: says of a piece's key whether an earlier execution finished it; such a piece is not normalised again, and not given.
        """
        container = block.container
        if block.kind == "unreadable" or container is None:
            yield self._unreadable(block)
        elif block.kind == "bucket":
            yield from self._bucket(block, container, is_done)
        elif container.grouping == "file":
            if not is_done(block.key):
                yield self._whole_file(block, container)
        elif block.kind == "lines":
            yield from self._lines(block, container, is_done)
        else:
            yield from self._records(block, container, is_done)

    def records(self, block: Block) -> Iterator[SourceRecord | Reject]:
        """The decoded records of a block, one by one. Damage in the middle of a file ends it with a reject."""
        with storage.open_read(block.uri) as file:
            yield from _until_damage(block, self._decoded(block, file))

    def _lines(self, block: Block, container: Container, done: Callable[[str], bool]) -> Iterator[LoadedBlock]:
        with storage.open_read(block.uri) as file:
            for chunk in _until_damage(block, self._chunks(block, file)):
                offset = chunk.source_offset if isinstance(chunk, Reject) else chunk.offset
                key = _piece_key(block, offset) + ("-damage" if isinstance(chunk, Reject) else "")
                if done(key):
                    continue
                if isinstance(chunk, Reject):
                    yield _rejected(block, key, [chunk], 1, 0)
                elif isinstance(chunk, OversizeLine):
                    yield _rejected(block, key, [oversize_reject(block.uri, chunk, container)], 1, chunk.size)
                else:
                    yield load_lines(key, block.uri, chunk, container, self.hash_seed, self.config.max_record_bytes)

    def _chunks(self, block: Block, file: BinaryIO) -> Iterator[LineChunk | OversizeLine]:
        if block.compression == "none" and block.encoding == "utf-8":
            return lines_of_range(file, block.start, block.end, self.config.max_record_bytes)
        return lines_of_stream(_plain(block, file), 0, None, self.config.max_record_bytes)

    def _records(self, block: Block, container: Container, done: Callable[[str], bool]) -> Iterator[LoadedBlock]:
        for number, piece in enumerate(_pieces(self.records(block))):
            key = f"{block.key}-{number:06d}"
            if not done(key):
                yield self._loaded(block, key, piece, container)

    def _whole_file(self, block: Block, container: Container) -> LoadedBlock:
        items: list[SourceRecord | Reject] = []
        size = 0
        for item in self.records(block):
            items.append(item)
            size += _size(item)
            if size > self.config.max_record_bytes:
                return self._large_session(block, container)
        records = [item for item in items if isinstance(item, SourceRecord)]
        normalised = normalised_safely(container, records)
        normalised.rejects += [item for item in items if isinstance(item, Reject)]
        return _from_normalised(block, block.key, normalised, len(items), block.size)

    def _large_session(self, block: Block, container: Container) -> LoadedBlock:
        detail = f"{block.uri} is one session ({container.name}), and its records together are more than `input.max_record_bytes` allows"
        rejects = [Reject(block.uri, 0, container.name, RejectReason.TOO_LARGE, detail, "", block.size)]
        return _rejected(block, block.key, rejects, 1, block.size)

    def _bucket(self, block: Block, container: Container, done: Callable[[str], bool]) -> Iterator[LoadedBlock]:
        if done(block.key):
            return
        groups: dict[str | None, list[SourceRecord]] = {}
        rejects: list[Reject] = []
        for segment in block.segments:
            for key, item in read_segment(segment.uri, segment.start, segment.length):
                if isinstance(item, Reject):
                    rejects.append(item)
                else:
                    groups.setdefault(key, []).append(item)
        normalised = Normalised()
        alone = groups.pop(None, [])
        for record in in_order(alone):
            normalised.add(normalised_safely(container, [record]))
        for key in sorted(groups, key=str):
            normalised.add(normalised_safely(container, in_order(groups[key])))
        normalised.rejects += rejects
        count = len(alone) + len(rejects) + sum(len(records) for records in groups.values())
        yield _from_normalised(block, block.key, normalised, count, block.size)

    def _loaded(self, block: Block, key: str, items: list[SourceRecord | Reject], container: Container) -> LoadedBlock:
        normalised = Normalised()
        for item in items:
            if isinstance(item, Reject):
                normalised.rejects.append(item)
            else:
                normalised.add(normalised_safely(container, [item]))
        return _from_normalised(block, key, normalised, len(items), sum(_size(item) for item in items))

    def _decoded(self, block: Block, file: BinaryIO) -> Iterator[SourceRecord | Reject]:
        limit = self.config.max_record_bytes
        if block.kind == "parquet":
            yield from parquet_records(seekable(file, block.compression), block.uri, block.start, block.end, limit)
        elif block.kind == "zip":
            yield from iter_zip(seekable(file, block.compression), block.uri, limit, expected_of(self.config))
        elif block.kind == "lines":
            for chunk in self._chunks(block, file):
                if isinstance(chunk, OversizeLine):
                    yield oversize_reject(block.uri, chunk, block.container)
                else:
                    yield from _line_records(block, chunk, limit)
        else:
            reader = {"documents": iter_documents, "array": iter_array, "csv": iter_csv}[block.kind]
            yield from reader(_plain(block, file), block.uri, limit)

    def _unreadable(self, block: Block) -> LoadedBlock:
        reason, detail = block.problem or (RejectReason.UNKNOWN_FORMAT, "its format is not known")
        rejects = [Reject(block.uri, 0, "", reason, detail, "", block.size)]
        return _rejected(block, block.key, rejects, 1, block.size)


def _until_damage(block: Block, items: Iterator[_Item]) -> Iterator[_Item | Reject]:
    """The items up to where the file's data is damaged, then a reject that says so. Faults of plain text are faults of ours, and raised."""
    offset = block.start
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except CORRUPT as error:
            if (block.compression == "none" and block.kind not in ("zip", "parquet")) or not is_damage(error):
                raise
            yield _corrupt(block, offset, error)
            return
        offset = getattr(item, "offset", offset)
        yield item


def spill(records: Iterable[SourceRecord | Reject], container: Container, buckets: int) -> dict[int, bytes]:
    """Records by bucket of their key, packed for the disk: the records of one key all go to one bucket, from wherever they are read."""
    packed: dict[int, list[tuple[str | None, SourceRecord | Reject]]] = {}
    pieces = (part for item in records for part in _parts(item, container))
    for item in pieces:
        key = container.key(item) if isinstance(item, SourceRecord) else None
        place = key if key is not None else f"{_uri(item)}#{_offset(item)}"
        digest = hashlib.blake2b(place.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        packed.setdefault(int.from_bytes(digest, "big") % buckets, []).append((key, item))
    compress = zstandard.ZstdCompressor(level=1).compress
    return {bucket: compress(_pickled(items, container)) for bucket, items in packed.items()}


def _pickled(items: list[tuple[str | None, SourceRecord | Reject]], container: Container) -> bytes:
    """Records and their keys as bytes; a record that is nested too deeply for that becomes a reject."""
    try:
        return pickle.dumps(items, protocol=5)
    except RecursionError:
        return pickle.dumps([_storable(key, item, container) for key, item in items], protocol=5)


def _storable(
    key: str | None, item: SourceRecord | Reject, container: Container
) -> tuple[str | None, SourceRecord | Reject]:
    try:
        pickle.dumps(item, protocol=5)
    except RecursionError:
        assert isinstance(item, SourceRecord)
        detail = f"nested too deeply to be grouped with others of its {container.name} log"
        return None, rejected(item, RejectReason.TOO_DEEP, detail, container.name)
    return key, item


def _parts(item: SourceRecord | Reject, container: Container) -> Iterable[SourceRecord | Reject]:
    """The pieces of a record that may belong to several trajectories; from here on a piece counts as a record."""
    return container.pieces(item) if isinstance(item, SourceRecord) else (item,)


def read_segment(uri: str, start: int, length: int) -> list[tuple[str | None, SourceRecord | Reject]]:
    """What `spill` packed, from its place in a spill file of this run."""
    with storage.open_read(uri) as file:
        file.seek(start)
        data = file.read(length)
    items: list[tuple[str | None, SourceRecord | Reject]] = pickle.loads(zstandard.decompress(data))
    return items


def _line_records(block: Block, chunk: LineChunk, max_record: int) -> Iterator[SourceRecord | Reject]:
    offset = chunk.offset
    lines = chunk.data.split(b"\n")
    for number, line in enumerate(lines):
        cut = chunk.reaches_end and number == len(lines) - 1
        if len(line) > max_record:
            yield oversize_reject(block.uri, OversizeLine(line[: 4 * MAX_EXCERPT], offset, len(line)), block.container)
            offset += len(line) + 1
            continue
        excerpt = line[: 4 * MAX_EXCERPT].decode("utf-8", "replace")[:MAX_EXCERPT]
        for item in decode_line(line, cut):
            value = item.value if isinstance(item, Decoded) else None
            issues = item.issues if isinstance(item, Decoded) else ()
            record = SourceRecord(value, block.uri, offset, item.size, issues, item.ordinal, excerpt)
            if isinstance(item, Decoded):
                yield record
            else:
                name = block.container.name if block.container is not None else ""
                yield rejected(record, item.reason, item.detail, name)
        offset += len(line) + 1


def _pieces(items: Iterable[SourceRecord | Reject]) -> Iterator[list[SourceRecord | Reject]]:
    piece: list[SourceRecord | Reject] = []
    size = 0
    for item in items:
        piece.append(item)
        size += _size(item)
        if size >= CHUNK_BYTES or len(piece) >= _PIECE_RECORDS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _from_normalised(block: Block, key: str, normalised: Normalised, records: int, size: int) -> LoadedBlock:
    return LoadedBlock(
        key=key,
        uri=block.uri,
        offset=block.start,
        batch=TrajectoryBatch(to_record_batch(normalised.trajectories)),
        rejects=normalised.rejects,
        records=records,
        bytes=size,
        skipped=normalised.skipped,
    )


def _rejected(block: Block, key: str, rejects: list[Reject], records: int, size: int) -> LoadedBlock:
    return LoadedBlock(key, block.uri, block.start, TrajectoryBatch(empty_batch()), rejects, records, size)


def _plain(block: Block, file: BinaryIO) -> BinaryIO:
    stream = decompressed(file, block.compression)
    return utf8_stream(stream) if block.encoding == "utf-16" else stream


def _piece_key(block: Block, offset: int) -> str:
    return f"{block.key}-{offset:x}"


def _corrupt(block: Block, offset: int, error: BaseException) -> Reject:
    detail = f"the {block.compression if block.compression != 'none' else block.kind} data is damaged or cut here: {type(error).__name__}"
    name = block.container.name if block.container is not None else ""
    return Reject(block.uri, offset, name, RejectReason.CORRUPT_FILE, detail, "", 0)


def _size(item: SourceRecord | Reject) -> int:
    return item.size if isinstance(item, SourceRecord) else item.bytes


def _uri(item: SourceRecord | Reject) -> str:
    return item.uri if isinstance(item, SourceRecord) else item.source_uri


def _offset(item: SourceRecord | Reject) -> int:
    return item.offset if isinstance(item, SourceRecord) else item.source_offset
