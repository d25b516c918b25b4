"""Outcomes given in any form, and reducing repeated attempts at one task to one outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from schemas.score import Score, Status

Reducer = Literal["all", "any", "majority", "minimum_pass_rate"]
_WORDS = {status.value: status for status in Status} | {
    "passed": Status.PASS,
    "failed": Status.FAIL,
    "unavailable": Status.ERROR,
    "success": Status.PASS,
}


def status_of(outcome: Any) -> Status:
    """The status of an outcome: a `Score`, a status word, a boolean, None (an error), or an object with one of these.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(outcome, Score):
        return outcome.status
    if isinstance(outcome, Status):
        return outcome
    if isinstance(outcome, bool):
        return Status.PASS if outcome else Status.FAIL
    if outcome is None:
        return Status.ERROR
    if isinstance(outcome, str) and outcome in _WORDS:
        return _WORDS[outcome]
    if isinstance(outcome, Mapping):
        return status_of(outcome["status"] if outcome.get("status") is not None else outcome.get("passed"))
    raise ValueError(f"an outcome is a status, a boolean or an object with one, not {type(outcome).__name__}")


def reduce_attempts(statuses: Sequence[Status], reducer: Reducer, minimum_pass_rate: float | None = None) -> Status:
    """One outcome of repeated attempts: all, any, a strict majority or at least a share of them must pass.

    An attempt that is an error could have gone either way: where that would change the outcome, the outcome is an error
    too.
    """
    total = len(statuses)
    passed = statuses.count(Status.PASS)
    failed = statuses.count(Status.FAIL)
    at_worst = _enough(passed, total, reducer, minimum_pass_rate)
    at_best = _enough(total - failed, total, reducer, minimum_pass_rate)
    return Status.PASS if at_worst else Status.ERROR if at_best else Status.FAIL


def _enough(passed: int, total: int, reducer: Reducer, minimum_pass_rate: float | None) -> bool:
    if reducer == "all":
        return passed == total
    if reducer == "any":
        return passed > 0
    if reducer == "majority":
        return 2 * passed > total
    return total > 0 and passed / total >= (minimum_pass_rate or 0.0)
