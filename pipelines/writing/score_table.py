"""The long `scores` table of a block, from its trajectories and each grader's outcomes.

Rows of one trajectory stand together. Columns that repeat by trajectory or by grader are built as dictionary arrays (indices, no copied
text), which Parquet stores as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.configured import ConfiguredGrader
from graders.grade_batch import STATUSES, GradeBatch
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import SCHEMA_VERSION
from schemas.tables import SCORES, TRAJECTORY_COLUMNS

Indices = npt.NDArray[np.int32]

_STATUS_WORDS = pa.array([status.value for status in STATUSES])
_PASSED_BY_CODE = pa.array([True, False, None, None, None])
_DEFAULTS = {"attempts": 1, "cached": False}
#: Columns with few distinct values a block: worth a dictionary of their own.
_FEW_VALUES = frozenset({"source_uri", "group_id"})
_ROUNDING = 2**17


def score_table(
    batch: TrajectoryBatch,
    graders: Sequence[ConfiguredGrader],
    outcomes: Mapping[str, GradeBatch],
    run_id: str,
    graded_at: datetime,
) -> pa.Table:
    """One row a trajectory and grader with an outcome; columns of `schemas.tables.SCORES`, strings possibly as dictionaries."""
    parts = [outcomes[grader.name] for grader in graders]
    order = _Order(len(batch), parts)
    columns: dict[str, pa.Array] = {
        "schema_version": _constant(SCHEMA_VERSION, order.length, pa.int32()),
        "run_id": _repeated(pa.array([run_id]), np.zeros(order.length, np.int32)),
        "graded_at": _constant(graded_at, order.length, SCORES.field("graded_at").type),
    }
    for name in TRAJECTORY_COLUMNS:
        values = event_dates(batch) if name == "event_date" else batch.column(name)
        columns[name] = _repeated(values, order.trajectory, few=name in _FEW_VALUES)
    for name, words in (
        ("grader_name", [grader.name for grader in graders]),
        ("grader_type", [grader.type for grader in graders]),
        ("grader_hash", [grader.grader_hash for grader in graders]),
    ):
        columns[name] = _repeated(pa.array(words, pa.string()), order.grader, few=True)
    codes = order.interleave_numpy([part.status for part in parts]).astype(np.int32)
    columns["status"] = pa.DictionaryArray.from_arrays(pa.array(codes), _STATUS_WORDS)
    columns["passed"] = _PASSED_BY_CODE.take(pa.array(codes))
    columns["score"] = order.interleave([part.score for part in parts], pa.float64())
    for field in SCORES:
        if field.name not in columns:
            columns[field.name] = _outcome_column(field, parts, order)
    return pa.table([columns[name] for name in SCORES.names], names=SCORES.names)


def event_dates(batch: TrajectoryBatch) -> pa.Date32Array:
    """The UTC date of each trajectory's event time."""
    return pc.cast(batch.column("event_time"), pa.date32())


class _Order:
    """How rows grouped by grader come to stand by trajectory."""

    def __init__(self, trajectories: int, parts: Sequence[GradeBatch]) -> None:
        self.full = all(part.rows is None for part in parts)
        self.parts = len(parts)
        if self.full:
            self.length = trajectories * self.parts
            self.trajectory = np.repeat(np.arange(trajectories, dtype=np.int32), self.parts)
            self.grader = np.tile(np.arange(self.parts, dtype=np.int32), trajectories)
            positions = np.arange(self.length, dtype=np.int32).reshape(self.parts, trajectories)
            self.take: Indices = np.ascontiguousarray(positions.T).ravel() if self.parts else positions.ravel()
        else:
            rows = [np.arange(trajectories, dtype=np.int64) if part.rows is None else part.rows for part in parts]
            trajectory = np.concatenate(rows).astype(np.int32)
            grader = np.repeat(np.arange(self.parts, dtype=np.int32), [len(each) for each in rows])
            self.take = np.argsort(trajectory, kind="stable").astype(np.int32)
            self.length = len(trajectory)
            self.trajectory = trajectory[self.take]
            self.grader = grader[self.take]

    def interleave_numpy(self, arrays: Sequence[npt.NDArray[np.int8]]) -> npt.NDArray[np.int8]:
        if self.full and arrays:
            return np.ascontiguousarray(np.stack(arrays, axis=1)).ravel()
        return np.concatenate([*arrays, np.zeros(0, np.int8)])[self.take]

    def interleave(self, arrays: Sequence[pa.Array], arrow_type: pa.DataType) -> pa.Array:
        if not arrays:
            return pa.nulls(0, arrow_type)
        return pa.concat_arrays(arrays).take(pa.array(self.take))


def _outcome_column(field: pa.Field, parts: Sequence[GradeBatch], order: _Order) -> pa.Array:
    default = _DEFAULTS.get(field.name)
    if not any(field.name in part.columns for part in parts):
        return _constant(default, order.length, field.type)
    arrays = [_or_default(part, field, default) for part in parts]
    if pa.types.is_string(field.type):
        return _interleaved_words(arrays, order)
    return order.interleave([array.cast(field.type) for array in arrays], field.type)


def _interleaved_words(arrays: Sequence[pa.Array], order: _Order) -> pa.Array:
    """Strings of all graders as one dictionary array: few distinct explanations are never copied a row at a time."""
    words: list[pa.Array] = []
    indices: list[pa.Array] = []
    base = 0
    for array in arrays:
        encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
        words.append(encoded.dictionary.cast(pa.string()))
        indices.append(pc.add(encoded.indices.cast(pa.int32()), base))
        base += len(encoded.dictionary)
    return pa.DictionaryArray.from_arrays(order.interleave(indices, pa.int32()), pa.concat_arrays(words))


def _or_default(part: GradeBatch, field: pa.Field, default: object) -> pa.Array:
    if field.name in part.columns or default is None:
        return part.column(field.name)
    return _constant(default, len(part), field.type)


def _constant(value: object, length: int, arrow_type: pa.DataType) -> pa.Array:
    if value is None:
        return _nulls(length, arrow_type)
    if pa.types.is_boolean(arrow_type) or pa.types.is_integer(arrow_type):
        return _constants(value, arrow_type, _rounded(length)).slice(0, length)
    return pa.repeat(pa.scalar(value, arrow_type), length)


def _nulls(length: int, arrow_type: pa.DataType) -> pa.Array:
    return _constants(None, arrow_type, _rounded(length)).slice(0, length)


@lru_cache(maxsize=64)
def _constants(value: object, arrow_type: pa.DataType, length: int) -> pa.Array:
    """Columns that say the same in every row are made once and shared by the blocks of a process."""
    return pa.nulls(length, arrow_type) if value is None else pa.repeat(pa.scalar(value, arrow_type), length)


def _rounded(length: int) -> int:
    return -(-length // _ROUNDING) * _ROUNDING


def _repeated(values: pa.Array, indices: Indices, few: bool = False) -> pa.Array:
    if values.null_count == len(values):
        return _nulls(len(indices), values.type)
    if few:
        encoded = values.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.take(pa.array(indices)), encoded.dictionary)
    if not pa.types.is_string(values.type):
        return values.take(pa.array(indices))
    if values.null_count == 0:
        return pa.DictionaryArray.from_arrays(pa.array(indices), values)
    # Parquet takes no nulls inside a dictionary, only among the indices.
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    renumbered = (np.cumsum(valid) - 1).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(renumbered[indices], mask=~valid[indices]), values.drop_null())
