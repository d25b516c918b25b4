"""What a grader is: a type with a pydantic configuration, a taxonomy and one method that grades a batch.

A new grader is one file in this package: subclass `Grader` (whole Arrow batches), `RowGrader` (one trajectory at a
time) or `CompositeGrader` (other graders' outcomes). `graders.registry` finds it by its class.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from graders.errors import Problem
from graders.grade_batch import GradeBatch, from_scores
from graders.taxonomy import Taxonomy
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error
from schemas.trajectory import Trajectory


class GraderConfig(BaseModel):
    """Base of every grader's configuration: unknown fields are refused, types are not coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


ConfigClass = type[GraderConfig]
ConfigT = TypeVar("ConfigT", bound=GraderConfig)


class Grader(ABC, Generic[ConfigT]):
    """One configured check over whole batches.

    Instances are made once a suite and travel to workers as their configuration, from which `__init__` makes them
    again. Raise `ConfigError` from `__init__` for a configuration that pydantic can't refuse.
    """

    type: ClassVar[str]
    """The canonical kebab-case name; unique."""
    config_model: ClassVar[ConfigClass]
    taxonomy: ClassVar[Taxonomy] = Taxonomy()
    version: ClassVar[int] = 1
    """Raised when the same configuration may give another verdict than before; part of `grader_hash`."""
    example: ClassVar[Mapping[str, Any]]
    """A configuration without name and type, shown by `gradebeam graders TYPE` and run by a test."""

    def __init__(self, config: ConfigT) -> None:
        self.config = config

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the configuration alone; the rest is made again."""
        return (type(self), (self.config,))

    @property
    def threshold(self) -> float | None:
        """The native score from which on it passes; None where pass and fail are not a matter of a number."""
        return getattr(self.config, "threshold", None)

    @property
    def gives_verdict(self) -> bool:
        """Whether its outcomes are pass or fail; False for a number without a threshold, which nothing can be composed of."""
        return True

    def warnings(self) -> Sequence[Problem]:
        """What `gradebeam check` should say of this configuration without refusing it (paths from its own root)."""
        return ()

    def explain(self) -> Sequence[str]:
        """Lines that `gradebeam check -v` prints (which tier a pattern runs on, and why)."""
        return ()

    @abstractmethod
    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """An outcome for every row of the batch, in order (`rows` None)."""


class RowGrader(Grader[ConfigT]):
    """A check made of one trajectory at a time. An exception is an error of that row alone."""

    @abstractmethod
    def grade_row(self, trajectory: Trajectory) -> Score:
        """The outcome for one trajectory."""

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Grade row by row, timing each (`duration_us`, wall microseconds)."""
        return from_scores([timed_score(self.grade_row, trajectory) for trajectory in batch.rows])


class CompositeGrader(Grader[ConfigT]):
    """A check of other graders' outcomes. They are graded first, whatever order the suite names them in."""

    @property
    @abstractmethod
    def children(self) -> Sequence[str]:
        """Names of the graders it combines."""

    @abstractmethod
    def combine(self, length: int, outcomes: Mapping[str, GradeBatch]) -> GradeBatch:
        """An outcome for each of `length` rows from those of the children (which may have no outcome for some rows)."""

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Refused: a composite has nothing to look at without its children's outcomes."""
        raise TypeError(f"{self.type} combines other graders' outcomes: call combine")


def timed_score(grade_row: Any, trajectory: Trajectory) -> Score:
    """`grade_row(trajectory)` with its wall time; an exception or a result that is no Score is an error of this row."""
    started = time.perf_counter_ns()
    try:
        score = grade_row(trajectory)
        if not isinstance(score, Score):
            score = error(ErrorType.GRADER_EXCEPTION, f"the grader returned {type(score).__name__}, not a Score")
    except Exception as exception:  # a fault in one row must not take the block with it
        score = exception_score(exception)
    if score.duration_us is not None:
        return score
    return replace(score, duration_us=(time.perf_counter_ns() - started) // 1_000)


def exception_score(exception: BaseException) -> Score:
    """An exception as an outcome. Its text is left out: it may quote the graded output."""
    return error(
        ErrorType.GRADER_EXCEPTION,
        f"the grader raised {type(exception).__name__}",
        details={"exception": type(exception).__name__},
    )
