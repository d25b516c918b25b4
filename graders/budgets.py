"""Budgets: a number of the run (tokens, cost, time, calls, steps, turns, errors) that may not exceed a maximum.

At or under the maximum is a pass with score 1. Over it the score falls linearly: max(0, 1 - (value - max) / max(max,
1)), and with a maximum of 0 any excess scores 0. What the log does not say is an error, never 0. `native_score` is
the measured value.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator

from graders.durations import parse_duration
from graders.grade_batch import ERROR, FAIL, PASS, GradeBatch
from graders.grader import Grader, GraderConfig
from graders.pattern_memo import Dialect, PatternMemo, any_of
from graders.run_metrics import (
    Doubles,
    Flags,
    column_as_doubles,
    error_events,
    first_known,
    has_record,
    lengths,
    logged_metrics,
    own_messages,
    parents,
    tool_outcomes,
)
from graders.taxonomy import Taxonomy
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType


class CountConfig(GraderConfig):
    """The most that is allowed, inclusive."""

    max: int = Field(ge=0)


class TokenConfig(CountConfig):
    """Which tokens are counted."""

    of: Literal["total", "input", "output", "reasoning"] = "total"
    """`total` is input (cached input included) and output."""


class ToolCountConfig(CountConfig):
    """Which tools are counted; all where `tools` is absent."""

    tools: list[str] | None = Field(default=None, min_length=1)
    """Patterns searched for in the tool's name."""
    dialect: Dialect = "python"


class ErrorCountConfig(CountConfig):
    """What counts as an error."""

    of: Literal["all", "events"] = "all"
    """`all`: error events and failed tool results; `events`: error events alone (or the metric `errorCount`)."""


class CostConfig(GraderConfig):
    """The most that a run may cost."""

    max: float = Field(ge=0)
    """In US dollars."""


class WallTimeConfig(GraderConfig):
    """The longest that a run may take."""

    max: str
    """A duration: `90s`, `2m`, `1h30m`, `1500ms`."""

    @field_validator("max")
    @classmethod
    def _is_duration(cls, text: str) -> str:
        parse_duration(text)
        return text


BudgetConfigT = TypeVar("BudgetConfigT", bound=GraderConfig)


class Budget(Grader[BudgetConfigT], Generic[BudgetConfigT]):
    """One measured value a trajectory against a maximum."""

    taxonomy = Taxonomy(native_max=math.inf, higher_is_better=False)
    unit: ClassVar[str]
    unknown: ClassVar[str]
    """What the log lacks where the value is unknown."""

    @property
    @abstractmethod
    def most(self) -> float:
        """The maximum, in the unit of the measured values."""

    @abstractmethod
    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """One value a row, NaN where the log does not say."""

    def stopped(self, batch: TrajectoryBatch) -> Flags:
        """The rows whose value is only a lower bound, for a pattern hit a limit there."""
        return np.zeros(len(batch), dtype=bool)

    @property
    def threshold(self) -> float:
        """The value up to which it passes."""
        return self.most

    @property
    def overrun_scale(self) -> float:
        """The excess at which the score reaches 0."""
        return max(self.most, 1.0)

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Measure and compare, all rows at once."""
        values = self.measure(batch)
        most = self.most
        with np.errstate(invalid="ignore"):
            over = values > most
            excess = (values - most) / self.overrun_scale
        unknown = np.isnan(values)
        stopped = self.stopped(batch) & ~over & ~unknown
        broken = unknown | stopped
        status = np.where(broken, ERROR, np.where(over, FAIL, PASS)).astype(np.int8)
        partial = np.maximum(0.0, 1.0 - excess) if most > 0 else np.zeros(len(values))
        limit = f"{most:.15g}"
        explanations = [
            None if no_value else f"{value:.15g} {self.unit}, at most {limit} allowed"
            for value, no_value in zip(values.tolist(), broken.tolist(), strict=True)
        ]
        columns: dict[str, pa.Array] = {
            "native_score": pa.array(values, pa.float64(), mask=broken),
            "explanation": pa.array(explanations, pa.string()),
        }
        if broken.any():
            kinds = np.where(stopped, _STOPPED, np.where(unknown, _UNKNOWN, 0)).tolist()
            messages = (None, f"the log does not say: {self.unknown}", "a pattern of `tools` hit a limit")
            columns["error_type"] = pa.array([_ERROR_TYPES[kind] for kind in kinds], pa.string())
            columns["error_message"] = pa.array([messages[kind] for kind in kinds], pa.string())
        return GradeBatch(status, pa.array(np.where(over, partial, 1.0), pa.float64(), mask=broken), columns)


_UNKNOWN, _STOPPED = 1, 2
_ERROR_TYPES = (None, ErrorType.MISSING_FIELD.value, ErrorType.REGEX_RESOURCE_LIMIT.value)


class _CountBudget(Budget[BudgetConfigT], Generic[BudgetConfigT]):
    @property
    def most(self) -> float:
        return float(self.config.max)  # type: ignore[attr-defined]


class TokenBudget(_CountBudget[TokenConfig]):
    """Tokens of the run: the log's metric, else its usage."""

    type = "token-budget"
    config_model = TokenConfig
    example: ClassVar[Mapping[str, Any]] = {"max": 50_000}
    unit = "tokens"
    unknown = "token usage"

    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """Tokens."""
        inputs = first_known(
            logged_metrics(batch, ("inputTokens",), ("tokenUsage", "inputTokens"), ("input_tokens",)),
            column_as_doubles(batch, "input_tokens"),
        )
        outputs = first_known(
            logged_metrics(batch, ("outputTokens",), ("tokenUsage", "outputTokens"), ("output_tokens",)),
            column_as_doubles(batch, "output_tokens"),
        )
        if self.config.of == "input":
            return inputs
        if self.config.of == "output":
            return outputs
        if self.config.of == "reasoning":
            return column_as_doubles(batch, "reasoning_tokens")
        totals = logged_metrics(batch, ("totalTokens",), ("tokenUsage", "totalTokens"), ("total_tokens",))
        return first_known(totals, inputs + outputs)


