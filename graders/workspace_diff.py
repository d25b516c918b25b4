"""`diff-contains` and `diff-empty`: the workspace diff in the log's `diff` (a text, or a list of one a turn)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from graders.grade_batch import GradeBatch
from graders.grader import GraderConfig, RowGrader
from graders.pattern_memo import Dialect, PatternMemo
from graders.run_metrics import extra_of
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error, verdict
from schemas.trajectory import Trajectory


class DiffConfig(GraderConfig):
    """Which diff, and whether the answer is turned round."""

    turn: int | None = Field(default=None, ge=0)
    """The diff of one turn, from 0, where the log has one a turn."""
    negate: bool = False


class DiffContainsConfig(DiffConfig):
    """Exactly one of `pattern` and `value`."""

    pattern: str | None = None
    """Searched for in the whole diff, context lines included."""
    value: str | None = Field(default=None, min_length=1)
    """A literal."""
    case_sensitive: bool = True
    """Of `value`; a pattern says (?i)."""
    dialect: Dialect = "python"

    @model_validator(mode="after")
    def _one(self) -> DiffContainsConfig:
        if (self.pattern is None) == (self.value is None):
            raise ValueError("give exactly one of pattern and value")
        return self


class DiffContains(RowGrader[DiffContainsConfig]):
    """Passes when the diff holds the text (does not hold it, when negated). A log without diff is an error."""

    type = "diff-contains"
    config_model = DiffContainsConfig
    example: ClassVar[Mapping[str, Any]] = {"pattern": "^\\+.*TODO", "negate": True}

    def __init__(self, config: DiffContainsConfig) -> None:
        super().__init__(config)
        self._pattern = None if config.pattern is None else PatternMemo(config.pattern, config.dialect, ("pattern",))

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Search all diffs of the batch at once, then grade row by row."""
        if self._pattern is not None:
            diffs = (recorded_diff(row, self.config.turn) for row in batch.rows)
            self._pattern.prepare(diff for diff in diffs if isinstance(diff, str))
        return super().grade_batch(batch)

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Search one diff."""
        diff = recorded_diff(trajectory, self.config.turn)
        if isinstance(diff, Score):
            return diff
        found = self._holds(diff)
        if found is None:
            return error(ErrorType.REGEX_RESOURCE_LIMIT, "the pattern hit a limit")
        return verdict(found != self.config.negate, f"the diff {'holds' if found else 'does not hold'} the text")

    def _holds(self, diff: str) -> bool | None:
        if self._pattern is not None:
            return self._pattern(diff)
        value = self.config.value or ""
        return value in diff if self.config.case_sensitive else value.lower() in diff.lower()


class DiffEmpty(RowGrader[DiffConfig]):
    """Passes when the workspace was not changed (was changed, when negated). A log without diff is an error."""

    type = "diff-empty"
    config_model = DiffConfig
    example: ClassVar[Mapping[str, Any]] = {}

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Look at one diff."""
        diff = recorded_diff(trajectory, self.config.turn)
        if isinstance(diff, Score):
            return diff
        empty = not diff.strip()
        return verdict(empty != self.config.negate, "the diff is empty" if empty else "the diff is not empty")


def recorded_diff(trajectory: Trajectory, turn: int | None) -> str | Score:
    """The diff of the run or of one turn, or the error where the log has none."""
    diff = extra_of(trajectory.extra_json).get("diff")
    if isinstance(diff, str) and turn is None:
        return diff
    if isinstance(diff, list) and all(isinstance(part, str) for part in diff):
        if turn is None:
            return "\n".join(diff)
        if turn < len(diff):
            return str(diff[turn])
        return error(ErrorType.TURN_OUT_OF_RANGE, f"the log has diffs of {len(diff)} turns, not of turn {turn}")
    missing = (
        "no workspace diff" if diff is None else "no diff of each turn" if isinstance(diff, str) else "no text as diff"
    )
    return error(ErrorType.MISSING_FIELD, f"the log carries {missing}")
