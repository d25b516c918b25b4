"""The outcomes of one grader over a batch, column by column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from graders.trajectory_batch import Rows
from schemas.score import MAX_EVIDENCE, MAX_EXPLANATION, MAX_QUOTE, ErrorType, Evidence, Score, Status
from schemas.tables import SCORES
from schemas.text import bounded, storable

#: The order of statuses in `GradeBatch.status`.
STATUSES = (Status.PASS, Status.FAIL, Status.SCORED, Status.ERROR, Status.SKIPPED)
PASS, FAIL, SCORED, ERROR, SKIPPED = range(5)
_CODE = {status: code for code, status in enumerate(STATUSES)}
_CENT_NANO = Decimal("1e-9")


@dataclass(frozen=True, slots=True)
class GradeBatch:
    """Outcomes of one grader. Row i of every array belongs to row `rows[i]` of the batch (to row i where `rows` is None)."""

    status: np.ndarray[Any, np.dtype[np.int8]]
    """Codes: indices into `STATUSES`."""
    score: pa.DoubleArray
    """0..1 or null."""
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    """Other columns of the `scores` table by name; absent means all null. String columns may be dictionary arrays."""
    rows: Rows | None = None
    """Which rows of the batch have an outcome, ascending; None means all. The others have no row in `scores`."""

    def __len__(self) -> int:
        return len(self.status)

    def column(self, name: str) -> pa.Array:
        """A column of the `scores` table, null-filled where this grader has none."""
        found = self.columns.get(name)
        return pa.nulls(len(self), SCORES.field(name).type) if found is None else found

    def at_rows(self, rows: Rows) -> GradeBatch:
        """The same outcomes, said to be of `rows` of a larger batch."""
        return replace(self, rows=rows if self.rows is None else rows[self.rows])

    def status_by_row(self, batch_length: int) -> np.ndarray[Any, np.dtype[np.int8]]:
        """The status code of every row of the batch; -1 where there is no outcome."""
        if self.rows is None:
            return self.status
        spread = np.full(batch_length, -1, dtype=np.int8)
        spread[self.rows] = self.status
        return spread

    def to_scores(self) -> list[Score]:
        """The outcomes as objects (for one row or a few)."""
        names = [name for name in _SCORE_COLUMNS if name in self.columns]
        values = {name: self.columns[name].to_pylist() for name in names}
        scores = self.score.to_pylist()
        return [
            Score(
                status=STATUSES[code],
                score=scores[i],
                **{_SCORE_COLUMNS[name][0]: _SCORE_COLUMNS[name][1](values[name][i]) for name in names},
            )
            for i, code in enumerate(self.status.tolist())
        ]


def from_scores(scores: Sequence[Score]) -> GradeBatch:
    """Outcomes given as objects. A NaN or infinite score becomes the error `non_finite_score`; text is made storable and bounded."""
    checked = [_finite(score) for score in scores]
    columns: dict[str, pa.Array] = {}
    for name, (attribute, _) in _SCORE_COLUMNS.items():
        values = [_stored(name, getattr(score, attribute)) for score in checked]
        if any(value is not None for value in values):
            columns[name] = pa.array(values, SCORES.field(name).type)
    status = np.array([_CODE[score.status] for score in checked], dtype=np.int8)
    return GradeBatch(status, pa.array([score.score for score in checked], pa.float64()), columns)


def concat(parts: Sequence[GradeBatch]) -> GradeBatch:
    """Outcomes of consecutive pieces of one batch (none with `rows`)."""
    names = {name for part in parts for name in part.columns}
    return GradeBatch(
        np.concatenate([part.status for part in parts]),
        pa.concat_arrays([part.score for part in parts]),
        {name: pa.concat_arrays([_plain(part.column(name)) for part in parts]) for name in names},
    )


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _finite(score: Score) -> Score:
    for name in ("score", "native_score"):
        value = getattr(score, name)
        if value is not None and not np.isfinite(value):
            return replace(
                score,
                status=Status.ERROR,
                score=None,
                native_score=None,
                error_type=ErrorType.NON_FINITE_SCORE,
                error_message=f"the grader returned {value} as its {name}",
            )
    return score


def _stored(name: str, value: Any) -> Any:
    if value is None or value == ():
        return None
    if name == "evidence":
        return [
            {
                "message_index": item.message_index,
                "start": item.start,
                "end": item.end,
                "quote": bounded(storable(item.quote), MAX_QUOTE),
            }
            for item in value[:MAX_EVIDENCE]
        ]
    if name == "details_json":
        return _compact_json(value)
    if name == "error_type":
        return value.value
    if name == "cost_usd":
        return Decimal(value).quantize(_CENT_NANO, rounding=ROUND_HALF_EVEN)
    return bounded(storable(value), MAX_EXPLANATION) if isinstance(value, str) else value


def _compact_json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # an integer beyond 64 bits, or half a surrogate pair
        return storable(json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":")))


def _same(value: Any) -> Any:
    return value


def _evidence(value: list[dict[str, Any]] | None) -> tuple[Evidence, ...]:
    return tuple(Evidence(**item) for item in value or ())


def _error_type(value: str | None) -> ErrorType | None:
    return None if value is None else ErrorType(value)


def _details(value: str | None) -> Any:
    return None if value is None else orjson.loads(value)


#: Column of `scores` → (attribute of `Score`, from stored to object).
_SCORE_COLUMNS: dict[str, tuple[str, Any]] = {
    "native_score": ("native_score", _same),
    "label": ("label", _same),
    "explanation": ("explanation", _same),
    "evidence": ("evidence", _evidence),
    "details_json": ("details", _details),
    "error_type": ("error_type", _error_type),
    "error_message": ("error_message", _same),
    "skip_reason": ("skip_reason", _same),
    "duration_us": ("duration_us", _same),
    "attempts": ("attempts", _same),
    "cached": ("cached", _same),
    "judge_route": ("judge_route", _same),
    "judge_model": ("judge_model", _same),
    "judge_response_id": ("judge_response_id", _same),
    "input_tokens": ("input_tokens", _same),
    "output_tokens": ("output_tokens", _same),
    "cached_input_tokens": ("cached_input_tokens", _same),
    "cost_usd": ("cost_usd", _same),
}
