"""Composition: all of, any of, at least some of, or a weighted mean of other graders' outcomes.

Three-valued logic: a definite answer that no error could change stands, otherwise an error stays an error. any(error,
pass) is pass, any(error, fail) is error, all(error, fail) is fail, all(error, pass) is error. Skipped children, and
those that were not due for a trajectory, drop out; where all drop out the outcome is skipped. A child that gives a
score without a verdict is an error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from graders.grade_batch import ERROR, FAIL, PASS, SCORED, SKIPPED, GradeBatch
from graders.grader import CompositeGrader, GraderConfig
from schemas.score import ErrorType

Codes = npt.NDArray[np.int8]
_Counts = npt.NDArray[np.int64]
_SCORED_CHILD = "a child gives a score without a threshold, so it neither passes nor fails: give it a threshold"
_ERRED_CHILD = "a child could not be graded"
_TOO_FEW = "fewer children apply than have to pass"
_NONE = "none of the children applies"


class ChildrenConfig(GraderConfig):
    """The combined graders, by name."""

    graders: list[str] = Field(min_length=1)
    negate: bool = False
    """Turn pass into fail and back; every other status stays."""

    @field_validator("graders")
    @classmethod
    def _different(cls, names: list[str]) -> list[str]:
        if len(set(names)) < len(names):
            raise ValueError("a grader is named twice")
        return names


class AtLeastConfig(ChildrenConfig):
    """How many have to pass."""

    count: int = Field(ge=1)

    @model_validator(mode="after")
    def _possible(self) -> AtLeastConfig:
        if self.count > len(self.graders):
            raise ValueError(f"count is {self.count}, but only {len(self.graders)} graders are named")
        return self


class WeightedConfig(GraderConfig):
    """Graders with their weights, and the mean from which on it passes."""

    weights: dict[str, float] = Field(min_length=1)
    threshold: float = Field(ge=0, le=1)

    @field_validator("weights")
    @classmethod
    def _positive(cls, weights: dict[str, float]) -> dict[str, float]:
        if any(not weight > 0 or weight == float("inf") for weight in weights.values()):
            raise ValueError("a weight is a positive number; leave a grader out rather than give it 0")
        return weights


CompositeConfigT = TypeVar("CompositeConfigT", bound=ChildrenConfig)


class _Counting(CompositeGrader[CompositeConfigT], Generic[CompositeConfigT]):
    @property
    def children(self) -> Sequence[str]:
        """As the configuration names them."""
        return self.config.graders

    @abstractmethod
    def needed(self, applying: _Counts) -> _Counts:
        """How many have to pass, of so many that apply."""

    def combine(self, length: int, outcomes: Mapping[str, GradeBatch]) -> GradeBatch:
        """Count the children's outcomes, row by row."""
        codes = _codes(length, [outcomes[name] for name in self.children])
        passes = (codes == PASS).sum(axis=0)
        fails = (codes == FAIL).sum(axis=0)
        broken = ((codes == ERROR) | (codes == SCORED)).sum(axis=0)
        applying = passes + fails + broken
        needed = self.needed(applying)
        status = np.full(length, ERROR, dtype=np.int8)
        status[passes >= needed] = PASS
        status[passes + broken < needed] = FAIL
        status[(applying == 0) | (applying < needed)] = SKIPPED
        if self.config.negate:
            status = np.select([status == PASS, status == FAIL], [FAIL, PASS], status).astype(np.int8)
        shown = zip(passes.tolist(), applying.tolist(), needed.tolist(), status.tolist(), strict=True)
        explanations = [
            f"{passed} of {of} children pass, {least} needed" if code in (PASS, FAIL) else None
            for passed, of, least, code in shown
        ]
        return _graded(status, codes, applying, {"explanation": pa.array(explanations, pa.string())})


class AllOf(_Counting[ChildrenConfig]):
    """Passes when every child that applies passes."""

    type = "all-of"
    config_model = ChildrenConfig
    example: ClassVar[Mapping[str, Any]] = {"graders": ["no-refusal", "ticket-id"]}

    def needed(self, applying: _Counts) -> _Counts:
        """All that apply."""
        return applying


