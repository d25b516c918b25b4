"""`max-repeat` and `loop-outcome`: an agent that does the same again and again, or a cycle of several actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field

from graders.grade_batch import GradeBatch
from graders.grader import GraderConfig, RowGrader
from graders.json_values import key_of
from graders.pattern_memo import Dialect, PatternMemo, any_of
from graders.taxonomy import Taxonomy
from graders.tool_records import results_by_call
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error, verdict
from schemas.trajectory import ToolCall, ToolResult, Trajectory


class LoopConfig(GraderConfig):
    """Which calls are watched and when two are the same."""

    tools: list[str] | None = Field(default=None, min_length=1)
    """Patterns searched for in the tool's name; other calls are as if not there. All tools where absent."""
    dialect: Dialect = "python"
    match: Literal["name-args", "name", "observation"] = "name-args"
    """The same tool and arguments, the same tool, or the same result (a call without a result is like no other)."""
    max_cycle_period: int = Field(default=1, ge=1, le=10)
    """The longest cycle of actions whose repetitions count: 1 is one call again and again, 2 is A B A B…"""


class MaxRepeatConfig(LoopConfig):
    """How often."""

    max: int = Field(ge=1)
    """The most repetitions in a row that are allowed; a call that stands alone is one."""


class LoopOutcomeConfig(LoopConfig):
    """Where a loop begins, and whether one is wanted."""

    max_acceptable_retries: int = Field(ge=0)
    """Repetitions after the first that are no loop yet: a run of N equal calls is N - 1 retries."""
    should_loop: bool = False
    """Whether the run is expected to loop."""


LoopConfigT = TypeVar("LoopConfigT", bound=LoopConfig)


class _Loops(RowGrader[LoopConfigT]):
    taxonomy = Taxonomy(native_max=float("inf"), higher_is_better=False)

    def __init__(self, config: LoopConfigT) -> None:
        super().__init__(config)
        self._tools = [
            PatternMemo(pattern, config.dialect, ("tools", place)) for place, pattern in enumerate(config.tools or ())
        ]

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Match the tools' names once, then grade row by row."""
        for pattern in self._tools:
            pattern.prepare(call.name for row in batch.rows for call in row.tool_calls)
        return super().grade_batch(batch)

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Find the longest repetition among the watched calls."""
        if not trajectory.messages and not trajectory.tool_calls and not trajectory.events:
            return error(ErrorType.MISSING_FIELD, "the log does not say what the agent did")
        actions = []
        for call, result in zip(trajectory.tool_calls, results_by_call(trajectory), strict=True):
            watched = True if not self._tools else any_of(self._tools, call.name)
            if watched is None:
                return error(ErrorType.REGEX_RESOURCE_LIMIT, "a pattern of `tools` hit a limit")
            if watched:
                actions.append(_identity(call, result, self.config.match))
        return self.judge(*longest_repetition(actions, self.config.max_cycle_period))

    @abstractmethod
    def judge(self, repetitions: int, period: int) -> Score:
        """The outcome for the longest repetition found: how often, and of how many actions."""


class MaxRepeat(_Loops[MaxRepeatConfig]):
    """Passes when nothing is repeated more than `max` times in a row. Beyond, the score falls as the budgets' does."""

    type = "max-repeat"
    config_model = MaxRepeatConfig
    example: ClassVar[Mapping[str, Any]] = {"max": 3, "max_cycle_period": 3}

    @property
    def threshold(self) -> float:
        """The most repetitions."""
        return float(self.config.max)

    def judge(self, repetitions: int, period: int) -> Score:
        """Compare with the maximum."""
        most = self.config.max
        score = 1.0 if repetitions <= most else max(0.0, 1.0 - (repetitions - most) / most)
        return verdict(
            repetitions <= most,
            f"{_described(period)} {repetitions} times in a row, at most {most} allowed",
            score=score,
            native_score=float(repetitions),
            details={"repetitions": repetitions, "period": period},
        )


class LoopOutcome(_Loops[LoopOutcomeConfig]):
    """Passes when the run loops just if it should: more than `max_acceptable_retries` retries in a row are a loop."""

    type = "loop-outcome"
    config_model = LoopOutcomeConfig
    example: ClassVar[Mapping[str, Any]] = {"max_acceptable_retries": 2, "tools": ["^bash$"]}

    def judge(self, repetitions: int, period: int) -> Score:
        """Compare with what is expected."""
        retries = max(0, repetitions - 1)
        looped = retries > self.config.max_acceptable_retries
        return verdict(
            looped == self.config.should_loop,
            f"{retries} retries in a row" + (f" of {_described(period)}" if retries else ""),
            native_score=float(retries),
            label="loop" if looped else "no loop",
            details={"retries": retries, "period": period},
        )


def longest_repetition(actions: Sequence[Hashable], max_period: int) -> tuple[int, int]:
    """(how often the most repeated cycle occurs back to back, its length), shorter cycles first; (0, 1) for none."""
    best, best_period = min(len(actions), 1), 1
    for period in range(1, min(max_period, len(actions) // 2) + 1):
        run = 0
        for place in range(period, len(actions)):
            run = run + 1 if actions[place] == actions[place - period] else 0
            if run // period + 1 > best:
                best, best_period = run // period + 1, period
    return best, best_period


def _identity(call: ToolCall, result: ToolResult | None, match: str) -> Hashable:
    if match == "name":
        return call.name
    if match == "observation":
        return id(call) if result is None or result.text is None else result.text
    arguments, problem = call.parsed
    return (call.name, call.arguments_raw if problem else key_of(arguments))


def _described(period: int) -> str:
    return "the same action" if period == 1 else f"a cycle of {period} actions"
