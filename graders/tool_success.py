"""`tool-success`: the share of a run's tool results that did not fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from graders.grade_batch import GradeBatch
from graders.grader import GraderConfig, RowGrader
from graders.pattern_memo import Dialect, PatternMemo, any_of
from graders.tool_records import results_by_call
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error, skipped, verdict
from schemas.trajectory import ToolResult, Trajectory


class ToolSuccessConfig(GraderConfig):
    """Which results are looked at and how many of them may fail."""

    max_error_rate: float = Field(default=0.0, ge=0, le=1)
    """Inclusive."""
    tools: list[str] | None = Field(default=None, min_length=1)
    """Patterns searched for in the tool's name; all tools where absent."""
    dialect: Dialect = "python"
    unanswered: Literal["ignore", "failure"] = "ignore"
    """What a call without a result counts as."""
    unknown: Literal["open", "success", "failure"] = "open"
    """A result of which the log does not say whether it failed; `open`: an error unless it makes no difference."""
    on_no_results: Literal["skip", "pass", "fail", "error"] = "skip"
    """The outcome where there is nothing to look at."""


class ToolSuccess(RowGrader[ToolSuccessConfig]):
    """Passes when at most `max_error_rate` of the tool results failed. The score is the share that succeeded."""

    type = "tool-success"
    config_model = ToolSuccessConfig
    example: ClassVar[Mapping[str, Any]] = {"max_error_rate": 0.2, "unknown": "success"}

    def __init__(self, config: ToolSuccessConfig) -> None:
        super().__init__(config)
        self._tools = [
            PatternMemo(pattern, config.dialect, ("tools", place)) for place, pattern in enumerate(config.tools or ())
        ]

    @property
    def threshold(self) -> float:
        """The least share of successes."""
        return 1.0 - self.config.max_error_rate

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Match the tools' names once, then grade row by row."""
        for pattern in self._tools:
            pattern.prepare(call.name for row in batch.rows for call in row.tool_calls)
        return super().grade_batch(batch)

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Count failures, successes and what the log leaves open."""
        config = self.config
        failed = succeeded = unsaid = unanswered = 0
        for name, result in _results(trajectory):
            wanted = True if not self._tools else any_of(self._tools, name)
            if wanted is None:
                return error(ErrorType.REGEX_RESOURCE_LIMIT, "a pattern of `tools` hit a limit")
            if not wanted:
                continue
            if result is None:
                unanswered += 1
            elif result.is_error is None:
                unsaid += 1
            elif result.is_error:
                failed += 1
            else:
                succeeded += 1
        details = {"failed": failed, "succeeded": succeeded, "unknown": unsaid, "unanswered": unanswered}
        if config.unanswered == "failure":
            failed += unanswered
        if config.unknown == "failure":
            failed, unsaid = failed + unsaid, 0
        elif config.unknown == "success":
            succeeded, unsaid = succeeded + unsaid, 0
        total = failed + succeeded + unsaid
        if total == 0:
            return self._nothing(details)
        most_errors = config.max_error_rate * total + 1e-9
        if failed <= most_errors < failed + unsaid:
            message = f"the log does not say of {unsaid} of {total} tool results whether they failed"
            return error(ErrorType.MISSING_FIELD, message, details=details)
        score = None if unsaid else succeeded / total
        text = f"{failed} of {total} tool results failed"
        return verdict(failed <= most_errors, text, score=score, native_score=score, details=details)

    def _nothing(self, details: Mapping[str, int]) -> Score:
        policy = self.config.on_no_results
        if policy == "skip":
            return skipped("there are no tool results", details=details)
        if policy == "error":
            return error(ErrorType.MISSING_FIELD, "there are no tool results", details=details)
        return verdict(policy == "pass", "there are no tool results", details=details)


def _results(trajectory: Trajectory) -> list[tuple[str, ToolResult | None]]:
    """Each call's name with its result, and the results that no call claims."""
    bound = results_by_call(trajectory)
    pairs: list[tuple[str, ToolResult | None]] = [
        (call.name, result) for call, result in zip(trajectory.tool_calls, bound, strict=True)
    ]
    claimed = {id(result) for result in bound if result is not None}
    pairs += [(result.name or "", result) for result in trajectory.tool_results if id(result) not in claimed]
    return pairs
