"""A block: the descriptor of a bounded slice of one input. It is what crosses shuffles, and what a retry or a resumed run repeats."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from pipelines.formats.container import Container
from pipelines.formats.transports.sniffing import Compression
from schemas.reject import RejectReason

BlockKind = Literal["lines", "documents", "array", "parquet", "csv", "zip", "bucket", "unreadable"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a spill file that holds the records of one bucket."""

    uri: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Block:
    """What to read and how."""

    uri: str
    kind: BlockKind
    container: Container | None
    compression: Compression = "none"
    encoding: Literal["utf-8", "utf-16"] = "utf-8"
    start: int = 0
    """First byte (lines), row group (Parquet) or bucket number."""
    end: int | None = None
    """Past the last byte or row group; None: to the end."""
    size: int = 0
    """Bytes of the source that it stands for (for the progress bar)."""
    segments: tuple[Segment, ...] = ()
    """Of a bucket: where its records lie."""
    problem: tuple[RejectReason, str] | None = None
    """Of an unreadable file: why."""

    @property
    def key(self) -> str:
        """Names the block in files: the same in every run over the same input."""
        digest = hashlib.blake2b(self.uri.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        return f"{digest}-{self.start:012x}"
