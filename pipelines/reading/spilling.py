"""Records that are grouped by key, on their way through the disk: by bucket of the key, as text that is decoded where it is normalised.

A line whose records all have one key is spilled as it stands. The pieces of a line that mixes keys are spilled as JSON text of their own.
Records of other files (tables, archives), records that JSON text can't hold exactly, and rejects are pickled.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import orjson
import zstandard

from pipelines import storage
from pipelines.formats.container import Container, SourceRecord, in_order
from pipelines.formats.container import reject as rejected
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.reading.block import Segment
from pipelines.reading.line_records import oversize_reject
from pipelines.reading.lines import LineChunk, OversizeLine
from schemas.reject import MAX_EXCERPT, Reject, RejectReason

#: Packed records are written to a spill file of their own once there are so many bytes of them.
SPILL_BYTES = 32 * 2**20
_LENGTH_BYTES = 8


class Rest(NamedTuple):
    """What a record is beside its value."""

    ordinal: int
    size: int
    issues: tuple[str, ...]
    excerpt: str
    place: str | None


class SpilledText(NamedTuple):
    """A record, or a whole line of them, as the text in which it waits for its group."""

    uri: str
    offset: int
    text: bytes
    rest: Rest | None
    """None where the text is a line of the source; else the text is that of one record's value, and this is the rest."""


@dataclass(slots=True)
class Group:
    """All records of one key, or of none."""

    texts: list[SpilledText] = field(default_factory=list)
    records: list[SourceRecord] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of its records, about."""
        return sum(len(spilled.text) for spilled in self.texts) + sum(record.size for record in self.records)

    def decoded(self, container: Container) -> DecodedGroup:
        """Its records; decoding is put off until here, so that only one group at a time stands in memory as objects."""
        found = DecodedGroup(list(self.records))
        for uri, offset, text, rest in self.texts:
            if rest is not None:
                value, place = orjson.loads(text), rest.place
                record = SourceRecord(value, uri, offset, rest.size, rest.issues, rest.ordinal, rest.excerpt, place)
                found.records.append(record)
                continue
            for item in line_records(uri, offset, text, container.name):
                if isinstance(item, Reject):
                    found.rejects.append(item)
                    continue
                for part in container.pieces(item):
                    (found.alone if container.key(part) is None else found.records).append(part)
        found.records = in_order(found.records)
        return found


@dataclass(slots=True)
class DecodedGroup:
    """The records of a group, in the order of their source; apart from them those of its lines that have no key, and what is no JSON."""

    records: list[SourceRecord]
    alone: list[SourceRecord] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)


@dataclass(slots=True)
class Portion:
    """What some of a source's lines or records give one bucket."""

    uri: str
    keys: list[str] = field(default_factory=list)
    """With `offsets` and `lines`: lines whose records all have one key."""
    offsets: list[int] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    values: list[tuple[str | None, int, bytes, tuple[int, int, tuple[str, ...], str, str | None]]] = field(
        default_factory=list
    )
    """(key, offset, JSON text, the fields of `Rest`) of single records."""
    items: list[tuple[str | None, SourceRecord | Reject]] = field(default_factory=list)


