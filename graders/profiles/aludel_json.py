"""Aludel's JSON assertions.

What differs from the canonical graders:

| Aludel | here |
|---|---|
| one Markdown fence around the output is stripped | `json_fences: strip` |
| `json_field` paths are keys between dots; a key looked for in a list or scalar is an error | `path_style: keys` |
| a missing path or leaf is null | `missing_is_null: true` |
| inside containers 1 and 1.0 differ (`json_field` alone) | `container_comparison: encoded` |
| `json_deep_compare` scores 0..100, rounded to one decimal before the threshold | `scale: 100`, `round_digits: 1` |
"""

from __future__ import annotations

from typing import Any

from graders.profiles import Translation
from graders.profiles.fields import Fields


def json_field(config: dict[str, Any]) -> dict[str, Any]:
    """`{field, expected}`."""
    fields = Fields(config)
    path = fields.text("field", required=True, not_blank=True)
    expected = fields.anything("expected", required=True)
    if isinstance(expected, str) and not expected.strip():
        fields.problem("expected", "must not be blank")
    fields.done()
    return {
        "type": "json-field",
        "path": path,
        "path_style": "keys",
        "expected": expected,
        "missing_is_null": True,
        "container_comparison": "encoded",
        "json_fences": "strip",
    }


def json_deep_compare(config: dict[str, Any]) -> dict[str, Any]:
    """`{expected, threshold = 100}`."""
    fields = Fields(config)
    expected = fields.anything("expected", required=True)
    if "expected" in config and not isinstance(expected, (dict, list)):
        fields.problem("expected", "must be an object or a list")
    threshold = fields.number("threshold", low=0, high=100)
    fields.done()
    return {
        "type": "json-deep-compare",
        "expected": expected,
        "scale": 100,
        "threshold": 100.0 if threshold is None else threshold,
        "round_digits": 1,
        "missing_is_null": True,
        "json_fences": "strip",
    }


TRANSLATIONS: dict[str, Translation] = {
    "json_field": json_field,
    "json_deep_compare": json_deep_compare,
}
