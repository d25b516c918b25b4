"""What the graders of JSON outputs share: the output as a JSON value, or the outcome where there is none."""

from __future__ import annotations

from typing import Any, Literal

from graders.grader import GraderConfig
from graders.json_values import Fences, JsonTooLarge, NotJson, decode_json
from schemas.score import ErrorType, Score, error, skipped, verdict
from schemas.trajectory import Trajectory


class JsonOutputConfig(GraderConfig):
    """Options of every grader that reads the output as JSON."""

    json_fences: Fences = "reject"
    """Whether one Markdown code fence around the document is taken away first."""
    on_missing_output: Literal["error", "fail", "skip"] = "error"
    """The outcome where the trajectory has no output at all (an empty text is an output that is not JSON)."""


def json_output(trajectory: Trajectory, config: JsonOutputConfig) -> tuple[Any, Score | None]:
    """(the decoded output, None), or (None, the outcome where it can't be had)."""
    if trajectory.output is None:
        return None, without_output(config.on_missing_output)
    try:
        return decode_json(trajectory.output, config.json_fences), None
    except NotJson as problem:
        return None, verdict(False, f"the output is {problem}" if str(problem).startswith("not") else str(problem))
    except JsonTooLarge as problem:
        return None, error(ErrorType.SCHEMA_RESOURCE_LIMIT, f"the output can't be read as JSON: {problem}")


def without_output(policy: Literal["error", "fail", "skip"]) -> Score:
    """The outcome of a trajectory without output."""
    if policy == "error":
        return error(ErrorType.MISSING_OUTPUT, "the trajectory has no output")
    if policy == "skip":
        return skipped("the trajectory has no output")
    return verdict(False, "the trajectory has no output")


def without_reference(policy: Literal["error", "fail", "skip"]) -> Score:
    """The outcome of a trajectory without reference."""
    if policy == "error":
        return error(ErrorType.MISSING_REFERENCE, "the trajectory has no reference")
    if policy == "skip":
        return skipped("the trajectory has no reference")
    return verdict(False, "the trajectory has no reference")
