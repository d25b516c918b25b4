"""`tool-calls`: which tools have to be called, must not be, in which order, and which side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from graders.bipartite import in_order, largest_matching
from graders.grade_batch import GradeBatch
from graders.grader import GraderConfig, RowGrader
from graders.pattern_memo import Dialect
from graders.three_valued import any_true, between
from graders.tool_matcher import RecordedCall, ToolMatch, ToolMatcher, recorded_calls
from graders.tool_records import malformed
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error, verdict
from schemas.trajectory import Trajectory

_LISTS = ("require", "forbid", "sequence", "parallel")


class ToolCallsConfig(GraderConfig):
    """At least one list. An entry is a matcher, or a text that stands for a matcher of the tool's name."""

    require: list[ToolMatch] = Field(default_factory=list)
    """Each has to match a call (or `min_count` of them)."""
    forbid: list[ToolMatch] = Field(default_factory=list)
    """None may match a call. A run without calls satisfies that."""
    sequence: list[ToolMatch] = Field(default_factory=list)
    """Calls have to match in this order; others may stand between them."""
    parallel: list[ToolMatch] = Field(default_factory=list)
    """One step of the agent has to hold a matching call for each entry, a different one for each."""
    dialect: Dialect = "python"

    @field_validator(*_LISTS, mode="before")
    @classmethod
    def _names_as_matchers(cls, entries: Any) -> Any:
        if not isinstance(entries, list):
            return entries
        return [{"name": entry} if isinstance(entry, str) else entry for entry in entries]

    @model_validator(mode="after")
    def _consistent(self) -> ToolCallsConfig:
        if not any(getattr(self, name) for name in _LISTS):
            raise ValueError("give at least one of require, forbid, sequence and parallel")
        for name in ("forbid", "sequence", "parallel"):
            if any(entry.is_positional for entry in getattr(self, name)):
                raise ValueError(f"min_count, final, at_step and before_step are for require, not for {name}")
        if any(entry.result is not None for entry in self.sequence):
            raise ValueError("result is not for sequence")
        if any(entry in self.forbid for entry in (*self.require, *self.sequence, *self.parallel)):
            raise ValueError("the same entry is wanted and forbidden: nothing can pass")
        return self


class ToolCalls(RowGrader[ToolCallsConfig]):
    """Passes when every list holds. Arguments that are not JSON never match a pattern on arguments."""

    type = "tool-calls"
    config_model = ToolCallsConfig
    example: ClassVar[Mapping[str, Any]] = {
        "require": ["^search$", {"name": "^book$", "args": {"city": "(?i)paris"}}],
        "forbid": [{"name": "bash", "command": "rm -rf"}],
        "sequence": ["search", "book"],
    }

    def __init__(self, config: ToolCallsConfig) -> None:
        super().__init__(config)
        self._lists: dict[str, list[ToolMatcher]] = {
            name: [
                ToolMatcher(entry, config.dialect, (name, place)) for place, entry in enumerate(getattr(config, name))
            ]
            for name in _LISTS
        }

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Match each distinct text of the batch once, then grade row by row."""
        for matchers in self._lists.values():
            for matcher in matchers:
                matcher.prepare(batch.rows)
        return super().grade_batch(batch)

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Every list in turn; the first that surely fails decides."""
        calls = recorded_calls(trajectory)
        details = {"malformed_args": count} if (count := malformed(trajectory.tool_calls)) else None
        is_open = False
        for holds, failure in self._checks(calls):
            if holds is False:
                return verdict(False, failure, details=details)
            is_open = is_open or holds is None
        if is_open:
            return error(ErrorType.REGEX_RESOURCE_LIMIT, "a pattern hit a limit", details=details)
        return verdict(True, f"all conditions hold over {len(calls)} tool calls", details=details)

    def _checks(self, calls: Sequence[RecordedCall]) -> list[tuple[bool | None, str]]:
        checks = [
            (_enough(matcher, calls), f'no call matches the required "{_label(matcher)}" often enough')
            for matcher in self._lists["require"]
        ]
        for matcher in self._lists["forbid"]:
            found = any_true(matcher.matches(call) for call in calls)
            checks.append((None if found is None else not found, f'a call matches the forbidden "{_label(matcher)}"'))
        if sequence := self._lists["sequence"]:
            names = ", ".join(_label(matcher) for matcher in sequence)
            checks.append((_in_sequence(sequence, calls), f"the calls do not match in this order: {names}"))
        if parallel := self._lists["parallel"]:
            names = ", ".join(_label(matcher) for matcher in parallel)
            checks.append((_side_by_side(parallel, calls), f"no step holds matching calls for all of: {names}"))
        return checks


def _label(matcher: ToolMatcher) -> str:
    return matcher.wanted.name


def _enough(matcher: ToolMatcher, calls: Sequence[RecordedCall]) -> bool | None:
    answers = [matcher.matches(call) for call in calls]
    least = matcher.wanted.min_count or 1
    surely = answers.count(True)
    return between(surely >= least, surely + answers.count(None) >= least)


def _in_sequence(sequence: Sequence[ToolMatcher], calls: Sequence[RecordedCall]) -> bool | None:
    answers = [[matcher.matches(call) for call in calls] for matcher in sequence]
    size = len(calls)
    surely = in_order(len(sequence), size, lambda item, place: answers[item][place] is True) is not None
    return between(
        surely,
        surely or in_order(len(sequence), size, lambda item, place: answers[item][place] is not False) is not None,
    )


def _side_by_side(parallel: Sequence[ToolMatcher], calls: Sequence[RecordedCall]) -> bool | None:
    steps: dict[int, list[RecordedCall]] = {}
    for call in calls:
        steps.setdefault(call.step, []).append(call)
    return any_true(_step_holds(parallel, step) for step in steps.values())


def _step_holds(parallel: Sequence[ToolMatcher], step: Sequence[RecordedCall]) -> bool | None:
    answers = [[matcher.matches(call) for call in step] for matcher in parallel]
    surely = [[place for place, answer in enumerate(line) if answer is True] for line in answers]
    possibly = [[place for place, answer in enumerate(line) if answer is not False] for line in answers]
    return between(_all_paired(surely, len(step)), _all_paired(possibly, len(step)))


def _all_paired(choices: Sequence[Sequence[int]], size: int) -> bool:
    return None not in largest_matching(choices, size)