class CostBudget(_CountBudget[CostConfig]):
    """Cost of the run in US dollars. The score reaches 0 at twice the maximum."""

    type = "cost-budget"
    config_model = CostConfig
    example: ClassVar[Mapping[str, Any]] = {"max": 0.05}
    unit = "USD"
    unknown = "cost"

    @property
    def overrun_scale(self) -> float:
        """The maximum itself: the 1 of the count budgets is one unit, and a dollar is not the unit of a run."""
        return self.most or 1.0

    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """US dollars."""
        return first_known(
            logged_metrics(batch, ("costUsd",), ("cost_usd",), ("totalCostUsd",), ("total_cost_usd",)),
            column_as_doubles(batch, "cost_usd"),
        )


class WallTime(Budget[WallTimeConfig]):
    """Wall time of the run, in milliseconds."""

    type = "wall-time"
    config_model = WallTimeConfig
    example: ClassVar[Mapping[str, Any]] = {"max": "2m"}
    unit = "ms"
    unknown = "wall time"

    @property
    def most(self) -> float:
        """Milliseconds."""
        return float(parse_duration(self.config.max))

    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """Milliseconds."""
        return first_known(
            logged_metrics(batch, ("wallTimeMs",), ("wall_time_ms",), ("latency_ms",)),
            column_as_doubles(batch, "latency_ms"),
        )


class _ToolFilteredBudget(_CountBudget[ToolCountConfig]):
    def __init__(self, config: ToolCountConfig) -> None:
        super().__init__(config)
        self._tools = [
            PatternMemo(pattern, config.dialect, ("tools", place)) for place, pattern in enumerate(config.tools or ())
        ]

    def answers(self, batch: TrajectoryBatch) -> list[bool | None]:
        """For each tool call of the batch, in order, whether it is counted; None where a limit left it open."""
        names = [name or "" for name in batch.column("tool_calls").flatten().field("name").to_pylist()]
        for pattern in self._tools:
            pattern.prepare(names)
        by_name = {name: any_of(self._tools, name) for name in set(names)}
        return [by_name[name] for name in names]

    def stopped(self, batch: TrajectoryBatch) -> Flags:
        """The rows with a call of which a limit left open whether it is counted."""
        stopped = np.zeros(len(batch), dtype=bool)
        if self._tools:
            is_open = np.array([answer is None for answer in self.answers(batch)], dtype=bool)
            stopped[parents(batch.column("tool_calls"))[is_open]] = True
        return stopped

    def counted(self, batch: TrajectoryBatch) -> Flags:
        """For each tool call of the batch whether it is known to be counted."""
        return np.array([answer is True for answer in self.answers(batch)], dtype=bool)


