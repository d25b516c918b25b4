"""The `trajectories` and `rejects` tables of a block: the denominator, one row a trajectory, duplicate or reject."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graders.trajectory_batch import TrajectoryBatch
from pipelines.identity import trajectory_uid
from pipelines.writing.score_table import event_dates
from schemas.reject import Reject
from schemas.score import SCHEMA_VERSION
from schemas.tables import REJECTS, TRAJECTORIES
from schemas.text import storable

_FROM_BATCH = (
    "trajectory_uid",
    "trajectory_id",
    "group_id",
    "parent_id",
    "source_uri",
    "source_offset",
    "source_format",
    "event_time",
    "model",
    "agent",
    "outcome",
    "bytes",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cost_usd",
    "latency_ms",
    "issues",
    "metadata",
)
#: Of these a block has few distinct ones, as words of a dictionary.
_FEW_VALUES = ("source_uri", "source_format", "event_time", "model", "agent", "outcome", "bytes")


def trajectory_table(batch: TrajectoryBatch, rejects: Sequence[Reject], run_id: str) -> pa.Table:
    """Trajectories in order (`parse_status` ok), then rejects (`rejected`); columns of `TRAJECTORIES`, some possibly as dictionaries."""
    count = len(batch)
    columns: dict[str, pa.Array] = {name: batch.column(name) for name in _FROM_BATCH}
    for name in _FEW_VALUES:
        if columns[name].null_count < count:
            columns[name] = columns[name].dictionary_encode()
    columns["event_date"] = event_dates(batch)
    columns["parse_status"] = _same_text("ok", count)
    columns["message_count"] = _lengths(batch.column("messages"))
    columns["tool_call_count"] = _lengths(batch.column("tool_calls"))
    columns["tool_error_count"] = _tool_errors(batch.column("tool_results"))
    columns["turn_count"] = pc.coalesce(batch.column("turn_count"), _user_messages(batch))
    columns["schema_version"] = pa.repeat(pa.scalar(SCHEMA_VERSION, pa.int32()), count)
    columns["run_id"] = _same_text(run_id, count)
    graded = pa.table([columns[name] for name in TRAJECTORIES.names], names=TRAJECTORIES.names)
    return pa.concat_tables([graded.cast(TRAJECTORIES), _rejected_rows(rejects, run_id)]) if rejects else graded


def reject_table(rejects: Sequence[Reject], run_id: str) -> pa.Table:
    """The rejects of a block, in order."""
    return pa.Table.from_pylist(
        [
            {
                "schema_version": SCHEMA_VERSION,
                "run_id": run_id,
                "source_uri": reject.source_uri,
                "source_offset": reject.source_offset,
                "source_format": reject.source_format,
                "reason": reject.reason.value,
                "detail": storable(reject.detail),
                "excerpt": storable(reject.excerpt),
                "bytes": reject.bytes,
            }
            for reject in rejects
        ],
        schema=REJECTS,
    )


def _rejected_rows(rejects: Sequence[Reject], run_id: str) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "schema_version": SCHEMA_VERSION,
                "run_id": run_id,
                "trajectory_uid": trajectory_uid(reject.source_uri, reject.source_offset, reject.ordinal),
                "trajectory_id": f"{reject.source_uri}#{reject.source_offset}",
                "source_uri": reject.source_uri,
                "source_offset": reject.source_offset,
                "source_format": reject.source_format,
                "parse_status": "rejected",
                "bytes": reject.bytes,
                "issues": [reject.reason.value],
            }
            for reject in rejects
        ],
        schema=TRAJECTORIES,
    )


def _lengths(lists: pa.ListArray) -> pa.Int32Array:
    return pc.fill_null(pc.list_value_length(lists), 0)


def _count_in_lists(lists: pa.ListArray, wanted: pa.BooleanArray) -> pa.Int32Array:
    """How many items of each list are wanted; `wanted` is of the flattened items."""
    parents = pc.list_parent_indices(lists).filter(pc.fill_null(wanted, False)).to_numpy()
    return pa.array(np.bincount(parents, minlength=len(lists)).astype(np.int32))


def _user_messages(batch: TrajectoryBatch) -> pa.Int32Array:
    rows = batch.places_of_role("user").rows
    return pa.array(np.bincount(rows, minlength=len(batch)).astype(np.int32))


def _tool_errors(tool_results: pa.ListArray) -> pa.Int32Array:
    return _count_in_lists(tool_results, tool_results.flatten().field("is_error"))


def _same_text(text: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([text]), safe=False)