class AnyOf(_Counting[ChildrenConfig]):
    """Passes when a child passes."""

    type = "any-of"
    config_model = ChildrenConfig
    example: ClassVar[Mapping[str, Any]] = {"graders": ["no-refusal", "ticket-id"]}

    def needed(self, applying: _Counts) -> _Counts:
        """One."""
        return np.ones_like(applying)


class AtLeast(_Counting[AtLeastConfig]):
    """Passes when `count` children pass. Where fewer than that apply, the outcome is skipped."""

    type = "at-least"
    config_model = AtLeastConfig
    example: ClassVar[Mapping[str, Any]] = {"graders": ["no-refusal", "ticket-id", "short"], "count": 2}

    def needed(self, applying: _Counts) -> _Counts:
        """The configured number."""
        return np.full_like(applying, self.config.count)


class Weighted(CompositeGrader[WeightedConfig]):
    """The weighted mean of the scores of the children that apply; it passes at `threshold` and above.

    An error of one child leaves the mean unknown, so it is an error.
    """

    type = "weighted"
    config_model = WeightedConfig
    example: ClassVar[Mapping[str, Any]] = {"weights": {"no-refusal": 2.0, "short": 1.0}, "threshold": 0.7}

    @property
    def children(self) -> Sequence[str]:
        """As the configuration names them."""
        return list(self.config.weights)

    def combine(self, length: int, outcomes: Mapping[str, GradeBatch]) -> GradeBatch:
        """Weigh the children's scores, row by row."""
        batches = [outcomes[name] for name in self.children]
        codes = _codes(length, batches)
        scores = np.stack([_scores(length, batch) for batch in batches])
        judged = (codes == PASS) | (codes == FAIL)
        broken = (codes == ERROR) | (codes == SCORED) | (judged & np.isnan(scores))
        weights = np.array(list(self.config.weights.values()))[:, None] * judged
        total = weights.sum(axis=0)
        applying = (judged | broken).sum(axis=0)
        with np.errstate(invalid="ignore"):
            mean = (weights * np.where(judged, scores, 0.0)).sum(axis=0) / total
        status = np.where(mean >= self.config.threshold - 1e-12, PASS, FAIL).astype(np.int8)
        status[broken.any(axis=0)] = ERROR
        status[applying == 0] = SKIPPED
        verdicts = status <= FAIL
        score = pa.array(mean, pa.float64(), mask=~verdicts)
        explanations = [
            f"the weighted mean is {value:.6g}, {self.config.threshold:g} needed" if shown else None
            for value, shown in zip(mean.tolist(), verdicts.tolist(), strict=True)
        ]
        columns = {"explanation": pa.array(explanations, pa.string()), "native_score": score}
        return _graded(status, codes, applying, columns, score)


def _codes(length: int, batches: Sequence[GradeBatch]) -> Codes:
    """Status codes, one line a child; -1 where it has no outcome."""
    return np.stack([batch.status_by_row(length) for batch in batches])


def _scores(length: int, batch: GradeBatch) -> npt.NDArray[np.float64]:
    own = np.asarray(pc.fill_null(batch.score, np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)
    if batch.rows is None:
        return own
    spread = np.full(length, np.nan)
    spread[batch.rows] = own
    return spread


def _graded(
    status: Codes, codes: Codes, applying: _Counts, columns: Mapping[str, pa.Array], score: pa.Array | None = None
) -> GradeBatch:
    """The outcomes with what is common to all composites: the score of a verdict, reasons of errors and skips."""
    shared = dict(columns)
    erred = status == ERROR
    if erred.any():
        scored = (codes == SCORED).any(axis=0) & ~(codes == ERROR).any(axis=0)
        shared["error_type"] = _text_where(erred, ErrorType.MISSING_FIELD.value)
        messages = np.where(scored, _SCORED_CHILD, _ERRED_CHILD)
        shared["error_message"] = pa.array(messages, pa.string(), mask=~erred)
    skipped = status == SKIPPED
    if skipped.any():
        reasons = np.where(applying == 0, _NONE, _TOO_FEW)
        shared["skip_reason"] = pa.array(reasons, pa.string(), mask=~skipped)
    if score is None:
        score = pa.array((status == PASS).astype(np.float64), pa.float64(), mask=status > FAIL)
    return GradeBatch(status, score, shared)


def _text_where(wanted: npt.NDArray[np.bool_], text: str) -> pa.StringArray:
    return pa.array(np.full(len(wanted), text), pa.string(), mask=~wanted)