class Spiller:
    """Spreads the records of one block over buckets and packs them: those of one key all go to one bucket, from wherever they are read."""

    def __init__(self, uri: str, container: Container, buckets: int, max_line: int) -> None:
        self._uri = uri
        self._container = container
        self._buckets = buckets
        self._max_line = max_line
        self._portions: dict[int, Portion] = {}
        self._of_key: dict[str, Portion] = {}
        self._packed: dict[int, list[bytes]] = {}
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self.size = 0
        """Bytes that are packed."""

    def add_chunk(self, chunk: LineChunk | OversizeLine) -> None:
        """Take in some lines of JSON text."""
        if isinstance(chunk, OversizeLine):
            self.add(oversize_reject(self._uri, chunk, self._container))
            return
        offset = chunk.offset
        lines = chunk.data.split(b"\n")
        last = len(lines) - 1
        told_key, max_line = self._container.key_of_line, self._max_line
        for number, line in enumerate(lines):
            length = len(line)
            cut = number == last and chunk.reaches_end
            key = told_key(line) if length <= max_line and not cut else None
            if key is not None:
                self._add_line(key, offset, line)
            elif length > max_line and len(line.removesuffix(b"\r")) > max_line:
                size = len(line.removesuffix(b"\r"))
                self.add(
                    oversize_reject(self._uri, OversizeLine(line[: 4 * MAX_EXCERPT], offset, size), self._container)
                )
            elif length:
                self._add_decoded(offset, line, cut)
            offset += length + 1

    def add(self, item: SourceRecord | Reject) -> None:
        """Take in a record, taken apart or not, or a reject."""
        for part in self._container.pieces(item) if isinstance(item, SourceRecord) else (item,):
            key = self._container.key(part) if isinstance(part, SourceRecord) else None
            self._portion(key, part).items.append((key, part))

    def pack(self) -> None:
        """Pack what was taken in since the last time."""
        for bucket, portion in self._portions.items():
            packed = self._compress(_pickled(portion, self._container))
            self._packed.setdefault(bucket, []).append(len(packed).to_bytes(_LENGTH_BYTES, "big") + packed)
            self.size += len(packed)
        self._portions, self._of_key = {}, {}

    def take(self) -> dict[int, bytes]:
        """What was taken in, packed, by bucket; it is forgotten here."""
        self.pack()
        taken = {bucket: b"".join(self._packed[bucket]) for bucket in sorted(self._packed)}
        self._packed, self.size = {}, 0
        return taken

    def _add_line(self, key: str, offset: int, line: bytes) -> None:
        portion = self._of_key.get(key)
        if portion is None:
            portion = self._of_key[key] = self._of_place(key)
        portion.keys.append(key)
        portion.offsets.append(offset)
        portion.lines.append(line)

    def _add_decoded(self, offset: int, line: bytes, cut: bool) -> None:
        """Take in a line whose text does not tell its key."""
        container = self._container
        parts: list[tuple[str | None, SourceRecord | Reject]] = []
        for item in line_records(self._uri, offset, line, container.name, cut):
            if isinstance(item, Reject):
                parts.append((None, item))
            else:
                parts += [(container.key(part), part) for part in container.pieces(item)]
        keys = {key for key, _ in parts}
        only = keys.pop() if len(keys) == 1 else None
        if only is not None:
            self._add_line(only, offset, line)
            return
        for key, part in parts:
            text = exact_text(part)
            if text is None or isinstance(part, Reject):
                self._portion(key, part).items.append((key, part))
            else:
                rest = (part.ordinal, part.size, part.issues, part.excerpt, part.place)
                self._portion(key, part).values.append((key, part.offset, text, rest))

    def _portion(self, key: str | None, item: SourceRecord | Reject) -> Portion:
        if key is None:
            place = (item.uri, item.offset) if isinstance(item, SourceRecord) else (item.source_uri, item.source_offset)
            return self._of_place(f"{place[0]}#{place[1]}")
        portion = self._of_key.get(key)
        if portion is None:
            portion = self._of_key[key] = self._of_place(key)
        return portion

    def _of_place(self, place: str) -> Portion:
        digest = hashlib.blake2b(place.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        bucket = int.from_bytes(digest, "big") % self._buckets
        portion = self._portions.get(bucket)
        if portion is None:
            portion = self._portions[bucket] = Portion(self._uri)
        return portion


def _pickled(portion: Portion, container: Container) -> bytes:
    """A portion as bytes; a record that is nested too deeply for that becomes a reject."""
    try:
        return pickle.dumps(portion, protocol=5)
    except RecursionError:
        items = [_storable(key, item, container) for key, item in portion.items]
        return pickle.dumps(replace(portion, items=items), protocol=5)


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


def read_groups(segments: Iterable[Segment]) -> tuple[dict[str | None, Group], list[Reject]]:
    """(the groups of a bucket by key, rejects) from the places where a `Spiller` of this run packed them."""
    groups: dict[str | None, Group] = {}
    rejects: list[Reject] = []

    def group(key: str | None) -> Group:
        found = groups.get(key)
        if found is None:
            found = groups[key] = Group()
        return found

    for segment in segments:
        for portion in _portions(segment):
            uri = portion.uri
            for key, offset, line in zip(portion.keys, portion.offsets, portion.lines, strict=True):
                group(key).texts.append(SpilledText(uri, offset, line, None))
            for name, offset, text, rest in portion.values:
                group(name).texts.append(SpilledText(uri, offset, text, Rest(*rest)))
            for name, item in portion.items:
                if isinstance(item, Reject):
                    rejects.append(item)
                else:
                    group(name).records.append(item)
    return groups, rejects


def line_records(uri: str, offset: int, line: bytes, name: str, cut: bool = False) -> list[SourceRecord | Reject]:
    """The decoded records of one line of the container `name`. `cut`: it is the last of its stream and has no line end."""
    excerpt = line[: 4 * MAX_EXCERPT].decode("utf-8", "replace")[:MAX_EXCERPT]
    records: list[SourceRecord | Reject] = []
    for item in decode_line(line, cut):
        if isinstance(item, Decoded):
            records.append(SourceRecord(item.value, uri, offset, item.size, item.issues, item.ordinal, excerpt))
        else:
            record = SourceRecord(None, uri, offset, item.size, (), item.ordinal, excerpt)
            records.append(rejected(record, item.reason, item.detail, name))
    return records


def exact_text(item: SourceRecord | Reject) -> bytes | None:
    """A decoded JSON value as the text that orjson reads the very same value from; None where there is none (integers beyond 64 bits)."""
    if isinstance(item, Reject):
        return None
    try:
        return orjson.dumps(item.value)
    except TypeError:
        return None


def _portions(segment: Segment) -> Iterator[Portion]:
    with storage.open_read(segment.uri) as file:
        file.seek(segment.start)
        data = memoryview(file.read(segment.length))
    start = 0
    decompress = zstandard.ZstdDecompressor().decompress
    while start < len(data):
        length = int.from_bytes(data[start : start + _LENGTH_BYTES], "big")
        start += _LENGTH_BYTES
        yield pickle.loads(decompress(data[start : start + length]))
        start += length
