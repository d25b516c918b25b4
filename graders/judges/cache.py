"""Answers that were paid for once: what is kept of them, and what keeps them. Errors are never kept."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import orjson

from graders.judges.request import JudgeReply, TokenUsage


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A usable reply with the usage of the calls that led to it."""

    text: str
    model: str | None
    response_id: str | None
    usage: TokenUsage

    def to_bytes(self) -> bytes:
        """As compact JSON."""
        usage = self.usage
        cost = None if usage.cost_usd is None else str(usage.cost_usd)
        tokens = [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, cost]
        return orjson.dumps([self.text, self.model, self.response_id, tokens])

    @classmethod
    def from_bytes(cls, data: bytes) -> CachedReply | None:
        """What `to_bytes` made; None for anything else."""
        try:
            text, model, response_id, (given, made, cached, cost) = orjson.loads(data)
        except (orjson.JSONDecodeError, ValueError, TypeError):
            return None
        if not isinstance(text, str):
            return None
        return cls(text, model, response_id, TokenUsage(given, made, cached, None if cost is None else Decimal(cost)))

    def as_reply(self) -> JudgeReply:
        """The reply as it came, without usage: it costs nothing now."""
        return JudgeReply(text=self.text, model=self.model, response_id=self.response_id)

    def usage_details(self) -> dict[str, Any]:
        """The original usage, for the row's details."""
        usage = self.usage
        return {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": None if usage.cost_usd is None else str(usage.cost_usd),
        }


class ReplyCache(Protocol):
    """Keeps replies by key beyond one process. Used from the runner's event loop: every method must be quick."""

    def get(self, key: str) -> CachedReply | None:
        """The reply under a key (64 hex digits), None where there is none."""

    def put(self, key: str, reply: CachedReply) -> None:
        """Keep a reply. It may be lost in a crash for at most two seconds."""

    def flush(self) -> None:
        """Make everything that was put durable."""

    def close(self) -> None:
        """Flush and end."""


class RecentReplies:
    """The last so many replies in memory. Alone it is the cache of a process that keeps nothing."""

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._replies: OrderedDict[str, CachedReply] = OrderedDict()

    def get(self, key: str) -> CachedReply | None:
        """The reply under a key."""
        found = self._replies.get(key)
        if found is not None:
            self._replies.move_to_end(key)
        return found

    def put(self, key: str, reply: CachedReply) -> None:
        """Keep a reply, dropping the one that was not used for longest."""
        self._replies[key] = reply
        self._replies.move_to_end(key)
        if len(self._replies) > self._most:
            self._replies.popitem(last=False)

    def flush(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""
