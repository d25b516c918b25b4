"""From staged parts to the files of the tables: linked as they are, merged where they are many and small, and without duplicates.

Everything here can be done twice: a file's name follows from its parts, and parts stay in staging until the commit stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines import storage
from pipelines.plan import RunPlan
from pipelines.writing.joined_file import JoinedFile
from pipelines.writing.parquet import parquet_bytes
from pipelines.writing.parts import BlockResult, Part
from schemas.manifest import TableFile
from schemas.tables import TABLES

#: Parts are merged where a table would have more files than this…
MOST_FILES = 256
#: …into files of about this size.
MERGED_BYTES = 128 * 2**20
#: A part of so many rows, or bytes, stays as it is in the merged file. Smaller ones are read and become row groups of about as many rows.
_GROUP_ROWS = 50_000
_GROUP_BYTES = 4 * 2**20
#: Tables in memory are written at this size at the latest.
_HELD_BYTES = 64 * 2**20
#: Hashes are compared in passes that hold about this many at once.
_HASHES_A_PASS = 50_000_000

RowNumbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PublishTask:
    """One file of a table: the parts that it is made of, in order, and which trajectories of each are duplicates."""

    table: str
    parts: tuple[Part, ...]
    trajectory_parts: tuple[Part | None, ...] = ()
    """For `scores` with duplicates: the part of `trajectories` that names the rows."""
    duplicates: tuple[RowNumbers | None, ...] = ()
    """Row numbers within the block's trajectories, or None where the part has none."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file in its table's folder, not yet committed."""

    table: str
    file: TableFile
    removed: dict[str, dict[str, int]] = field(default_factory=dict)
    """Grader → status → score rows that were dropped with duplicates."""
    duplicates: int = 0


def plan_tasks(plan: RunPlan, results: Sequence[BlockResult]) -> Iterator[PublishTask]:
    """What to publish, from one result a block, in order of source."""
    duplicates = find_duplicates(results) if plan.suite.input.duplicates == "skip" else {}
    for table in ("scores", "trajectories", "rejects"):
        having = [result for result in results if table in result.parts]
        merge = len(having) > MOST_FILES
        for group in _groups(having, table) if merge else ([result] for result in having):
            rows = tuple(duplicates.get(result.key) for result in group) if table != "rejects" else ()
            yield PublishTask(
                table,
                tuple(result.parts[table] for result in group),
                tuple(result.parts.get("trajectories") for result in group) if table == "scores" else (),
                rows if any(numbers is not None for numbers in rows) else (),
            )


def find_duplicates(results: Sequence[BlockResult]) -> dict[str, RowNumbers]:
    """Block key → rows of its trajectories whose record stood before, byte for byte, in order of source."""
    hashed = [result for result in results if result.hashes_uri is not None]
    total = sum(result.trajectories for result in hashed)
    passes = max(1, -(-total // _HASHES_A_PASS))
    found: dict[str, list[RowNumbers]] = {}
    for number in range(passes):
        for key, rows in _duplicates_in_pass(hashed, number, passes):
            found.setdefault(key, []).append(rows)
    return {key: np.sort(np.concatenate(rows)) for key, rows in found.items()}


def publish(plan: RunPlan, task: PublishTask) -> PublishedFile:
    """Put one file into its table's folder; returns it with what was dropped from it."""
    names = "\n".join(part.uri.replace("\\", "/").rsplit("/", 1)[-1] for part in task.parts)
    name = f"part-{hashlib.sha256(names.encode()).hexdigest()[:20]}.parquet"
    target = storage.join(plan.table_folder(task.table), name)
    path = f"{task.table}/run={plan.run_id}/{name}"
    if len(task.parts) == 1 and not task.duplicates:
        part = task.parts[0]
        storage.copy(part.uri, target)
        return PublishedFile(task.table, TableFile(path=path, rows=part.rows, bytes=part.bytes, sha256=part.sha256))
    removed: dict[str, dict[str, int]] = {}
    data = _merged(task, removed)
    storage.write_bytes(target, data)
    rows = sum(part.rows for part in task.parts) - sum(sum(counts.values()) for counts in removed.values())
    count = sum(len(rows) for rows in task.duplicates if rows is not None) if task.table == "trajectories" else 0
    file = TableFile(path=path, rows=rows, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    return PublishedFile(task.table, file, removed, count)


def _merged(task: PublishTask, removed: dict[str, dict[str, int]]) -> memoryview:
    """The parts of a task as one file, in order. Decoded parts take many times their size: no more of them are held than become a row group."""
    joined = JoinedFile()
    held: list[pa.Table] = []

    def write_held() -> None:
        if held:
            joined.add(parquet_bytes(pa.concat_tables(held)))
            held.clear()

    for number, part in enumerate(task.parts):
        has_duplicates = bool(task.duplicates) and task.duplicates[number] is not None
        if not has_duplicates and (part.rows >= _GROUP_ROWS or part.bytes >= _GROUP_BYTES):
            write_held()
            joined.add(memoryview(storage.read_bytes(part.uri)))
            continue
        held.append(_without_duplicates(task, number, removed))
        if sum(map(len, held)) >= _GROUP_ROWS or sum(table.nbytes for table in held) >= _HELD_BYTES:
            write_held()
    write_held()
    return joined.finished()


def _duplicates_in_pass(hashed: Sequence[BlockResult], number: int, passes: int) -> Iterator[tuple[str, RowNumbers]]:
    """Duplicates among the hashes whose first half falls to this pass."""
    repeated = _repeated_halves(hashed, number, passes)
    if not len(repeated):
        return
    hashes: list[npt.NDArray[np.uint64]] = []
    blocks: list[npt.NDArray[np.int32]] = []
    rows: list[RowNumbers] = []
    for place, own in enumerate(_hashes(hashed)):
        nearest = np.minimum(np.searchsorted(repeated, own[:, 0]), len(repeated) - 1)
        suspects = np.flatnonzero(repeated[nearest] == own[:, 0])
        hashes.append(own[suspects])
        blocks.append(np.full(len(suspects), place, dtype=np.int32))
        rows.append(suspects)
    together = np.concatenate(hashes)
    order = np.lexsort((np.arange(len(together)), together[:, 1], together[:, 0]))
    ordered = together[order]
    repeats = order[1:][(ordered[1:] == ordered[:-1]).all(axis=1)]
    block_of, row_of = np.concatenate(blocks)[repeats], np.concatenate(rows)[repeats]
    for place in np.unique(block_of).tolist():
        yield hashed[place].key, row_of[block_of == place]


def _repeated_halves(hashed: Sequence[BlockResult], number: int, passes: int) -> npt.NDArray[np.uint64]:
    """The first halves that occur more than once, sorted: in most logs few, and one sort of 8 bytes a record tells."""
    halves = [own[own[:, 0] % np.uint64(passes) == number, 0] for own in _hashes(hashed)]
    ordered = np.concatenate([np.zeros(0, np.uint64), *halves])
    del halves
    ordered.sort()
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _hashes(hashed: Sequence[BlockResult]) -> Iterator[npt.NDArray[np.uint64]]:
    """The hashes of each block: a row a record."""
    for content in storage.read_many([result.hashes_uri for result in hashed if result.hashes_uri is not None]):
        yield np.frombuffer(content, dtype=np.uint64).reshape(-1, 2)


def _groups(results: Sequence[BlockResult], table: str) -> Iterator[list[BlockResult]]:
    group: list[BlockResult] = []
    size = 0
    for result in results:
        group.append(result)
        size += result.parts[table].bytes
        if size >= MERGED_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _without_duplicates(task: PublishTask, number: int, removed: dict[str, dict[str, int]]) -> pa.Table:
    table = _read(task.parts[number].uri, task.table)
    rows = task.duplicates[number] if task.duplicates else None
    if rows is None:
        return table
    if task.table == "trajectories":
        words = table["parse_status"].to_numpy(zero_copy_only=False).copy()
        words[rows] = "duplicate"
        place = table.schema.get_field_index("parse_status")
        return table.set_column(place, table.schema.field(place), pa.array(words, pa.string()))
    trajectories = task.trajectory_parts[number]
    assert trajectories is not None
    uids = _read(trajectories.uri, "trajectories", ["trajectory_uid"])["trajectory_uid"].take(pa.array(rows))
    dropped = pc.is_in(table["trajectory_uid"], value_set=uids.combine_chunks())
    _count(table.filter(dropped), removed)
    return table.filter(pc.invert(dropped))


def _count(table: pa.Table, into: dict[str, dict[str, int]]) -> None:
    counts = table.group_by(["grader_name", "status"]).aggregate([([], "count_all")])
    for name, status, count in zip(*(column.to_pylist() for column in counts.columns), strict=True):
        of_grader = into.setdefault(name, {})
        of_grader[status] = of_grader.get(status, 0) + count


def _read(uri: str, table: str, columns: list[str] | None = None) -> pa.Table:
    with storage.open_read(uri) as file:
        read = pq.ParquetFile(file).read(columns=columns)
    return read if columns else read.cast(TABLES[table])


def total_removed(published: Iterable[PublishedFile]) -> dict[str, dict[str, int]]:
    """Grader → status → rows that all files together lost to duplicates."""
    total: dict[str, dict[str, int]] = {}
    for file in published:
        for grader, counts in file.removed.items():
            for status, count in counts.items():
                of_grader = total.setdefault(grader, {})
                of_grader[status] = of_grader.get(status, 0) + count
    return total
