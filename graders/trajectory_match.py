"""`trajectory-match`: the run's tool calls against reference calls, as multisets paired by a matching.

Modes and their sources: `exact`, `in-order`, `any-order` and `single-tool` as Vertex AI's trajectory metrics publish
them (the last three allow other calls beside the reference's), `superset`, `subset` and `unordered` as in LangChain's
agentevals; `precision`, `recall` and `f1` over the largest matching. A share of nothing is 1 where both sides are
empty and 0 where one is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_serializer, model_validator

from graders.bipartite import in_order, largest_matching
from graders.call_arguments import ArgumentsMode, CallComparison, Called, called_of
from graders.grader import GraderConfig, RowGrader
from graders.json_output import without_reference
from graders.json_values import storable_json
from graders.taxonomy import Taxonomy
from schemas.score import ErrorType, Score, Status, error, verdict
from schemas.trajectory import Trajectory

Mode = Literal[
    "exact", "in-order", "any-order", "unordered", "subset", "superset", "single-tool", "precision", "recall", "f1"
]
_MEASURES = ("precision", "recall", "f1")
_MOST_PAIRS = 250_000
_MOST_LISTED = 20


class ReferenceCall(GraderConfig):
    """An expected call."""

    name: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)

    @field_serializer("arguments")
    def _storable(self, arguments: Any) -> Any:
        return storable_json(arguments)


class TrajectoryMatchConfig(GraderConfig):
    """How the calls have to agree."""

    mode: Mode
    expected: list[ReferenceCall] | None = None
    """Absent: the trajectory's own `reference_tool_calls`."""
    arguments: ArgumentsMode = "exact"
    """`exact`: the same values; `subset`: at least the expected ones, at any depth; `ignore`: the names alone."""
    tool_arguments: dict[str, ArgumentsMode | list[str]] = Field(default_factory=dict)
    """By tool: a mode of its own, or the names of the arguments that are compared."""
    tool: str | None = None
    """For `single-tool`: the tool that has to be called at least once."""
    forbid: list[str] = Field(default_factory=list)
    """Tools that must not be called at all, whatever the mode."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """For `precision`, `recall` and `f1`: the least that passes; absent, they only score."""
    normalize_unicode: bool = False
    """Compare texts in NFC, so that é as one character or as two is the same."""
    on_missing_reference: Literal["error", "fail", "skip"] = "skip"

    @model_validator(mode="after")
    def _consistent(self) -> TrajectoryMatchConfig:
        if (self.mode == "single-tool") != (self.tool is not None):
            raise ValueError("tool goes with mode single-tool, and only with it")
        if self.mode == "single-tool" and self.expected is not None:
            raise ValueError("mode single-tool has no expected calls")
        if self.threshold is not None and self.mode not in _MEASURES:
            raise ValueError("threshold goes with the modes precision, recall and f1")
        return self


class TrajectoryMatch(RowGrader[TrajectoryMatchConfig]):
    """Passes when the calls agree with the reference as `mode` says; the details hold precision, recall and F1."""

    type = "trajectory-match"
    config_model = TrajectoryMatchConfig
    taxonomy = Taxonomy(reference="reference-based")
    example: ClassVar[Mapping[str, Any]] = {
        "mode": "any-order",
        "expected": [{"name": "search", "arguments": {"query": "refund policy"}}, {"name": "answer"}],
        "tool_arguments": {"answer": "ignore"},
    }

    def __init__(self, config: TrajectoryMatchConfig) -> None:
        super().__init__(config)
        self._comparison = CallComparison(config.arguments, config.tool_arguments, config.normalize_unicode)
        self._expected = (
            None
            if config.expected is None
            else [self._comparison.prepared(Called(call.name, call.arguments)) for call in config.expected]
        )

    @property
    def gives_verdict(self) -> bool:
        """A measure without a threshold gives a number."""
        return self.config.threshold is not None or self.config.mode not in ("precision", "recall", "f1")

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Compare this run's calls with the reference's."""
        actual = [called_of(call) for call in trajectory.tool_calls]
        forbidden = sorted({call.name for call in actual} & set(self.config.forbid))
        if self.config.mode == "single-tool":
            used = any(call.name == self.config.tool for call in actual)
            text = f"{self.config.tool} was {'called' if used else 'not called'}"
            return verdict(used and not forbidden, text if not forbidden else _forbidden_text(forbidden))
        expected, outcome = self._reference(trajectory)
        if outcome is not None:
            return outcome
        names = {call.name for call in expected}
        actual = [self._comparison.prepared(call) if call.name in names else call for call in actual]
        partners = self._pairs(expected, actual)
        if partners is None:
            return error(ErrorType.SCHEMA_RESOURCE_LIMIT, f"more than {_MOST_PAIRS} pairs of calls to compare")
        matched = sum(partner is not None for partner in partners)
        measures = _measures(matched, len(expected), len(actual))
        details = _details(measures, expected, actual, partners)
        if forbidden:
            return verdict(False, _forbidden_text(forbidden), details={**details, "forbidden": forbidden})
        text = f"{matched} of {len(expected)} expected calls found among {len(actual)}"
        if self.config.mode in _MEASURES:
            value = measures[self.config.mode]
            if self.config.threshold is None:
                return Score(Status.SCORED, score=value, native_score=value, explanation=text, details=details)
            passed = value >= self.config.threshold
            return verdict(passed, text, score=value, native_score=value, details=details)
        return verdict(self._agrees(expected, actual, matched), text, details=details)

    def _agrees(self, expected: Sequence[Called], actual: Sequence[Called], matched: int) -> bool:
        mode = self.config.mode
        if mode == "exact":
            return len(expected) == len(actual) and all(map(self._comparison.fits, expected, actual))
        if mode == "in-order":
            fits = self._comparison.fits
            found = in_order(len(expected), len(actual), lambda item, place: fits(expected[item], actual[place]))
            return found is not None
        all_expected = matched == len(expected)
        all_actual = matched == len(actual)
        if mode == "unordered":
            return all_expected and all_actual
        return all_actual if mode == "subset" else all_expected

    def _pairs(self, expected: Sequence[Called], actual: Sequence[Called]) -> list[int | None] | None:
        """For each expected call its partner in a largest matching; None where there is too much to compare."""
        by_name: dict[str, list[int]] = {}
        for place, call in enumerate(actual):
            by_name.setdefault(call.name, []).append(place)
        if sum(len(by_name.get(call.name, ())) for call in expected) > _MOST_PAIRS:
            return None
        fits = self._comparison.fits
        choices = [[place for place in by_name.get(call.name, ()) if fits(call, actual[place])] for call in expected]
        return largest_matching(choices, len(actual))

    def _reference(self, trajectory: Trajectory) -> tuple[Sequence[Called], Score | None]:
        if self._expected is not None:
            return self._expected, None
        extra = json.loads(trajectory.extra_json) if trajectory.extra_json else {}
        recorded = extra.get("reference_tool_calls")
        if recorded is None:
            return (), without_reference(self.config.on_missing_reference)
        calls = [_reference_call(item) for item in recorded] if isinstance(recorded, list) else [None]
        prepared = [self._comparison.prepared(call) for call in calls if call is not None]
        if len(prepared) < len(calls):
            message = "reference_tool_calls must be a list of objects with a name and arguments"
            return (), error(ErrorType.MISSING_REFERENCE, message)
        return prepared, None


