"""Trajectories as one Arrow RecordBatch: the form in which blocks travel from reading to grading.

`to_record_batch` and `from_record_batch` convert between the batch and `schemas.trajectory.Trajectory` without loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from schemas.tables import MONEY, TIMESTAMP
from schemas.trajectory import Event, Message, ToolCall, ToolResult, Trajectory, Usage

MESSAGE = pa.struct(
    [
        ("role", pa.string()),
        ("text", pa.string()),
        ("name", pa.string()),
        ("tool_call_id", pa.string()),
        ("is_error", pa.bool_()),
        ("flags", pa.list_(pa.string())),
    ]
)
TOOL_CALL = pa.struct(
    [("name", pa.string()), ("arguments_raw", pa.string()), ("id", pa.string()), ("message_index", pa.int32())]
)
TOOL_RESULT = pa.struct(
    [
        ("text", pa.string()),
        ("tool_call_id", pa.string()),
        ("name", pa.string()),
        ("is_error", pa.bool_()),
        ("message_index", pa.int32()),
    ]
)
EVENT = pa.struct([("type", pa.string()), ("name", pa.string()), ("text", pa.string()), ("data_json", pa.string())])
USAGE_FIELDS = (
    ("input_tokens", pa.int64()),
    ("output_tokens", pa.int64()),
    ("cached_input_tokens", pa.int64()),
    ("reasoning_tokens", pa.int64()),
    ("cost_usd", MONEY),
    ("latency_ms", pa.int64()),
)

TRAJECTORY_BATCH = pa.schema(
    [
        ("trajectory_uid", pa.string()),
        ("trajectory_id", pa.string()),
        ("group_id", pa.string()),
        ("parent_id", pa.string()),
        ("source_uri", pa.string()),
        ("source_offset", pa.int64()),
        ("source_format", pa.string()),
        ("event_time", TIMESTAMP),
        ("input", pa.string()),
        ("output", pa.string()),
        ("output_rule", pa.string()),
        ("reference", pa.string()),
        ("messages", pa.list_(MESSAGE)),
        ("tool_calls", pa.list_(TOOL_CALL)),
        ("tool_results", pa.list_(TOOL_RESULT)),
        ("events", pa.list_(EVENT)),
        *USAGE_FIELDS,
        ("model", pa.string()),
        ("agent", pa.string()),
        ("outcome", pa.string()),
        ("native_scores_json", pa.string()),
        ("extra_json", pa.string()),
        ("metadata", pa.map_(pa.string(), pa.string())),
        ("issues", pa.list_(pa.string())),
        ("bytes", pa.int64()),
        ("turn_count", pa.int32()),
    ]
)

_NESTED: dict[str, tuple[type, pa.StructType]] = {
    "messages": (Message, MESSAGE),
    "tool_calls": (ToolCall, TOOL_CALL),
    "tool_results": (ToolResult, TOOL_RESULT),
    "events": (Event, EVENT),
}
_USAGE_NAMES = tuple(name for name, _ in USAGE_FIELDS)


def to_record_batch(trajectories: Sequence[Trajectory]) -> pa.RecordBatch:
    """One row a trajectory, in order, with the schema `TRAJECTORY_BATCH`."""
    columns: list[pa.Array] = []
    for name in TRAJECTORY_BATCH.names:
        arrow_type = TRAJECTORY_BATCH.field(name).type
        if name in _NESTED:
            columns.append(_structs([getattr(t, name) for t in trajectories], _NESTED[name][1]))
        elif name in _USAGE_NAMES:
            columns.append(pa.array(list(map(attrgetter(f"usage.{name}"), trajectories)), arrow_type))
        elif name == "metadata":
            columns.append(_maps([t.metadata.items() for t in trajectories], arrow_type))
        else:
            columns.append(pa.array(list(map(attrgetter(name), trajectories)), arrow_type))
    return pa.RecordBatch.from_arrays(columns, schema=TRAJECTORY_BATCH)


def from_record_batch(batch: pa.RecordBatch) -> list[Trajectory]:
    """The rows of a batch as trajectories, in order."""
    columns: dict[str, list[Any]] = {}
    for name in batch.schema.names:
        if name in _NESTED:
            columns[name] = _objects(batch.column(name), _NESTED[name][0])
        else:
            columns[name] = batch.column(name).to_pylist()
    usages = [Usage(*values) for values in zip(*(columns.pop(name) for name in _USAGE_NAMES), strict=True)]
    columns["metadata"] = [dict(pairs or ()) for pairs in columns["metadata"]]
    columns["issues"] = [tuple(issues or ()) for issues in columns["issues"]]
    names = list(columns)
    return [
        Trajectory(usage=usage, **dict(zip(names, values, strict=True)))
        for usage, values in zip(usages, zip(*columns.values(), strict=True), strict=True)
    ]


def _structs(rows: Sequence[Sequence[Any]], struct: pa.StructType) -> pa.ListArray:
    """Lists of record objects as list<struct>, column by column (a tenth of the time of a list of dicts)."""
    flat = [item for row in rows for item in row]
    children = [
        pa.array(list(map(attrgetter(struct.field(i).name), flat)), struct.field(i).type)
        for i in range(struct.num_fields)
    ]
    return pa.ListArray.from_arrays(
        _offsets(len(row) for row in rows), pa.StructArray.from_arrays(children, fields=list(struct))
    )


def _maps(rows: Sequence[Iterable[tuple[str, str]]], arrow_type: pa.MapType) -> pa.MapArray:
    pairs = [list(row) for row in rows]
    flat = [pair for row in pairs for pair in row]
    return pa.MapArray.from_arrays(
        _offsets(len(row) for row in pairs),
        pa.array([key for key, _ in flat], pa.string()),
        pa.array([value for _, value in flat], pa.string()),
        arrow_type,
    )


def _offsets(lengths: Iterable[int]) -> pa.Int32Array:
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    return pa.array(offsets, pa.int32())


def _objects(column: pa.ListArray, cls: type) -> list[tuple[Any, ...]]:
    flat = column.flatten()
    children = [flat.field(i).to_pylist() for i in range(flat.type.num_fields)]
    names = [flat.type.field(i).name for i in range(flat.type.num_fields)]
    if cls is Message:
        flags = names.index("flags")
        children[flags] = [tuple(value or ()) for value in children[flags]]
    objects = [cls(**dict(zip(names, values, strict=True))) for values in zip(*children, strict=True)]
    rows = []
    position = 0
    for length in column.value_lengths().to_pylist():
        rows.append(tuple(objects[position : position + (length or 0)]))
        position += length or 0
    return rows
