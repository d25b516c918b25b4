"""What becomes of one question: a choice that was offered, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graders.judges.request import JudgeRequest, TokenUsage
from schemas.score import ErrorType, Status


@dataclass(frozen=True, slots=True)
class Choice:
    """A reply that was checked against what was offered, with the verdict that we make of it."""

    status: Status
    score: float | None
    """0..1, higher is better."""
    native_score: float | None = None
    label: str | None = None
    reasoning: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mistake:
    """Why a reply can't be used. `message` is shown to the judge and stored: it never quotes the reply."""

    kind: str
    """A short stable word: `prose`, `off_menu_level`, `number_as_text`…"""
    message: str
    error_type: ErrorType = ErrorType.JUDGE_INVALID_RESPONSE
    repairable: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a question has no answer."""

    error_type: ErrorType
    kind: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of one question, with all that its calls cost, failed ones and repairs included."""

    request: JudgeRequest
    outcome: Choice | Failure
    usage: TokenUsage = field(default_factory=TokenUsage)
    attempts: int = 0
    """Calls made for it; 0 for an answer from the cache or shared with an equal question."""
    repairs: int = 0
    cached: bool = False
    model: str | None = None
    response_id: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    """More for `details_json`: calls whose price nobody knows, the original usage of a cached answer…"""
