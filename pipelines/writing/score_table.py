"""The long `scores` table of a block, from its trajectories and each grader's outcomes.

Rows of one trajectory stand together. Columns that repeat by trajectory or by grader are built as dictionary arrays (indices, no copied
text), which Parquet stores as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.configured import ConfiguredGrader
from graders.grade_batch import FAIL, PASS, STATUSES, GradeBatch
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import SCHEMA_VERSION
from schemas.tables import SCORES, TRAJECTORY_COLUMNS

_Number = TypeVar("_Number", bound=np.generic)

_STATUS_WORDS = pa.array([status.value for status in STATUSES])
_DEFAULTS = {"attempts": 1, "cached": False}
_NUMBER_TYPES: dict[pa.DataType, type[np.generic]] = {
    pa.float64(): np.float64,
    pa.int64(): np.int64,
    pa.int32(): np.int32,
}
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
        "run_id": _same_text(run_id, order.length),
        "graded_at": _constant(graded_at, order.length, SCORES.field("graded_at").type),
    }
    for name in TRAJECTORY_COLUMNS:
        values = event_dates(batch) if name == "event_date" else batch.column(name)
        columns[name] = _by_trajectory(values, order, distinct=name == "trajectory_uid")
    for name, words in (
        ("grader_name", [grader.name for grader in graders]),
        ("grader_type", [grader.type for grader in graders]),
        ("grader_hash", [grader.grader_hash for grader in graders]),
    ):
        columns[name] = _by_grader(words, order)
    codes = order.interleave([part.status for part in parts], np.int8)
    columns["status"] = _dictionary(pa.array(codes), _STATUS_WORDS)
    undecided = codes > FAIL
    columns["passed"] = pa.array(codes == PASS, mask=undecided if undecided.any() else None)
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
        self.trajectories = trajectories
        self.parts = len(parts)
        self.length = trajectories * self.parts if self.full else sum(map(len, parts))
        if not self.full:
            rows = [np.arange(trajectories, dtype=np.int64) if part.rows is None else part.rows for part in parts]
            trajectory = np.concatenate(rows)
            grader = np.repeat(np.arange(self.parts), [len(each) for each in rows])
            self.take = np.argsort(trajectory, kind="stable")
            self.trajectory = trajectory[self.take]
            self.grader = grader[self.take]

    def by_trajectory(self, values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Values of the trajectories, at each of their rows."""
        return np.repeat(values, self.parts) if self.full else values[self.trajectory]

    def by_grader(self, values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Values of the graders, at each of their rows."""
        return np.tile(values, self.trajectories) if self.full else values[self.grader]

    def interleave(self, arrays: Sequence[npt.NDArray[Any]], dtype: type[_Number]) -> npt.NDArray[_Number]:
        """Values of each grader's outcomes, at their rows."""
        if not self.full:
            return np.concatenate([*arrays, np.zeros(0, dtype)], dtype=dtype)[self.take]
        together = np.empty((self.trajectories, self.parts), dtype)
        for number, array in enumerate(arrays):
            together[:, number] = array
        return together.ravel()

    def interleave_arrow(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """The same of columns that NumPy has no type for."""
        place = np.arange(self.length, dtype=np.int64)
        take = place.reshape(self.parts, self.trajectories).T.ravel() if self.full else self.take
        return pa.concat_arrays(arrays).take(pa.array(take))


def _outcome_column(field: pa.Field, parts: Sequence[GradeBatch], order: _Order) -> pa.Array:
    default = _DEFAULTS.get(field.name)
    given = [part.score if field.name == "score" else part.columns.get(field.name) for part in parts]
    if all(column is None for column in given):
        return _constant(default, order.length, field.type)
    if pa.types.is_string(field.type):
        return _interleaved_words(given, parts, order)
    arrays = [
        _constant(default, len(part), field.type) if column is None else column
        for part, column in zip(parts, given, strict=True)
    ]
    if pa.types.is_floating(field.type) or pa.types.is_integer(field.type):
        numbers = order.interleave([_filled(array) for array in arrays], _NUMBER_TYPES[field.type])
        return pa.array(numbers, field.type, mask=_nulls_among(arrays, order))
    return order.interleave_arrow([array.cast(field.type) for array in arrays])


def _interleaved_words(given: Sequence[pa.Array | None], parts: Sequence[GradeBatch], order: _Order) -> pa.Array:
    """Strings of all graders as one dictionary array: few distinct explanations are never copied a row at a time."""
    words: list[pa.Array] = []
    codes: list[npt.NDArray[Any]] = []
    indices: list[pa.Array] = []
    base = 0
    for column, part in zip(given, parts, strict=True):
        if column is None:
            indices.append(_nulls(len(part), pa.int32()))
            codes.append(np.zeros(len(part), np.int32))
            continue
        encoded = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
        words.append(encoded.dictionary.cast(pa.string()))
        indices.append(encoded.indices)
        codes.append(_filled(encoded.indices) + np.int32(base))
        base += len(encoded.dictionary)
    distinct = pa.concat_arrays(words).dictionary_encode()
    numbers = distinct.indices.to_numpy()
    if not len(numbers):
        return _nulls(order.length, pa.string())
    dtype = np.int8 if len(distinct.dictionary) <= 128 else np.int32
    together = order.interleave([numbers.astype(dtype)[each] for each in codes], dtype)
    return _dictionary(pa.array(together, mask=_nulls_among(indices, order)), distinct.dictionary)


def _filled(array: pa.Array) -> npt.NDArray[Any]:
    """Numbers, zero for null."""
    return np.asarray((array if array.null_count == 0 else array.fill_null(0)).to_numpy())


def _nulls_among(arrays: Sequence[pa.Array], order: _Order) -> npt.NDArray[np.bool_] | None:
    if all(array.null_count == 0 for array in arrays):
        return None
    return order.interleave([_is_null(array) for array in arrays], np.bool_)


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


def _same_text(text: str, length: int) -> pa.DictionaryArray:
    return _dictionary(_constants(0, pa.int8(), _rounded(length)).slice(0, length), pa.array([text]))


def _by_grader(words: Sequence[str], order: _Order) -> pa.DictionaryArray:
    encoded = pa.array(words, pa.string()).dictionary_encode()
    dtype = np.int8 if len(words) <= 128 else np.int32
    codes = order.by_grader(encoded.indices.to_numpy().astype(dtype))
    return _dictionary(pa.array(codes), encoded.dictionary)


def _by_trajectory(values: pa.Array, order: _Order, distinct: bool) -> pa.Array:
    if values.null_count == len(values):
        return _nulls(order.length, values.type)
    if distinct:
        codes = order.by_trajectory(np.arange(len(values), dtype=np.int32))
        return _dictionary(pa.array(codes), values)
    encoded = values.dictionary_encode()
    if len(encoded.dictionary) == 1 and values.null_count == 0:
        zeros = _constants(0, pa.int8(), _rounded(order.length)).slice(0, order.length)
        return _dictionary(zeros, encoded.dictionary)
    mask = order.by_trajectory(_is_null(encoded.indices)) if values.null_count else None
    codes = order.by_trajectory(_filled(encoded.indices))
    return _dictionary(pa.array(codes, mask=mask), encoded.dictionary)


def _is_null(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False))


def _dictionary(codes: pa.Array, words: pa.Array) -> pa.DictionaryArray:
    """Codes made here are known to be places in the words: they are not looked through again."""
    return pa.DictionaryArray.from_arrays(codes, words, safe=False)
