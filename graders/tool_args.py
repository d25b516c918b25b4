"""`tool-args`: the arguments of tool calls are valid against a JSON Schema a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_serializer

from graders.call_arguments import called_of
from graders.errors import ConfigError, Problem
from graders.grade_batch import GradeBatch, from_scores
from graders.grader import Grader, GraderConfig
from graders.json_validation import CompiledSchema, Open, Violation, compile_schema, validate_all
from graders.json_validation.drafts import DraftName, named_by
from graders.json_validation.validating import DEPTH_LIMIT
from graders.json_values import storable_json
from graders.text_config import LimitsConfig, match_limits
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error, skipped, verdict

_MOST_LISTED = 20


class ToolArgsConfig(GraderConfig):
    """A schema for each tool that is checked."""

    tools: dict[str, dict[str, Any] | bool] = Field(min_length=1)
    """JSON Schema by the tool's exact name."""
    draft: DraftName | None = None
    """By whose rules; where it is not given, the draft that `$schema` names, else draft 7."""
    other_tools: Literal["ignore", "fail"] = "ignore"
    """What a call of a tool without a schema counts as."""
    on_no_calls: Literal["skip", "pass", "fail"] = "skip"
    """The outcome where no call is checked."""
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    """Lower limits than the system's for each match of a `pattern`."""

    @field_serializer("tools")
    def _storable(self, tools: dict[str, Any]) -> Any:
        return {name: storable_json(schema) for name, schema in tools.items()}


class ToolArgs(Grader[ToolArgsConfig]):
    """Passes when the arguments of every checked call are valid. Arguments that are not JSON are not valid.

    The score is the share of valid calls. Absent arguments count as `{}`.
    """

    type = "tool-args"
    config_model = ToolArgsConfig
    example: ClassVar[Mapping[str, Any]] = {
        "tools": {"search": {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}}}
    }

    def __init__(self, config: ToolArgsConfig) -> None:
        super().__init__(config)
        self._schemas: dict[str, CompiledSchema] = {}
        problems: list[Problem] = []
        limits = match_limits(config.limits)
        for name, schema in config.tools.items():
            try:
                self._schemas[name] = compile_schema(schema, config.draft or named_by(schema) or "7", limits=limits)
            except ConfigError as problem:
                problems.extend(item.below("tools", name) for item in problem.problems)
        if problems:
            raise ConfigError(problems)

    def warnings(self) -> Sequence[Problem]:
        """Unknown and ignored keywords of the schemas."""
        return [warning.below("tools", name) for name, schema in self._schemas.items() for warning in schema.warnings]

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Judge all calls of a tool together, then row by row."""
        places: dict[str, list[tuple[int, int]]] = {name: [] for name in self._schemas}
        arguments: dict[str, list[Any]] = {name: [] for name in self._schemas}
        outcomes: list[dict[int, tuple[str, Violation | Open | str | None]]] = [{} for _ in range(len(batch))]
        for row, trajectory in enumerate(batch.rows):
            for number, call in enumerate(trajectory.tool_calls):
                if call.name not in self._schemas:
                    if self.config.other_tools == "fail":
                        outcomes[row][number] = (call.name, "a tool without a schema")
                    continue
                called = called_of(call)
                if called.malformed:
                    outcomes[row][number] = (call.name, "arguments that are not JSON")
                else:
                    places[call.name].append((row, number))
                    arguments[call.name].append(called.arguments)
        for name, schema in self._schemas.items():
            judged = validate_all(schema, arguments[name])
            for (row, number), outcome in zip(places[name], judged, strict=True):
                outcomes[row][number] = (name, outcome)
        return from_scores([self._score(found) for found in outcomes])

    def _score(self, outcomes: Mapping[int, tuple[str, Violation | Open | str | None]]) -> Score:
        if not outcomes:
            reason = "there is no call to check"
            policy = self.config.on_no_calls
            return skipped(reason) if policy == "skip" else verdict(policy == "pass", reason)
        invalid = [
            _described(number, *outcomes[number]) for number in sorted(outcomes) if _is_invalid(*outcomes[number])
        ]
        stopped = [outcome for _, outcome in outcomes.values() if isinstance(outcome, Open)]
        total = len(outcomes)
        if stopped and not invalid:
            depth = stopped[0] is DEPTH_LIMIT
            kind = ErrorType.SCHEMA_RESOURCE_LIMIT if depth else ErrorType.REGEX_RESOURCE_LIMIT
            return error(kind, "a schema hit a limit", details={"limit": stopped[0].limit})
        if not invalid:
            return verdict(True, f"the arguments of all {total} calls are valid")
        score = None if stopped else (total - len(invalid)) / total
        first = invalid[0]
        text = f"{len(invalid)} of {total} calls have invalid arguments; the first: {first['tool']}, {first['problem']}"
        return verdict(False, text, score=score, details={"invalid": invalid[:_MOST_LISTED]})


def _is_invalid(_: str, outcome: Violation | Open | str | None) -> bool:
    return isinstance(outcome, (Violation, str))


def _described(number: int, name: str, outcome: Violation | Open | str | None) -> dict[str, Any]:
    if isinstance(outcome, Violation):
        problem = f"{outcome.keyword} at {outcome.pointer or 'the top'}"
        return {"call": number, "tool": name, "problem": problem, "pointer": outcome.pointer}
    return {"call": number, "tool": name, "problem": outcome}
