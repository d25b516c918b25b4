r"""Lines of JSON text in bounded chunks. Lines end at byte `\\n` alone: U+2028 and the like are text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

#: A chunk of lines is about this large, and becomes one block of trajectories.
CHUNK_BYTES = 8 * 2**20
#: Chunks of long lines are larger, so that a block has about `_CHUNK_LINES` trajectories: each block costs some milliseconds of its own.
LARGEST_CHUNK_BYTES = 16 * 2**20
_CHUNK_LINES = 4096
#: A file is cut into at least so many, or into chunks of `CHUNK_BYTES`: there must be enough for every core.
_FEWEST_CHUNKS = 32
_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class LineChunk:
    """Whole lines that stand one after another in a stream."""

    data: bytes
    offset: int
    """Where `data` begins in the decompressed stream."""
    reaches_end: bool = False
    """Whether the stream ends with `data` (its last line may then lack a newline)."""


@dataclass(frozen=True, slots=True)
class OversizeLine:
    """A line longer than the limit and than a chunk; only its head is kept."""

    head: bytes
    offset: int
    size: int


def chunk_bytes_for(file_bytes: int, line_bytes: int) -> int:
    """How large the chunks of a file of so many bytes should be whose lines have about `line_bytes` each."""
    wanted = min(line_bytes * _CHUNK_LINES, file_bytes // _FEWEST_CHUNKS)
    return max(CHUNK_BYTES, min(wanted, LARGEST_CHUNK_BYTES))


def lines_of_range(file: BinaryIO, start: int, end: int | None, max_line: int) -> Iterator[LineChunk | OversizeLine]:
    """The lines that begin in bytes `start` (inclusive) to `end` (exclusive; None: the end) of a seekable file.

    Ranges that cover a file give every line exactly once, wherever they are cut. A line over `max_line` bytes that fits in a chunk
    stays in it.
    """
    file.seek(max(start - 1, 0))
    if start > 0:
        skipped = _skip_line(file, start - 1, end)
        if skipped is None:
            return
        start = skipped
    if end is not None and 0 < end - start <= LARGEST_CHUNK_BYTES:
        file.seek(end - 1)  # where its last line ends is looked up first, for one read without a copy
        rest = file.readline(max_line + 1)
        file.seek(start)
        if len(rest) <= max_line or rest.endswith(b"\n"):
            data = file.read(end - 1 - start + len(rest))
            if data:
                yield LineChunk(data, start, reaches_end=not data.endswith(b"\n"))
            return
    yield from lines_of_stream(file, start, end, max_line)


def lines_of_stream(
    file: BinaryIO, offset: int, end: int | None, max_line: int, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[LineChunk | OversizeLine]:
    """The lines from the stream's place (which is `offset`, the start of a line) that begin before `end`, in chunks."""
    pending = bytearray()
    while end is None or offset < end:
        room = chunk_bytes if end is None else min(chunk_bytes, end - offset)
        try:
            while len(pending) < room:
                piece = read_some(file, max(min(_PIECE, room - len(pending)), 1))
                if not piece:
                    break
                pending += piece
        except Exception:  # damaged data: what came before it is whole
            kept = bytes(pending[: pending.rfind(b"\n") + 1])
            if kept:
                yield LineChunk(kept, offset)
            raise
        if not pending:
            return
        cut = pending.rfind(b"\n") + 1 if len(pending) >= room else len(pending)
        within = len(pending) >= room and end is not None and offset + len(pending) >= end
        if (within and cut < len(pending)) or (len(pending) >= room and cut == 0):
            # The last line goes on beyond the chunk: read on to its end.
            longer = _read_line_end(file, pending, cut, max_line)
            if longer is not None:
                if cut:
                    yield LineChunk(bytes(pending[:cut]), offset)
                yield OversizeLine(bytes(pending[cut : cut + 1024]), offset + cut, longer - cut)
                offset += longer
                pending.clear()
                continue
            cut = len(pending)
        data = bytes(pending[:cut])
        del pending[:cut]
        yield LineChunk(data, offset, reaches_end=not data.endswith(b"\n"))
        offset += len(data)


def read_some(file: BinaryIO, size: int) -> bytes:
    """At most `size` bytes, at least one unless the stream has ended. Of a damaged archive it gives all that comes before the damage."""
    read_once = getattr(file, "read1", None)
    return bytes(file.read(size) if read_once is None else read_once(size))


def _skip_line(file: BinaryIO, offset: int, end: int | None) -> int | None:
    """Read past the first newline from `offset`; where the next line begins, or None where that is not before `end`."""
    while end is None or offset < end:
        piece = file.read(64 * 1024)
        if not piece:
            return None
        found = piece.find(b"\n")
        if found >= 0:
            beginning = offset + found + 1
            if end is not None and beginning >= end:
                return None
            file.seek(beginning)
            return beginning
        offset += len(piece)
    return None


def _read_line_end(file: BinaryIO, pending: bytearray, line_start: int, max_line: int) -> int | None:
    """Extend `pending` to the end of its last line, and no further.

    A line over `max_line` bytes is read to its end but not kept; then its end is returned, counted from the start of `pending`.
    """
    length = len(pending)
    while True:
        piece = file.readline(_PIECE)
        length += len(piece)
        if length - line_start <= max_line:
            pending += piece
        if not piece or piece.endswith(b"\n"):
            return None if length - line_start <= max_line else length
