"""What a judge is asked and what it answers, whoever carries the question: an endpoint, a batch file or a callable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import orjson

from schemas.score import ErrorType


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the conversation with a judge."""

    role: Literal["system", "user", "assistant"]
    content: str

    def as_json(self) -> dict[str, str]:
        """The message as the chat-completions API has it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to one judge: fully rendered, nothing of the transport in it."""

    route: str
    messages: tuple[ChatMessage, ...]
    json_schema: Mapping[str, Any]
    """Of the reply; `reasoning` comes first in it."""
    schema_name: str = "verdict"
    temperature: float | None = 0.0
    """None: not sent."""
    max_tokens: int = 500
    repeat: int = 0
    """Counts equal questions to one route whose answers are wanted apart (votes)."""
    repair: int = 0
    """How many unusable replies this conversation already shows the judge."""
    cut: Mapping[str, Any] = field(default_factory=dict)
    """What windowing left out of the evidence, by evidence kind. Not part of the question."""

    @property
    def cache_key(self) -> str:
        """64 hex digits over all that is asked (who is asked comes in by `route_key`)."""
        asked = [
            [message.as_json() for message in self.messages],
            self.json_schema,
            self.temperature,
            self.max_tokens,
            self.repeat,
        ]
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()

    @property
    def prompt_bytes(self) -> int:
        """UTF-8 bytes of the messages."""
        return sum(len(message.content.encode()) for message in self.messages)


def route_key(request: JudgeRequest, identity: Mapping[str, Any]) -> str:
    """64 hex digits over what is asked and whom: the key of the cache and of equal questions."""
    whom = orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(whom + request.cache_key.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the endpoint counted them, summed over the calls of a judgment. None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cost_usd: Decimal | None = None
    """None where the route has no prices or the endpoint no usage."""

    def plus(self, other: TokenUsage) -> TokenUsage:
        """Both together; an unknown part leaves the known one."""
        return TokenUsage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
            _sum(self.cost_usd, other.cost_usd),
        )


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What came back from one call that went through. `text` is None where the reply has no content."""

    text: str | None = None
    value: Any = None
    """The reply as an object, where a callable gave one instead of text."""
    finish_reason: str | None = None
    refused: bool = False
    model: str | None = None
    response_id: str | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)


class JudgeCallError(Exception):
    """A call to a judge that failed, raised by a `judge=` callable that wants to say how.

    `message` must not quote the graded text: it goes into the row.
    """

    def __init__(
        self, error_type: ErrorType = ErrorType.JUDGE_UNAVAILABLE, message: str = "the judge call failed"
    ) -> None:
        super().__init__(error_type, message)
        self.error_type = error_type
        self.message = message


Judge = Callable[[JudgeRequest], "str | dict[str, Any]"]
"""`judge(request)` returns the reply's text or object and raises for a failed call."""


def _sum(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return left if right is None else right
    return left + right
