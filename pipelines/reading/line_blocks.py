"""From a chunk of JSON lines to a loaded block: simple records as whole Arrow columns, the others one by one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from graders.trajectory_batch import TrajectoryBatch
from pipelines.formats.container import Container, Normalised
from pipelines.reading.byte_scan import places_of_newlines
from pipelines.reading.fast_messages import FastMessages
from pipelines.reading.line_records import normalise_line, oversize_reject
from pipelines.reading.lines import LineChunk, OversizeLine
from pipelines.reading.loaded import LoadedBlock, RecordHashes
from schemas.reject import MAX_EXCERPT
from schemas.trajectory_batch import TRAJECTORY_BATCH, to_record_batch

#: Shorter runs of lines are not worth an Arrow parse of their own.
_SMALLEST_RUN = 48
#: Once more than this share of a chunk's lines has turned out not to be simple, the rest is read one by one.
_LARGEST_SLOW_SHARE = 0.25

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LineSpans:
    """Where the lines of a chunk begin and end (without their line ends); blank lines are left out."""

    starts: Offsets
    ends: Offsets
    simple: npt.NDArray[np.bool_]
    """Lines that begin with `{` and end with `}`: of such lines, a parser that reads values one after another reads one a line or fails."""
    oversize: npt.NDArray[np.bool_]


def load_lines(
    key: str, uri: str, chunk: LineChunk, container: Container, hash_seed: int, max_line: int = 2**31
) -> LoadedBlock:
    """Trajectories, rejects and counts of a chunk of lines whose records stand alone; a line over `max_line` bytes is a reject."""
    spans = find_lines(chunk.data, max_line)
    loader = _Loader(uri, chunk, container, spans)
    fast = FastMessages.for_lines(chunk.data, spans.starts, spans.ends, container)
    if fast is None:
        loader.slow(0, len(spans.starts))
    else:
        for first, last, simple in _runs(spans.simple):
            if simple:
                loader.fast(fast, first, last)
            else:
                loader.slow(first, last)
    return loader.finish(key, hash_seed)


def find_lines(data: bytes, max_line: int = 2**31) -> LineSpans:
    """The lines of a chunk that are not blank. Those over `max_line` bytes are not simple."""
    buffer = np.frombuffer(data, dtype=np.uint8)
    newlines = places_of_newlines(data).astype(np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), newlines + 1))
    ends = np.concatenate((newlines, np.array([len(data)], np.int64)))
    filled = ends > starts
    starts, ends = starts[filled], ends[filled]
    ends = ends - (buffer[ends - 1] == ord("\r"))
    filled = ends > starts
    starts, ends = starts[filled], ends[filled]
    simple = (buffer[starts] == ord("{")) & (buffer[ends - 1] == ord("}"))
    oversize = ends - starts > max_line
    return LineSpans(starts, ends, simple & ~oversize, oversize)


def line_hashes(data: bytes, starts: Offsets, ends: Offsets, seed: int) -> RecordHashes:
    """(lines, 2): a 128-bit hash of each line's bytes, keyed by `seed`."""
    digest = xxhash.xxh3_128_digest
    view = memoryview(data)
    joined = b"".join(
        [digest(view[start:end], seed) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    )
    return np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)


class _Loader:
    def __init__(self, uri: str, chunk: LineChunk, container: Container, spans: LineSpans) -> None:
        self.uri = uri
        self.chunk = chunk
        self.container = container
        self.spans = spans
        self.slow_lines = 0
        self.batches: list[pa.RecordBatch] = []
        self.line_of_row: list[npt.NDArray[np.int64]] = []
        self.normalised = Normalised()
        self.records = 0

    def fast(self, fast: FastMessages, first: int, last: int) -> None:
        """Lines `first` to `last` as Arrow columns; where that fails, halves of them, down to lines one by one."""
        count = last - first
        if count < max(_SMALLEST_RUN, 2) or self.slow_lines > _LARGEST_SLOW_SHARE * len(self.spans.starts):
            self.slow(first, last)
            return
        starts, ends = self.spans.starts[first:last], self.spans.ends[first:last]
        batch = fast.parse(self.chunk.data, starts, ends, self.uri, self.chunk.offset)
        if batch is None:
            middle = first + count // 2
            self.fast(fast, first, middle)
            self.fast(fast, middle, last)
            return
        self.batches.append(batch)
        self.line_of_row.append(np.arange(first, last))
        self.records += count

    def slow(self, first: int, last: int) -> None:
        """Lines `first` to `last` one by one."""
        self.slow_lines += last - first
        final = len(self.spans.starts) - 1
        rows: list[int] = []
        normalised = Normalised()
        for number in range(first, last):
            start, end = int(self.spans.starts[number]), int(self.spans.ends[number])
            if self.spans.oversize[number]:
                line = OversizeLine(
                    self.chunk.data[start : start + 4 * MAX_EXCERPT], self.chunk.offset + start, end - start
                )
                normalised.rejects.append(oversize_reject(self.uri, line, self.container))
                self.records += 1
                continue
            cut = number == final and self.chunk.reaches_end and end == len(self.chunk.data)
            before = len(normalised.trajectories)
            self.records += normalise_line(
                self.chunk.data[start:end], cut, self.uri, self.chunk.offset + start, self.container, normalised
            )
            rows.extend([number] * (len(normalised.trajectories) - before))
        if normalised.trajectories:
            self.batches.append(to_record_batch(normalised.trajectories))
            self.line_of_row.append(np.array(rows, dtype=np.int64))
        normalised.trajectories = []
        self.normalised.add(normalised)

    def finish(self, key: str, hash_seed: int) -> LoadedBlock:
        batch = one_batch(self.batches)
        hashes = line_hashes(self.chunk.data, self.spans.starts, self.spans.ends, hash_seed)
        lines = np.concatenate([*self.line_of_row, np.zeros(0, np.int64)])
        of_rows = hashes[lines]
        # Several trajectories of one line are no duplicates of each other.
        of_rows[:, 1] ^= (np.arange(len(lines)) - np.searchsorted(lines, lines)).astype(np.uint64)
        return LoadedBlock(
            key=key,
            uri=self.uri,
            offset=self.chunk.offset,
            batch=TrajectoryBatch(batch),
            rejects=self.normalised.rejects,
            records=self.records,
            bytes=len(self.chunk.data),
            record_hashes=of_rows,
            skipped=self.normalised.skipped,
        )


def one_batch(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Consecutive batches as one; an empty one where there are none."""
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return empty_batch()
    return pa.concat_batches(batches)


def empty_batch() -> pa.RecordBatch:
    """A batch of no trajectories."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in TRAJECTORY_BATCH], schema=TRAJECTORY_BATCH)


def _runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int, bool]]:
    """(first, past the last, flag) of each run of equal flags."""
    if not len(flags):
        return []
    edges = np.flatnonzero(np.diff(flags)) + 1
    bounds = [0, *edges.tolist(), len(flags)]
    return [(first, last, bool(flags[first])) for first, last in itertools.pairwise(bounds)]
