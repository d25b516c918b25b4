"""`assistant-contains-tool-output`: a value out of a tool's result has to stand in what the agent says afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from graders.capturing import CapturingPattern, NotCaptured
from graders.grade_batch import GradeBatch
from graders.grader import GraderConfig, RowGrader
from graders.pattern_memo import Dialect, PatternMemo, any_of
from graders.three_valued import all_true, any_true
from graders.tool_records import results_by_call
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error, verdict
from schemas.text import bounded
from schemas.trajectory import ToolResult, Trajectory

_LONGEST_SHOWN = 100


class EchoConfig(GraderConfig):
    """Whose results, and which value in them."""

    tools: list[str] = Field(min_length=1)
    """Patterns searched for in the tool's name."""
    pattern: str = Field(min_length=1)
    """Searched for in each result; its first capturing group is the value, or the whole match where it has none."""
    dialect: Dialect = "python"
    match: Literal["any", "all"] = "any"
    """Whether one of the captured values has to be repeated, or every one."""
    case_sensitive: bool = True


class AssistantContainsToolOutput(RowGrader[EchoConfig]):
    """Passes when a later assistant message repeats the value. Without any captured value it fails.

    Where the log does not order results among the messages, any assistant message counts as later.
    """

    type = "assistant-contains-tool-output"
    config_model = EchoConfig
    example: ClassVar[Mapping[str, Any]] = {"tools": ["^create_ticket$"], "pattern": "(TICKET-[0-9]+)"}

    def __init__(self, config: EchoConfig) -> None:
        super().__init__(config)
        self._tools = [
            PatternMemo(pattern, config.dialect, ("tools", place)) for place, pattern in enumerate(config.tools)
        ]
        self._pattern = CapturingPattern(config.pattern, config.dialect, ("pattern",))
        self._captured: dict[str, str | NotCaptured] = {}

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Match the names and capture the values of the batch at once, then grade row by row."""
        for pattern in self._tools:
            pattern.prepare(call.name for row in batch.rows for call in row.tool_calls)
        self._captured.clear()
        self._capture(result.text for row in batch.rows for result, _ in self._watched(row) if result.text is not None)
        return super().grade_batch(batch)

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Look for each captured value in the messages after its result."""
        answers: list[bool | None] = []
        values: list[str] = []
        for result, watched in self._watched(trajectory):
            if result.text is None:
                continue
            if result.text not in self._captured:
                self._capture((result.text,))
            value = self._captured[result.text]
            if value is NotCaptured.NO_MATCH:
                continue
            if not isinstance(value, str):
                answers.append(None)
                continue
            repeated = self._repeated(trajectory, value, result.message_index)
            answers.append(repeated if watched or not repeated else None)
            values.append(value)
        if not answers:
            return verdict(False, "no tool result holds a value to be repeated")
        passed = any_true(answers) if self.config.match == "any" else all_true(answers)
        if passed is None:
            return error(ErrorType.REGEX_RESOURCE_LIMIT, "a pattern hit a limit")
        shown = bounded(values[0], _LONGEST_SHOWN) if values else ""
        return verdict(passed, f"{answers.count(True)} of {len(answers)} values are repeated (the first is '{shown}')")

    def _capture(self, texts: Iterable[str]) -> None:
        new = list({text for text in texts if text not in self._captured})
        if new:
            self._captured.update(zip(new, self._pattern.capture(new), strict=True))

    def _watched(self, trajectory: Trajectory) -> list[tuple[ToolResult, bool | None]]:
        """The results of the watched tools; None beside one of which a limit left open whether it is watched."""
        bound = results_by_call(trajectory)
        named = [
            (result, any_of(self._tools, call.name))
            for call, result in zip(trajectory.tool_calls, bound, strict=True)
            if result is not None
        ]
        return [(result, watched) for result, watched in named if watched is not False]

    def _repeated(self, trajectory: Trajectory, value: str, after: int | None) -> bool:
        wanted = value if self.config.case_sensitive else value.lower()
        spoken = [
            message.text
            for index, message in enumerate(trajectory.messages)
            if message.role == "assistant"
            and message.text is not None
            and message.own_words
            and (after is None or index > after)
        ]
        if not trajectory.messages and trajectory.output is not None:
            spoken = [trajectory.output]
        return any(wanted in (text if self.config.case_sensitive else text.lower()) for text in spoken)