def _reference_call(item: Any) -> Called | None:
    """A reference call as logs write it: a name, an object with a name and arguments, or OpenAI's nesting."""
    if isinstance(item, str):
        return Called(item, {})
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("function"), dict):
        item = item["function"]
    name = next(
        (item[key] for key in ("name", "tool_name", "tool", "function_name") if isinstance(item.get(key), str)), None
    )
    if name is None:
        return None
    arguments: Any = next(
        (item[key] for key in ("arguments", "args", "tool_input", "input", "parameters") if key in item), {}
    )
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            return None
    return Called(name, {} if arguments is None else arguments)


def _measures(matched: int, expected: int, actual: int) -> dict[str, float]:
    if not expected and not actual:
        return {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    return {
        "precision": matched / actual if actual else 0.0,
        "recall": matched / expected if expected else 0.0,
        "f1": 2 * matched / (expected + actual),
    }


def _details(
    measures: Mapping[str, float], expected: Sequence[Called], actual: Sequence[Called], partners: Sequence[int | None]
) -> dict[str, Any]:
    paired = set(partners)
    missing = [call.name for call, partner in zip(expected, partners, strict=True) if partner is None]
    extra = [call.name for place, call in enumerate(actual) if place not in paired]
    details: dict[str, Any] = {**measures, "missing": _counted(missing), "extra": _counted(extra)}
    if malformed := sum(call.malformed for call in actual):
        details["malformed_args"] = malformed
    return details


def _counted(names: Sequence[str]) -> dict[str, int]:
    """How often each name occurs, the most frequent ones."""
    return dict(Counter(names).most_common(_MOST_LISTED)) if names else {}


def _forbidden_text(names: Sequence[str]) -> str:
    return f"forbidden tools were called: {', '.join(names[:_MOST_LISTED])}"
