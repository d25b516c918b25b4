"""A GradeBatch from codes: a status a row, and numbers that point into short lists of sentences, faults and reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from graders.grade_batch import ERROR, FAIL, PASS, SKIPPED, GradeBatch
from schemas.score import MAX_EXPLANATION, ErrorType
from schemas.text import bounded, storable

Codes = npt.NDArray[np.integer[Any]]
Statuses = npt.NDArray[np.int8]
_SCORE_OF_STATUS = np.array([1.0, 0.0, np.nan, np.nan, np.nan])


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a check could not be made. The message never holds graded text."""

    error_type: ErrorType
    message: str
    details: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Outcomes:
    """The outcomes of one batch while they are being decided: every row starts as a fail without a word."""

    status: Statuses
    fault_codes: npt.NDArray[np.int16]
    skip_codes: npt.NDArray[np.int16]
    faults: list[Fault]
    skips: list[str]

    @classmethod
    def of(cls, length: int) -> Outcomes:
        """For `length` rows."""
        nothing = np.full(length, -1, dtype=np.int16)
        return cls(np.full(length, FAIL, dtype=np.int8), nothing, nothing.copy(), [], [])

    def decide(self, rows: Any, passed: npt.NDArray[np.bool_] | bool) -> None:
        """Give the rows (indices or a mask) their verdicts."""
        self.status[rows] = np.where(passed, PASS, FAIL)

    def fail(self, rows: Any, fault: Fault) -> None:
        """Make the rows errors."""
        self.status[rows] = ERROR
        self.fault_codes[rows] = len(self.faults)
        self.faults.append(fault)

    def skip(self, rows: Any, reason: str) -> None:
        """Make the rows skipped."""
        self.status[rows] = SKIPPED
        self.skip_codes[rows] = len(self.skips)
        self.skips.append(reason)

    @property
    def undecidable(self) -> npt.NDArray[np.bool_]:
        """Which rows are neither pass nor fail."""
        mask: npt.NDArray[np.bool_] = self.status > FAIL
        return mask

    def finished(self, columns: Mapping[str, pa.Array]) -> GradeBatch:
        """The batch, with further columns of the `scores` table. Score is 1 for pass and 0 for fail."""
        verdicts = self.status <= FAIL
        score = pa.array(_SCORE_OF_STATUS[self.status], pa.float64(), mask=~verdicts)
        all_columns = dict(columns)
        if self.faults:
            details = [orjson.dumps(dict(f.details)).decode() if f.details else None for f in self.faults]
            all_columns["error_type"] = coded(self.fault_codes, [f.error_type.value for f in self.faults])
            all_columns["error_message"] = coded(self.fault_codes, [f.message for f in self.faults])
            if any(details):
                all_columns["details_json"] = coded(self.fault_codes, details)
        if self.skips:
            all_columns["skip_reason"] = coded(self.skip_codes, self.skips)
        return GradeBatch(self.status, score, all_columns)


def coded(codes: Codes, values: Sequence[str | None]) -> pa.Array:
    """A string column in which row i is `values[codes[i]]`, or null where the code is negative."""
    kept = [value if value is None else bounded(storable(value), MAX_EXPLANATION) for value in values]
    if None in kept:
        return pa.array(kept, pa.string()).take(pa.array(codes, mask=codes < 0))
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(kept, pa.string()))