class ToolCallCount(_ToolFilteredBudget):
    """Tool calls of the run, or of the tools that `tools` names."""

    type = "tool-call-count"
    config_model = ToolCountConfig
    example: ClassVar[Mapping[str, Any]] = {"max": 20}
    unit = "tool calls"
    unknown = "tool calls"

    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """Calls."""
        calls = batch.column("tool_calls")
        if self._tools:
            values = np.bincount(parents(calls)[self.counted(batch)], minlength=len(batch)).astype(np.float64)
            return np.where(has_record(batch), values, np.nan)
        values = np.where(has_record(batch), lengths(calls).astype(np.float64), np.nan)
        return first_known(logged_metrics(batch, ("toolCallCount",), ("tool_call_count",)), values)


class StepCount(_ToolFilteredBudget):
    """Steps of the agent: assistant messages (one answer of the model each), and tool calls that no message holds.

    With `tools`, only the steps that call one of them: parallel calls of one message are one step.
    """

    type = "step-count"
    config_model = ToolCountConfig
    example: ClassVar[Mapping[str, Any]] = {"max": 15}
    unit = "steps"
    unknown = "steps"

    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """Steps."""
        calls = batch.column("tool_calls")
        rows = parents(calls)
        places = calls.flatten().field("message_index")
        outside = np.asarray(places.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        if not self._tools:
            loose = np.bincount(rows[outside], minlength=len(batch)).astype(np.float64)
            counted = np.nan_to_num(own_messages(batch, "assistant")) + loose
            steps = np.where(has_record(batch), counted, np.nan)
            return first_known(logged_metrics(batch, ("stepCount",), ("step_count",)), steps)
        wanted = self.counted(batch)
        alone = np.bincount(rows[outside & wanted], minlength=len(batch))
        inside = wanted & ~outside
        held = np.stack([rows[inside], np.asarray(places.fill_null(-1), dtype=np.int64)[inside]], axis=1)
        distinct = np.unique(held, axis=0)[:, 0] if len(held) else held[:, 0]
        steps = (alone + np.bincount(distinct, minlength=len(batch))).astype(np.float64)
        return np.where(has_record(batch), steps, np.nan)


class TurnCount(_CountBudget[CountConfig]):
    """Turns of the conversation: as the log counts them, else the user's messages."""

    type = "turn-count"
    config_model = CountConfig
    example: ClassVar[Mapping[str, Any]] = {"max": 10}
    unit = "turns"
    unknown = "turns"

    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """Turns."""
        return first_known(
            logged_metrics(batch, ("turnCount",), ("turn_count",)),
            column_as_doubles(batch, "turn_count"),
            own_messages(batch, "user"),
        )


class ErrorCount(_CountBudget[ErrorCountConfig]):
    """Errors of the run.

    Where the log does not say of some tool results whether they failed, the count is at least what is known: more
    than the maximum of those is a fail, otherwise the row is an error.
    """

    type = "error-count"
    config_model = ErrorCountConfig
    example: ClassVar[Mapping[str, Any]] = {"max": 0, "of": "events"}
    unit = "errors"
    unknown = "whether tool results failed (count `of: events`), or any record of errors"

    def measure(self, batch: TrajectoryBatch) -> Doubles:
        """Errors."""
        logged = logged_metrics(batch, ("errorCount",), ("error_count",))
        counted = error_events(batch)
        if self.config.of == "events":
            return first_known(logged, np.where(has_record(batch), counted, np.nan))
        failed, unsaid = tool_outcomes(batch)
        counted = np.fmax(counted + failed, logged)
        nothing = ~has_record(batch) & np.isnan(logged)
        open_count = (unsaid > 0) & (counted <= self.most)
        return np.where(nothing | open_count, np.nan, counted)
