"""Reading a judge's reply strictly: one JSON object, fields of the right type, finite numbers, nothing guessed.

One Markdown fence around the whole reply is forgiven; prose around the object is not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any

from graders.judges.choice import Mistake
from graders.judges.request import JudgeReply
from schemas.score import ErrorType

MAX_REASONING = 4_000
_FENCE = re.compile(r"\A```(?:json|JSON)?[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL)


class _Refused(ValueError):
    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.kind)
        self.mistake = mistake


def object_of(reply: JudgeReply) -> dict[str, Any] | Mistake:
    """The reply's JSON object, or what is wrong with the reply as a whole."""
    if reply.refused:
        return Mistake("refusal", "the judge refused to answer", ErrorType.JUDGE_REFUSED, repairable=False)
    if reply.finish_reason == "length":
        return Mistake(
            "truncated", "the reply was cut off at max_tokens: reason more briefly", ErrorType.JUDGE_TRUNCATED
        )
    if reply.value is not None:
        return (
            reply.value if isinstance(reply.value, dict) else Mistake("not_an_object", "the reply is not a JSON object")
        )
    text = (reply.text or "").strip()
    if not text:
        return Mistake("empty", "the reply is empty")
    fenced = _FENCE.match(text)
    try:
        value = json.loads(
            fenced.group(1) if fenced else text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant
        )
    except _Refused as refused:
        return refused.mistake
    except (ValueError, RecursionError):
        if "{" not in text:
            return Mistake("prose", "the reply is not JSON")
        return Mistake("malformed_json", "the reply is not one valid JSON object, or has text around it")
    return value if isinstance(value, dict) else Mistake("not_an_object", "the reply is not a JSON object")


def number_in(value: Any, low: float, high: float, what: str) -> float | Mistake:
    """`value` as a finite number within `low`..`high`, both included."""
    if isinstance(value, str):
        return Mistake("number_as_text", f'"{what}" must be a number, not text')
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Mistake("wrong_type", f'"{what}" must be a number')
    if isinstance(value, float) and not math.isfinite(value):
        return Mistake("not_a_number", f'"{what}" must be a finite number')
    if not low <= value <= high:
        return Mistake("out_of_range", f'"{what}" must be between {low:g} and {high:g}')
    return float(value)


def fields_of(
    reply: dict[str, Any], required: Collection[str], *, optional: Collection[str] = (), ignore_others: bool = False
) -> Mistake | None:
    """What is wrong with the reply's set of fields. Names of unknown fields are not quoted: the judge wrote them."""
    for name in required:
        if name not in reply:
            return Mistake("missing_field", f'the field "{name}" is missing')
    if not ignore_others and any(name not in required and name not in optional for name in reply):
        offered = ", ".join(f'"{name}"' for name in (*optional, *required))
        return Mistake("unexpected_field", f"the reply has fields that were not asked for; only {offered} are")
    return None


def reasoning_in(reply: dict[str, Any], *, required: bool) -> str | Mistake | None:
    """The reply's reasoning, cut at 4,000 code points. Where it is there it must be text that says something."""
    if "reasoning" not in reply:
        return Mistake("missing_field", 'the field "reasoning" is missing') if required else None
    text = reply["reasoning"]
    if not isinstance(text, str):
        return Mistake("wrong_type", '"reasoning" must be text')
    if not text.strip():
        return Mistake("blank_reasoning", '"reasoning" must not be blank')
    return text[:MAX_REASONING]


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused(Mistake("contradiction", "the reply gives the same field twice"))
    return found


def _refuse_constant(name: str) -> Any:
    raise _Refused(Mistake("not_a_number", "the reply holds a number that is not finite"))
