"""Parts: the immutable files that one graded block leaves in staging, and the marker that says they are all there.

The marker is written last. A block without one is read again; a block with one is reused by a rerun.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

import numpy as np
import orjson
import pyarrow as pa

from graders.configured import ConfiguredGrader
from graders.grade_batch import STATUSES, GradeBatch
from pipelines import storage
from pipelines.reading.loaded import LoadedBlock
from pipelines.writing.parquet import parquet_bytes
from pipelines.writing.score_table import score_table
from pipelines.writing.trajectory_table import reject_table, trajectory_table

MARKER_SUFFIX = ".done.json"


@dataclass(frozen=True, slots=True)
class Part:
    """One staged Parquet file."""

    uri: str
    rows: int
    bytes: int
    sha256: str


@dataclass(slots=True)
class BlockResult:
    """What one block left behind: its parts and its share of every count in the manifest."""

    key: str
    parts: dict[str, Part]
    """By table; a table without rows of this block has no part."""
    hashes_uri: str | None
    """Record hashes (16 bytes a row of `trajectories` part that is no reject), or None where nothing can be a duplicate."""
    source_uri: str
    source_offset: int
    records: int
    bytes: int
    trajectories: int
    rejects: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, dict[str, int]] = field(default_factory=dict)
    """Grader → status → rows."""
    grader_us: dict[str, int] = field(default_factory=dict)
    judge_calls: int = 0
    cost_nano_usd: int = 0


def write_parts(
    staging: str,
    loaded: LoadedBlock,
    graders: Sequence[ConfiguredGrader],
    outcomes: Mapping[str, GradeBatch],
    grader_us: Mapping[str, int],
    run_id: str,
) -> BlockResult:
    """Write a graded block's parts and, last, its marker. Executing a block twice leaves two sets under different names."""
    stem = f"{loaded.key}-{uuid.uuid4().hex[:12]}"
    tables = {
        "scores": score_table(loaded.batch, graders, outcomes, run_id, datetime.now(timezone.utc)),
        "trajectories": trajectory_table(loaded.batch, loaded.rejects, run_id),
        "rejects": reject_table(loaded.rejects, run_id),
    }
    result = BlockResult(
        key=loaded.key,
        parts={name: write_part(staging, f"{name}-{stem}", table) for name, table in tables.items() if len(table)},
        hashes_uri=_write_hashes(staging, stem, loaded),
        source_uri=loaded.uri,
        source_offset=loaded.offset,
        records=loaded.records,
        bytes=loaded.bytes,
        trajectories=len(loaded.batch),
        rejects=dict(Counter(reject.reason.value for reject in loaded.rejects)),
        skipped=dict(loaded.skipped),
        formats=_counts(loaded.batch.column("source_format")),
        statuses={name: _status_counts(outcomes[name].status) for name in (grader.name for grader in graders)},
        grader_us=dict(grader_us),
        judge_calls=_judge_calls(outcomes),
        cost_nano_usd=_cost(outcomes),
    )
    storage.write_bytes(storage.join(staging, stem + MARKER_SUFFIX), orjson.dumps(result))
    return result


def write_part(folder: str, stem: str, table: pa.Table) -> Part:
    """Write one table as one Parquet file."""
    data = parquet_bytes(table)
    uri = storage.join(folder, f"{stem}.parquet")
    storage.write_bytes(uri, data)
    return Part(uri, len(table), len(data), hashlib.sha256(data).hexdigest())


def read_marker(uri: str) -> BlockResult:
    """A marker's content."""
    values = orjson.loads(storage.read_bytes(uri))
    values["parts"] = {name: Part(**part) for name, part in values["parts"].items()}
    return BlockResult(**values)


def complete_blocks(staging: str) -> dict[str, str]:
    """Marker URI by key of every block that an earlier execution of the run finished (one of several, always the same one)."""
    found: dict[str, str] = {}
    for file in storage.list_folder(staging):
        name = file.uri.replace("\\", "/").rsplit("/", 1)[-1]
        if name.endswith(MARKER_SUFFIX):
            found.setdefault(name.removesuffix(MARKER_SUFFIX).rsplit("-", 1)[0], file.uri)
    return found


def _write_hashes(staging: str, stem: str, loaded: LoadedBlock) -> str | None:
    if loaded.record_hashes is None or not len(loaded.batch):
        return None
    uri = storage.join(staging, f"{stem}.hashes")
    storage.write_bytes(uri, np.ascontiguousarray(loaded.record_hashes).tobytes())
    return uri


def _counts(column: pa.StringArray) -> dict[str, int]:
    return {item["values"]: item["counts"] for item in column.value_counts().to_pylist()}


def _status_counts(codes: np.ndarray[tuple[int], np.dtype[np.int8]]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(STATUSES)).tolist()
    return {status.value: count for status, count in zip(STATUSES, counts, strict=True) if count}


def _judge_calls(outcomes: Mapping[str, GradeBatch]) -> int:
    calls = 0
    for outcome in outcomes.values():
        if "judge_route" in outcome.columns:
            asked = outcome.column("judge_route").is_valid().to_numpy(zero_copy_only=False)
            cached = outcome.column("cached").fill_null(False).to_numpy(zero_copy_only=False)
            attempts = outcome.column("attempts").fill_null(0).to_numpy(zero_copy_only=False)
            calls += int(attempts[asked & ~cached].sum())
    return calls


def _cost(outcomes: Mapping[str, GradeBatch]) -> int:
    total = 0
    for outcome in outcomes.values():
        if "cost_usd" in outcome.columns:
            total += sum(int(cost.scaleb(9)) for cost in outcome.column("cost_usd").to_pylist() if cost is not None)
    return total
