"""What a tool call has to look like: patterns on its name, arguments and result, and where in the run it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field, model_validator

from graders.grader import GraderConfig
from graders.pattern_memo import Dialect, PatternMemo
from graders.three_valued import all_true
from graders.tool_records import argument_text, only_reads, results_by_call, steps_of_calls
from schemas.trajectory import ToolCall, ToolResult, Trajectory


class ToolMatch(GraderConfig):
    """One matcher. Every pattern is searched for, unanchored; every one given has to be found."""

    name: str = Field(min_length=1)
    """In the tool's name; `^name$` for exactly that tool."""
    command: str | None = None
    """In the argument `command` (or `cmd`)."""
    path: str | None = None
    """In the argument `path` (or `file_path`, `filePath`, `filename`)."""
    args: dict[str, str] = Field(default_factory=dict)
    """Pattern by argument name. Values that are no strings are searched as compact JSON."""
    pattern: str | None = None
    """In the arguments as the log wrote them."""
    result: str | None = None
    """In the tool's result. A call without a result does not match."""
    write_only: bool = False
    """Only calls that may change something (see `graders.tool_records.only_reads`)."""
    read_only: bool = False
    """Only calls that are known to change nothing."""
    min_count: int | None = Field(default=None, ge=1)
    """At least so many matching calls (1)."""
    final: bool = False
    """The last tool call of the run has to match."""
    at_step: int | None = Field(default=None, ge=0)
    """In exactly this step of the agent, from 0."""
    before_step: int | None = Field(default=None, ge=1)
    """In a step before this one."""

    @model_validator(mode="after")
    def _possible(self) -> ToolMatch:
        if self.write_only and self.read_only:
            raise ValueError("write_only and read_only exclude each other")
        if self.at_step is not None and self.before_step is not None and self.at_step >= self.before_step:
            raise ValueError("at_step is not before before_step: nothing can match")
        if self.final and (self.min_count or 1) > 1:
            raise ValueError("there is only one final call: min_count can't be above 1")
        return self

    @property
    def is_positional(self) -> bool:
        """Whether it says how often or where, which only entries of `require` may."""
        return self.final or any(option is not None for option in (self.min_count, self.at_step, self.before_step))


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call with what belongs to it."""

    call: ToolCall
    result: ToolResult | None
    step: int
    is_last: bool


def recorded_calls(trajectory: Trajectory) -> list[RecordedCall]:
    """The trajectory's tool calls with their results and steps."""
    calls = trajectory.tool_calls
    return [
        RecordedCall(call, result, step, place == len(calls) - 1)
        for place, (call, result, step) in enumerate(
            zip(calls, results_by_call(trajectory), steps_of_calls(trajectory), strict=True)
        )
    ]


class ToolMatcher:
    """A `ToolMatch`, compiled. Answers are True, False, or None where a limit stopped a pattern.

    Raises:
        ConfigError: a pattern is not one of its dialect.
    """

    def __init__(self, wanted: ToolMatch, dialect: Dialect, path: tuple[str | int, ...]) -> None:
        self.wanted = wanted
        self._name = PatternMemo(wanted.name, dialect, (*path, "name"))
        arguments = {"command": wanted.command, "path": wanted.path}
        self._arguments = [
            (argument, PatternMemo(pattern, dialect, (*path, argument)))
            for argument, pattern in arguments.items()
            if pattern is not None
        ]
        self._arguments += [
            (argument, PatternMemo(pattern, dialect, (*path, "args", argument)))
            for argument, pattern in wanted.args.items()
        ]
        self._raw = None if wanted.pattern is None else PatternMemo(wanted.pattern, dialect, (*path, "pattern"))
        self._result = None if wanted.result is None else PatternMemo(wanted.result, dialect, (*path, "result"))

    def prepare(self, trajectories: Iterable[Trajectory]) -> None:
        """Match the names, then what else is needed of the calls that bear them, in one call of the engine each."""
        rows = [trajectory for trajectory in trajectories if trajectory.tool_calls]
        self._name.prepare(call.name for trajectory in rows for call in trajectory.tool_calls)
        if not self._arguments and self._raw is None and self._result is None:
            return
        calls = [call for row in rows for call in row.tool_calls if self._name(call.name) is not False]
        for argument, pattern in self._arguments:
            pattern.prepare(text for call in calls if (text := argument_text(call, argument)) is not None)
        if self._raw is not None:
            self._raw.prepare(call.arguments_raw for call in calls)
        if self._result is not None:
            self._result.prepare(result.text for row in rows for result in row.tool_results if result.text is not None)

    def matches(self, recorded: RecordedCall) -> bool | None:
        """Whether a call matches, its place in the run included."""
        call = recorded.call
        named = self._name(call.name)
        if named is False or not self._in_place(recorded):
            return False
        answers: list[bool | None] = [named]
        for argument, pattern in self._arguments:
            text = argument_text(call, argument)
            answers.append(False if text is None else pattern(text))
        if self._raw is not None:
            answers.append(self._raw(call.arguments_raw))
        if self._result is not None:
            found = recorded.result is not None and recorded.result.text is not None
            answers.append(self._result(recorded.result.text) if found else False)  # type: ignore[union-attr, arg-type]
        return all_true(answers)

    def _in_place(self, recorded: RecordedCall) -> bool:
        wanted = self.wanted
        return (
            (not wanted.final or recorded.is_last)
            and (wanted.at_step is None or recorded.step == wanted.at_step)
            and (wanted.before_step is None or recorded.step < wanted.before_step)
            and not (wanted.write_only and only_reads(recorded.call))
            and not (wanted.read_only and not only_reads(recorded.call))
        )
