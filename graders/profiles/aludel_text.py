"""Aludel's text assertions: contains, not_contains, exact_match and regex, all with one field, `value`."""

from __future__ import annotations

from typing import Any

from graders.profiles import Translation
from graders.profiles.fields import Fields

#: Aludel's wall-clock ceiling of one match, in milliseconds.
WALL_MS = 250


def regex(config: dict[str, Any]) -> dict[str, Any]:
    """`{value}`: a PCRE pattern."""
    return {"type": "regex", "pattern": _value(config), "dialect": "pcre", "limits": {"wall_ms": WALL_MS}}


def contains(config: dict[str, Any]) -> dict[str, Any]:
    """`{value}`: a literal, case-sensitive."""
    return {"type": "contains", "texts": [_value(config)]}


def not_contains(config: dict[str, Any]) -> dict[str, Any]:
    """`{value}`: a literal that must be absent, case-sensitive."""
    return {"type": "not-contains", "texts": [_value(config)]}


def exact_match(config: dict[str, Any]) -> dict[str, Any]:
    """`{value}`: the whole output, nothing trimmed."""
    return {"type": "exact", "value": _value(config)}


def _value(config: dict[str, Any]) -> str | None:
    fields = Fields(config)
    value = fields.text("value", required=True, not_blank=True)
    fields.done()
    return value


TRANSLATIONS: dict[str, Translation] = {
    "regex": regex,
    "contains": contains,
    "not_contains": not_contains,
    "exact_match": exact_match,
}
