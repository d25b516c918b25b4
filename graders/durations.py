"""Durations as people write them: `90s`, `2m`, `1h30m`, `1500ms`."""

from __future__ import annotations

import re

_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*")


def parse_duration(text: str) -> int:
    """Whole milliseconds of a duration: numbers with units (ms, s, m, h, d), the larger unit first.

    Raises:
        ValueError: it is no duration, a unit is missing, repeated or out of order.
    """
    position = 0
    total = 0.0
    last = float("inf")
    stripped = text.strip()
    while position < len(stripped):
        part = _PART.match(stripped, position)
        if part is None or _MILLISECONDS[part.group(2)] >= last:
            break
        last = _MILLISECONDS[part.group(2)]
        total += float(part.group(1)) * last
        position = part.end()
    if not stripped or position < len(stripped):
        raise ValueError('a duration is numbers with units, like "90s", "2m", "1h30m" or "1500ms"')
    return round(total)
