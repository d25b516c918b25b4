"""What a run used and did, as numbers a batch: from the metrics that the log carries, else counted from the trajectory.

Every function gives one double a row; NaN means that the log does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from graders.trajectory_batch import TrajectoryBatch
from schemas.trajectory import NOT_OWN_WORDS

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def extra_of(extra_json: str | None) -> dict[str, Any]:
    """The record's extra fields as an object; empty where there are none."""
    if not extra_json:
        return {}
    try:
        value = orjson.loads(extra_json)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def logged_metrics(batch: TrajectoryBatch, *paths: tuple[str, ...]) -> Doubles:
    """The first of `paths` inside `metrics` that leads to a number, row by row (`("tokenUsage", "totalTokens")`)."""
    values = np.full(len(batch), np.nan)
    column = batch.column("extra_json")
    if column.null_count == len(column):
        return values
    carrying = pc.fill_null(pc.match_substring(column, '"metrics"'), False).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(carrying).tolist():
        metrics = extra_of(column[row].as_py()).get("metrics")
        for path in paths:
            number = _number_at(metrics, path)
            if number is not None:
                values[row] = number
                break
    return values


def column_as_doubles(batch: TrajectoryBatch, name: str) -> Doubles:
    """A numeric column, NaN for null."""
    return _doubles(pc.cast(batch.column(name), pa.float64()))


def first_known(*candidates: Doubles) -> Doubles:
    """Row by row the first value that is known."""
    result = candidates[0]
    for other in candidates[1:]:
        result = np.where(np.isnan(result), other, result)
    return result


def has_record(batch: TrajectoryBatch) -> Flags:
    """Whether a row carries any messages, tool calls or events: where none are, nothing can be counted."""
    return (
        (lengths(batch.column("messages")) > 0)
        | (lengths(batch.column("tool_calls")) > 0)
        | (lengths(batch.column("events")) > 0)
    )


def lengths(column: pa.ListArray) -> npt.NDArray[np.int64]:
    """The length of every list, 0 for null."""
    counted = pc.fill_null(pc.list_value_length(column), 0)
    return np.asarray(counted.to_numpy(zero_copy_only=False), dtype=np.int64)


def parents(column: pa.ListArray) -> npt.NDArray[np.int64]:
    """For each item of the flattened column, the row that it belongs to."""
    return np.repeat(np.arange(len(column), dtype=np.int64), lengths(column))


def count_items(column: pa.ListArray, wanted: pa.BooleanArray) -> Doubles:
    """How many items of each row are wanted; `wanted` has one entry an item of the flattened column."""
    keep = pc.fill_null(wanted, False).to_numpy(zero_copy_only=False)
    return np.bincount(parents(column)[keep], minlength=len(column)).astype(np.float64)


def own_messages(batch: TrajectoryBatch, role: str) -> Doubles:
    """How many messages of a role were said in this run; NaN where the row has no messages at all."""
    messages = batch.column("messages")
    flat = messages.flatten()
    if len(flat) == 0:
        return np.full(len(batch), np.nan)
    wanted = pc.equal(flat.field("role"), role)
    flags = flat.field("flags")
    if len(flags.flatten()):
        foreign = pc.is_in(flags.flatten(), value_set=pa.array(sorted(NOT_OWN_WORDS)))
        own = np.ones(len(flat), dtype=bool)
        own[np.asarray(pc.list_parent_indices(flags))[foreign.to_numpy(zero_copy_only=False)]] = False
        wanted = pc.and_(wanted, pa.array(own))
    counts = count_items(messages, wanted)
    counts[lengths(messages) == 0] = np.nan
    return counts


def error_events(batch: TrajectoryBatch) -> Doubles:
    """How many events of type `error` each row has."""
    events = batch.column("events")
    flat = events.flatten()
    if len(flat) == 0:
        return np.zeros(len(batch))
    return count_items(events, pc.equal(flat.field("type"), "error"))


def tool_outcomes(batch: TrajectoryBatch) -> tuple[Doubles, Doubles]:
    """(tool results that failed, tool results of which the log does not say), row by row."""
    results = batch.column("tool_results")
    flat = results.flatten()
    if len(flat) == 0:
        return np.zeros(len(batch)), np.zeros(len(batch))
    failed = flat.field("is_error")
    return count_items(results, failed), count_items(results, pc.is_null(failed))


def _doubles(column: pa.DoubleArray) -> Doubles:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _number_at(metrics: Any, path: Sequence[str]) -> float | None:
    for key in path:
        if not isinstance(metrics, dict):
            return None
        metrics = metrics.get(key)
    if isinstance(metrics, bool) or not isinstance(metrics, (int, float)):
        return None
    return float(metrics)
