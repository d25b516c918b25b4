"""When to try again: full jitter between tries, and what the endpoint's headers ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

BASE_SECONDS = 0.5
CAP_SECONDS = 30.0
#: A reset further away than this is not believed (clock skew, a daily quota: that one is a matter of Retry-After).
MAX_RESET_SECONDS = 120.0
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_REMAINING_AND_RESET = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
)


def backoff_seconds(tries: int, random: float) -> float:
    """Full jitter: uniform between 0 and 0.5 s doubled with every try, at most 30 s.

    Args:
        tries: failed calls so far, from 1.
        random: uniform in 0..1.
    """
    return random * float(min(CAP_SECONDS, BASE_SECONDS * 2 ** min(tries - 1, 20)))


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """What `Retry-After` (seconds or a date) or `retry-after-ms` asks for; `now` is Unix time."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(milliseconds / 1_000, 0.0)
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _number(text)
    if seconds is not None:
        return max(seconds, 0.0)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
    return max(at.timestamp() - now, 0.0)


def exhausted_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """How long until the endpoint's window opens again, where its rate-limit headers say that nothing remains."""
    waits = []
    for remaining_name, reset_name in _REMAINING_AND_RESET:
        remaining = _number(headers.get(remaining_name))
        if remaining is None or remaining > 0:
            continue
        reset = reset_seconds(headers.get(reset_name, ""), now)
        if reset is not None and 0 < reset <= MAX_RESET_SECONDS:
            waits.append(reset)
    return max(waits, default=None)


def reset_seconds(text: str, now: float) -> float | None:
    """A reset as seconds from now: `0.5`, `6m0s`, `20ms`, a Unix time or an RFC 3339 time."""
    number = _number(text)
    if number is not None:
        return number - now if number > 1e9 else number
    match = _DURATION.fullmatch(text.strip())
    if match and text.strip():
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
        return hours * 3_600 + minutes * 60 + seconds + milliseconds / 1_000
    try:
        at = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return at.timestamp() - now if at.tzinfo is not None else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and value == value and abs(value) != float("inf") else None
