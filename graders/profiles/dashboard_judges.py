"""The dashboard's judges: `llm_score` and `llm_checklist`.

What differs from `llm-score` and `llm-checklist`:

| dashboard | here |
|---|---|
| `modelRouteId`, `temperature`, `maxTokens` | `route`, `temperature`, `max_tokens` |
| a reply without reasoning is usable | `reasoning: optional` |
| an output that is missing is judged | `on_missing_output: ask` |
"""

from __future__ import annotations

from typing import Any

from graders.profiles import Translation
from graders.profiles.fields import Fields


def llm_score(config: dict[str, Any]) -> dict[str, Any]:
    """`{criterion, levels: [{score, description}], threshold, modelRouteId, temperature, maxTokens}`."""
    fields = Fields(config)
    canonical = {
        "type": "llm-score",
        "criterion": fields.text("criterion", required=True, not_blank=True),
        "levels": fields.anything("levels", required=True),
        "threshold": fields.number("threshold"),
        **_called(fields),
    }
    if not fields.has("threshold"):
        fields.problem("threshold", "this field is required")
    fields.done()
    return canonical


def llm_checklist(config: dict[str, Any]) -> dict[str, Any]:
    """`{items, match = all, modelRouteId, temperature, maxTokens}`."""
    fields = Fields(config)
    canonical = {
        "type": "llm-checklist",
        "items": fields.anything("items", required=True),
        "match": fields.one_of("match", ("all", "any"), "all"),
        **_called(fields),
    }
    fields.done()
    return canonical


def _called(fields: Fields) -> dict[str, Any]:
    found = {
        "route": fields.text("modelRouteId", not_blank=True),
        "temperature": fields.number("temperature", low=0, high=2),
        "max_tokens": fields.whole("maxTokens"),
    }
    given = {name: value for name, value in found.items() if value is not None}
    return {**given, "reasoning": "optional", "on_missing_output": "ask"}


TRANSLATIONS: dict[str, Translation] = {"llm_score": llm_score, "llm_checklist": llm_checklist}
