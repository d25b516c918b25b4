"""What a log format is to the pipeline: a container that turns decoded records into trajectories.

A new format is one module in `pipelines/formats/containers/` with a subclass of `Container`; detection finds it there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from schemas.reject import Reject, RejectReason
from schemas.trajectory import Trajectory

Grouping = Literal["record", "file", "key"]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One decoded record (a JSON value of a line or array, a row of a table) with its place."""

    value: Any
    uri: str
    offset: int
    """Byte offset in the decompressed stream (JSON text), or row number in the file (tables)."""
    size: int
    """Bytes of the record in its source."""
    issues: tuple[str, ...] = ()
    """What decoding had to repair."""
    ordinal: int = 0
    """Which value it is of those that share the offset (several JSON values on one line)."""
    excerpt: str = ""
    """The head of its source text, for a reject."""
    place: str | None = None
    """The record's address where `<uri>#<offset>` does not say it (`<uri>#<row group>:<row>`, a member of an archive)."""

    @property
    def address(self) -> str:
        """What stands for an id where the log has none."""
        return self.place or f"{self.uri}#{self.offset}" + (f":{self.ordinal}" if self.ordinal else "")


@dataclass(slots=True)
class Normalised:
    """What became of some records. Every record is used, rejected or skipped by a named rule; nothing is dropped silently."""

    trajectories: list[Trajectory] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    records_used: int = 0
    """Records that went into trajectories."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Records that are no part of a trajectory by a documented rule, by rule."""

    def skip(self, rule: str, count: int = 1) -> None:
        """Count records that a rule leaves out."""
        self.skipped[rule] = self.skipped.get(rule, 0) + count

    def add(self, other: Normalised) -> None:
        """Take in what became of further records."""
        self.trajectories += other.trajectories
        self.rejects += other.rejects
        self.records_used += other.records_used
        for rule, count in other.skipped.items():
            self.skip(rule, count)


class Container(ABC):
    """One log format. Instances hold no state but their configuration, and are pickled to workers."""

    name: ClassVar[str]
    """What `input.format:` and `source_format` say; unique."""
    grouping: ClassVar[Grouping] = "record"
    """`record`: each record stands alone. `file`: a file is one session. `key`: records of one `key` make a trajectory, wherever they stand."""
    order: ClassVar[int] = 100
    """Place in detection: lower is asked first (more specific formats before the general ones)."""

    @abstractmethod
    def detect(self, value: Any) -> str | None:
        """Why a record is of this format (a short sentence naming the keys that told), or None."""

    @abstractmethod
    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """Trajectories of some records: of one (`record`), all of a file in order (`file`), or all of one key by source (`key`).

        It never raises for content: what is wrong with a record becomes an entry in `issues` or a reject.
        """

    def pieces(self, record: SourceRecord) -> Iterable[SourceRecord]:
        """The parts of a record that group independently: an export request holds spans of many traces.

        Called before `key` where `grouping` is `key`; from there on each piece counts as a record. At least one comes back.
        """
        return (record,)

    def expanded(self, records: Iterable[SourceRecord]) -> list[SourceRecord]:
        """Records with whole ones taken apart, for `normalise` to be right also where nobody called `pieces` before."""
        return [part for record in records for part in self.pieces(record)]

    def key(self, record: SourceRecord) -> str | None:
        """The key that `grouping = "key"` groups by; None for a record that belongs to no trajectory (then it is normalised alone)."""
        return None

    def key_of_line(self, line: bytes) -> str | None:
        """The only key that any record of a line of JSON can have, told from its text; None where that takes decoding.

        A format whose records are many and small tells it, so that each is decoded once, where it is normalised.
        """
        return None


def reject(record: SourceRecord, reason: RejectReason, detail: str, source_format: str = "") -> Reject:
    """A record as a reject."""
    return Reject(record.uri, record.offset, source_format, reason, detail, record.excerpt, record.size, record.ordinal)


def normalised_safely(container: Container, records: Sequence[SourceRecord]) -> Normalised:
    """What `container` makes of some records; where it fails, against its promise, each record is a reject `adapter_error`.

    Of a `record` container only the record at fault is lost. The error's text may hold content and is not told, only its type. Records
    that the container's counts do not account for are told by a reject, too.
    """
    try:
        result = container.normalise(records)
        missing = len(records) - result.records_used - len(result.rejects) - sum(result.skipped.values())
        if missing > 0:
            detail = f"{missing} of {len(records)} records read as {container.name} are not accounted for: a bug in that format's reader"
            result.rejects.append(reject(records[0], RejectReason.ADAPTER_ERROR, detail, container.name))
        return result
    except Exception as error:
        if container.grouping == "record" and len(records) > 1:
            result = Normalised()
            for record in records:
                result.add(normalised_safely(container, [record]))
            return result
        if isinstance(error, RecursionError):
            detail = f"nested too deeply to be read as {container.name}"
            return Normalised(
                rejects=[reject(record, RejectReason.TOO_DEEP, detail, container.name) for record in records]
            )
        detail = f"reading it as {container.name} failed ({type(error).__name__}): a bug in that format's reader"
        return Normalised(
            rejects=[reject(record, RejectReason.ADAPTER_ERROR, detail, container.name) for record in records]
        )


def piece(record: SourceRecord, index: int, count: int, value: Any) -> SourceRecord:
    """The `index`-th of the `count` pieces of a record, with a place and a share of the bytes of its own."""
    if count == 1:
        return SourceRecord(
            value,
            record.uri,
            record.offset,
            record.size,
            record.issues,
            record.ordinal,
            record.excerpt,
            record.place,
        )
    share, rest = divmod(record.size, count)
    return SourceRecord(
        value,
        record.uri,
        record.offset,
        share + (rest if index == 0 else 0),
        record.issues,
        sub_ordinal(record.ordinal, index),
        record.excerpt,
        record.place,
    )


def sub_ordinal(ordinal: int, index: int) -> int:
    """The ordinal of the `index`-th thing that came of a record with `ordinal`: different for every pair."""
    return ordinal + (index << 32)


def in_order(records: Iterable[SourceRecord]) -> list[SourceRecord]:
    """Records sorted by where they stand, so that the order in which they arrived does not matter."""
    return sorted(records, key=lambda record: (record.uri, record.offset, record.ordinal))
