"""Quality policies as Aludel has them: rules over a suite's results; missing evidence is neither passed nor failed.

Rules: `overall_pass_rate {minimum}`, `metadata_pass_rate {metadata, minimum}`, `evaluator_score {metric, minimum}`
    (0..100, completed
evaluations alone), `total_cost_usd {maximum}`, `average_latency_ms {maximum}`. Bounds are inclusive and compared
unrounded.

Unlike there, a result that is an error is not counted as a failed one: where it could turn a rule round, the rule is
`error`. A cost or latency that some results lack is `error` too, unless a summary gives the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator

from graders.attempts import status_of
from schemas.score import Status

MAX_DEFINITION_BYTES = 100_000


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=100, pattern=r"\S")


class OverallPassRate(_Rule):
    """The share of passed results is at least `minimum`."""

    type: Literal["overall_pass_rate"]
    minimum: float = Field(ge=0, le=1)


class MetadataPassRate(_Rule):
    """The share of passed ones among the results that carry all of `metadata`."""

    type: Literal["metadata_pass_rate"]
    metadata: dict[str, Any] = Field(min_length=1)
    minimum: float = Field(ge=0, le=1)


class EvaluatorScore(_Rule):
    """The mean score (0..100) of one metric's completed evaluations."""

    type: Literal["evaluator_score"]
    metric: str = Field(min_length=1, max_length=100, pattern=r"\S")
    minimum: float = Field(ge=0, le=100)


class Budget(_Rule):
    """The sum of costs or the mean latency is at most `maximum`."""

    type: Literal["total_cost_usd", "average_latency_ms"]
    maximum: float = Field(ge=0)


Rule = OverallPassRate | MetadataPassRate | EvaluatorScore | Budget


class QualityPolicy(BaseModel):
    """Version 1 of a policy."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    rules: list[Annotated[Rule, Field(discriminator="type")]] = Field(min_length=1, max_length=50)

    @field_validator("rules")
    @classmethod
    def _distinct(cls, rules: list[Rule]) -> list[Rule]:
        if len({rule.id for rule in rules}) < len(rules):
            raise ValueError("rule ids must be unique")
        if len(orjson.dumps([rule.model_dump() for rule in rules])) > MAX_DEFINITION_BYTES:
            raise ValueError(f"a policy is at most {MAX_DEFINITION_BYTES} bytes")
        return rules


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What came of one rule: `actual` is the measured value, None where there is none; `n` results stand behind it."""

    id: str
    status: Status
    actual: float | None
    n: int
    errors: int = 0


def apply_rule(rule: Rule, results: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> RuleResult:
    """One rule on the results.

    A result has `status` or `passed`, and may have `metadata`, `scores` (0..1 by metric) or Aludel's
    `assertion_results`, `cost_usd` and `latency_ms`.
    """
    if isinstance(rule, OverallPassRate):
        return _rate(rule.id, rule.minimum, results)
    if isinstance(rule, MetadataPassRate):
        wanted = rule.metadata.items()
        return _rate(
            rule.id, rule.minimum, [one for one in results if all(_metadata(one).get(k) == v for k, v in wanted)]
        )
    if isinstance(rule, EvaluatorScore):
        scores = [score for one in results for score in _scores(one, rule.metric)]
        mean = sum(scores) / len(scores) if scores else None
        return RuleResult(rule.id, _decided(mean, mean is not None and mean >= rule.minimum), mean, len(scores))
    is_cost = rule.type == "total_cost_usd"
    actual = _number(summary.get("total_cost_usd" if is_cost else "avg_latency_ms"))
    if actual is None:
        known = [_number(one.get("cost_usd" if is_cost else "latency_ms")) for one in results]
        values = [value for value in known if value is not None]
        if values and len(values) == len(known):
            actual = sum(values) if is_cost else sum(values) / len(values)
    return RuleResult(rule.id, _decided(actual, actual is not None and actual <= rule.maximum), actual, len(results))


def overall(rules: Sequence[RuleResult]) -> Status:
    """The policy's status: a rule without evidence outranks a failed one, as Aludel's `unavailable` does."""
    statuses = [rule.status for rule in rules]
    return Status.ERROR if Status.ERROR in statuses else Status.FAIL if Status.FAIL in statuses else Status.PASS


def _rate(rule_id: str, minimum: float, results: Sequence[Mapping[str, Any]]) -> RuleResult:
    statuses = [status_of(one) for one in results]
    total = len(statuses)
    if not total:
        return RuleResult(rule_id, Status.ERROR, None, 0)
    passed = statuses.count(Status.PASS)
    errors = total - passed - statuses.count(Status.FAIL)
    graded = total - errors
    status = (
        Status.PASS
        if passed / total >= minimum
        else Status.FAIL
        if (passed + errors) / total < minimum
        else Status.ERROR
    )
    return RuleResult(rule_id, status, passed / graded if graded else None, graded, errors)


def _scores(result: Mapping[str, Any], metric: str) -> list[float]:
    own = _number((result.get("scores") or {}).get(metric))
    found = [] if own is None else [100.0 * own]
    for attempt in result.get("attempts") or (result,):
        for evaluation in attempt.get("assertion_results") or ():
            completed = (evaluation.get("evaluator") or {"status": "completed"}).get("status") == "completed"
            score = _number(evaluation.get("score"))
            if evaluation.get("type") == metric and completed and score is not None:
                found.append(score)
    return found


def _metadata(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return result.get("metadata") or result.get("test_case_metadata") or {}


def _decided(actual: float | None, met: bool) -> Status:
    return Status.ERROR if actual is None else Status.PASS if met else Status.FAIL


def _number(value: Any) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
