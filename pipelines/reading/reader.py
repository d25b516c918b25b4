"""Reading a block: its records, in bounded pieces, as loaded blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, TypeVar

from graders.trajectory_batch import TrajectoryBatch
from pipelines import storage
from pipelines.formats.container import Container, Normalised, SourceRecord, in_order, normalised_safely
from pipelines.formats.transports import iter_array, iter_csv, iter_documents, iter_zip, utf8_stream
from pipelines.reading.block import Block
from pipelines.reading.compression import CORRUPT, decompressed, is_damage, seekable
from pipelines.reading.expectations import expected_of
from pipelines.reading.line_blocks import empty_batch, load_lines
from pipelines.reading.line_records import oversize_reject
from pipelines.reading.lines import CHUNK_BYTES, LineChunk, OversizeLine, lines_of_range, lines_of_stream
from pipelines.reading.loaded import LoadedBlock
from pipelines.reading.parquet_rows import parquet_records
from pipelines.reading.spilling import SPILL_BYTES, Group, Spiller, line_records, read_groups
from schemas.reject import MAX_EXCERPT, Reject, RejectReason
from schemas.suite import InputConfig
from schemas.trajectory_batch import to_record_batch

#: A piece of a block that is no line chunk holds at most this many records.
_PIECE_RECORDS = 20_000
#: Groups of so many bytes make one piece of a bucket.
_PIECE_BYTES = 32 * 2**20
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

    def spill(self, block: Block, buckets: int) -> Iterator[dict[int, bytes]]:
        """The records of a block by bucket of their key, packed for the disk; in several portions where they are many."""
        assert block.container is not None
        spiller = Spiller(block.uri, block.container, buckets, self.config.max_record_bytes)
        for items in self._lines_or_records(block):
            if isinstance(items, (LineChunk, OversizeLine)):
                spiller.add_chunk(items)
            else:
                for item in items:
                    spiller.add(item)
            spiller.pack()
            if spiller.size >= SPILL_BYTES:
                yield spiller.take()
        yield spiller.take()

    def _lines_or_records(self, block: Block) -> Iterator[LineChunk | OversizeLine | list[SourceRecord | Reject]]:
        if block.kind != "lines":
            yield from _pieces(self.records(block))
            return
        with storage.open_read(block.uri) as file:
            for chunk in _until_damage(block, self._chunks(block, file)):
                yield [chunk] if isinstance(chunk, Reject) else chunk

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
        groups, rejects = read_groups(block.segments)
        alone = groups.pop(None, Group())
        pieces = list(_bounded(sorted(groups, key=str), groups))
        for number, keys in enumerate(pieces or [[]]):
            key = f"{block.key}-{number:06d}"
            if done(key):
                continue
            normalised = Normalised()
            records = 0
            if not number:
                normalised.rejects += rejects
                records = len(rejects) + _normalise_alone(alone, container, normalised)
            for name in keys:
                records += _normalise_group(groups.pop(name), container, normalised)
            yield _from_normalised(block, key, normalised, records, block.size // max(len(pieces), 1))

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
                    offset, lines = chunk.offset, chunk.data.split(b"\n")
                    name = block.container.name if block.container is not None else ""
                    for number, line in enumerate(lines):
                        if len(line) > limit:
                            head = OversizeLine(line[: 4 * MAX_EXCERPT], offset, len(line))
                            yield oversize_reject(block.uri, head, block.container)
                        else:
                            cut = chunk.reaches_end and number == len(lines) - 1
                            yield from line_records(block.uri, offset, line, name, cut)
                        offset += len(line) + 1
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


def _bounded(keys: list[str | None], groups: dict[str | None, Group]) -> Iterator[list[str | None]]:
    """Keys in runs whose groups are large enough for a block of trajectories, and not much larger."""
    run: list[str | None] = []
    size = 0
    for key in keys:
        run.append(key)
        size += groups[key].size
        if size >= _PIECE_BYTES:
            yield run
            run, size = [], 0
    if run:
        yield run


def _normalise_group(group: Group, container: Container, into: Normalised) -> int:
    """Add what becomes of the records of one key; how many there were."""
    decoded = group.decoded(container)
    into.rejects += decoded.rejects
    if decoded.records:
        into.add(normalised_safely(container, decoded.records))
    for record in decoded.alone:
        into.add(normalised_safely(container, [record]))
    return len(decoded.records) + len(decoded.alone) + len(decoded.rejects)


def _normalise_alone(group: Group, container: Container, into: Normalised) -> int:
    """Add what becomes of records without a key, each by itself; how many there were."""
    records = 0
    for text in sorted(group.texts, key=lambda spilled: (spilled.uri, spilled.offset)):
        for record in Group([text]).decoded(container).records:
            into.add(normalised_safely(container, [record]))
            records += 1
    for record in in_order(group.records):
        into.add(normalised_safely(container, [record]))
        records += 1
    return records


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
