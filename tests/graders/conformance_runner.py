"""Running one conformance case through `evaluate` or `graders.roll_up`: the status that comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graders import ConfigError, evaluate
from graders.roll_up import roll_up

_JUDGE_KEYS = ("judge", "judges", "judge_reply", "judge_error")


def status_of(case: Mapping[str, Any]) -> str:
    """The status of a case; a configuration that is refused counts as `error`, but not an unknown type."""
    grader, given = case["grader"], case["input"]
    try:
        if "type" not in grader:
            return roll_up(grader, given).status.value
        record = {key: value for key, value in given.items() if key not in _JUDGE_KEYS}
        return evaluate(grader, record, profile=case["profile"], judge=judge_of(given)).status.value
    except ConfigError as refused:
        if any(problem.path == ("type",) for problem in refused.problems):
            raise
        return "error"


def judge_of(given: Mapping[str, Any]) -> Any:
    """The judge that gives the case's replies, one for each question in order; a question asked again gets the same."""
    if not any(key in given for key in _JUDGE_KEYS):
        return None
    replies = (
        list(given["judges"])
        if "judges" in given
        else [given.get("judge", given.get("judge_reply", {"error": given.get("judge_error")}))]
    )
    asked: list[tuple[str, int]] = []

    def judge(request: Any) -> Any:
        question = (request.route, request.repeat)
        if question not in asked:
            asked.append(question)
        reply = replies[asked.index(question)]
        if isinstance(reply, dict) and "error" in reply:
            raise RuntimeError(reply["error"])
        return reply

    return judge
