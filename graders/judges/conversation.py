"""One question from asking to its end: an unusable reply is shown to the judge with its mistake, at most twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graders.judges.choice import Choice, Failure, Mistake
from graders.judges.reply import object_of
from graders.judges.request import ChatMessage, JudgeReply, JudgeRequest

MAX_REPAIRS = 2
MAX_SHOWN_REPLY = 4_000
MAX_REPLY_EXCERPT = 500

Reader = Callable[[dict[str, Any]], "Choice | Mistake"]


def take_reply(request: JudgeRequest, reply: JudgeReply, read: Reader) -> Choice | Failure | JudgeRequest:
    """A usable choice, the failure that ends the question, or the next request, which shows the judge its mistake.

    Args:
        request: what was asked, with the repairs that it already holds.
        reply: what came back.
        read: checks the reply's object against what was offered.
    """
    found = object_of(reply)
    outcome = found if isinstance(found, Mistake) else read(found)
    if isinstance(outcome, Choice):
        return outcome
    if not outcome.repairable or request.repair >= MAX_REPAIRS:
        return Failure(outcome.error_type, outcome.kind, outcome.message, _excerpt(reply))
    shown = (reply.text if reply.value is None else str(reply.value)) or "(empty)"
    correction = (
        f"Your reply could not be used: {outcome.message}. "
        "Answer again with the one JSON object that was asked for and nothing else."
    )
    messages = (
        *request.messages,
        ChatMessage("assistant", shown[:MAX_SHOWN_REPLY]),
        ChatMessage("user", correction),
    )
    return replace(request, messages=messages, repair=request.repair + 1)


def _excerpt(reply: JudgeReply) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if reply.text:
        details["reply_excerpt"] = reply.text[:MAX_REPLY_EXCERPT]
    if reply.finish_reason is not None:
        details["finish_reason"] = reply.finish_reason[:40]
    return details
