"""A score: the outcome of one grader on one trajectory, and the closed sets its fields draw from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

SCHEMA_VERSION = 1

#: Longest text kept in a column, in code points; longer text is cut there.
MAX_EXPLANATION = 2_000
MAX_QUOTE = 200
MAX_EVIDENCE = 5


class Status(str, Enum):
    """What came of a check. Only `pass` and `fail` are verdicts."""

    PASS = "pass"
    FAIL = "fail"
    SCORED = "scored"
    ERROR = "error"
    SKIPPED = "skipped"


class ErrorType(str, Enum):
    """Why a check could not be made: a closed set; finer kinds go into `details_json`."""

    INVALID_PATTERN = "invalid_pattern"
    REGEX_RESOURCE_LIMIT = "regex_resource_limit"
    SCHEMA_RESOURCE_LIMIT = "schema_resource_limit"
    NON_FINITE_SCORE = "non_finite_score"
    MISSING_REFERENCE = "missing_reference"
    MISSING_OUTPUT = "missing_output"
    MISSING_FIELD = "missing_field"
    TURN_OUT_OF_RANGE = "turn_out_of_range"
    JUDGE_INVALID_RESPONSE = "judge_invalid_response"
    JUDGE_REFUSED = "judge_refused"
    JUDGE_TRUNCATED = "judge_truncated"
    JUDGE_TIMEOUT = "judge_timeout"
    JUDGE_UNAVAILABLE = "judge_unavailable"
    JUDGE_RATE_LIMITED = "judge_rate_limited"
    JUDGE_BUDGET_EXHAUSTED = "judge_budget_exhausted"
    JUDGE_CONTEXT_OVERFLOW = "judge_context_overflow"
    GRADER_EXCEPTION = "grader_exception"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where in the trajectory the verdict comes from: a span of code points in one message, with a bounded quote."""

    message_index: int | None
    """Index in `messages`; None where the span lies in `output` and no message holds it."""
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Score:
    """One grader's outcome on one trajectory. `score` is 0..1, higher is better; `native_score` is on the grader's scale."""

    status: Status
    score: float | None = None
    native_score: float | None = None
    label: str | None = None
    explanation: str | None = None
    evidence: tuple[Evidence, ...] = ()
    details: Mapping[str, Any] | None = None
    error_type: ErrorType | None = None
    error_message: str | None = None
    """Never contains the graded output."""
    skip_reason: str | None = None
    duration_us: int | None = None
    attempts: int = 1
    cached: bool = False
    judge_route: str | None = None
    judge_model: str | None = None
    judge_response_id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cost_usd: Decimal | None = None
    grader_name: str = ""
    grader_type: str = ""
    grader_hash: str = ""

    @property
    def passed(self) -> bool | None:
        """True for pass, False for fail, None for everything that is not a verdict."""
        return {Status.PASS: True, Status.FAIL: False}.get(self.status)


def verdict(passed: bool, explanation: str | None = None, **more: Any) -> Score:
    """A pass or fail with score 1 or 0 unless `more` says another score."""
    more.setdefault("score", 1.0 if passed else 0.0)
    return Score(Status.PASS if passed else Status.FAIL, explanation=explanation, **more)


def error(error_type: ErrorType, message: str, **more: Any) -> Score:
    """A check that could not be made."""
    return Score(Status.ERROR, error_type=error_type, error_message=message, **more)


def skipped(reason: str, **more: Any) -> Score:
    """A check that does not apply to this trajectory."""
    return Score(Status.SKIPPED, skip_reason=reason, **more)
