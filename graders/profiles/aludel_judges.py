"""Aludel's judges: `rubric_judge` and `typed_judge`.

What differs from `rubric-judge` and `typed-judge`:

| Aludel | here |
|---|---|
| `provider_id`: a UUID | the route of that name |
| `expected`, `context` | `reference`, `context`; without them the record's own, null where it has none |
| the judge sees input, output, expected, context, messages and metadata | the same `evidence` |
| each cut to 50,000 characters | `max_evidence_chars: 50000`, head and tail kept |
| a verdict that the model adds is ignored | `extra_fields: ignore` |
| kinds `noul`, `choice`, `score` | `yes-probability`, `choice`, `ordinal` |
| temperature 0, at most 500 tokens | the same |
"""

from __future__ import annotations

from typing import Any

from graders.judges.templates import TEMPLATES
from graders.profiles import Translation
from graders.profiles.fields import Fields

MAX_RUBRIC = 4_000
_KINDS = {"noul": "yes-probability", "choice": "choice", "score": "ordinal"}
_EVIDENCE = ["input", "context", "transcript", "metadata", "output", "reference"]
_SHOWN: dict[str, Any] = {
    "evidence": _EVIDENCE,
    "extra_fields": "ignore",
    "on_missing_output": "ask",
    "on_missing_reference": "ask",
    "on_missing_context": "ask",
}


def rubric_judge(config: dict[str, Any]) -> dict[str, Any]:
    """`{rubric | template, provider_id, threshold = 80, expected, context}`."""
    fields = Fields(config)
    canonical: dict[str, Any] = {"type": "rubric-judge", **_SHOWN}
    rubric = fields.text("rubric", not_blank=True)
    template = fields.one_of("template", TEMPLATES, "") if fields.has("template") else None
    if fields.has("rubric") == fields.has("template"):
        fields.problem("rubric", "exactly one of rubric and template is needed")
    if rubric is not None and len(rubric) > MAX_RUBRIC:
        fields.problem("rubric", f"is longer than {MAX_RUBRIC} characters")
    threshold = fields.number("threshold", low=0, high=100)
    _put(
        canonical,
        rubric=rubric,
        template=template,
        threshold=threshold,
        route=fields.text("provider_id", required=True, not_blank=True),
        reference=fields.text("expected"),
        context=fields.text("context"),
    )
    fields.done()
    return canonical


def typed_judge(config: dict[str, Any]) -> dict[str, Any]:
    """`{kind, question, provider_id, …}` with the kind's own fields."""
    fields = Fields(config)
    kind = fields.one_of("kind", _KINDS, "") if fields.has("kind") else ""
    if not fields.has("kind"):
        fields.problem("kind", "this field is required")
    canonical: dict[str, Any] = {
        "type": "typed-judge",
        "kind": _KINDS.get(kind, kind),
        "reasoning": "optional",
        **_SHOWN,
    }
    _put(
        canonical,
        question=fields.text("question", required=True, not_blank=True),
        route=fields.text("provider_id", not_blank=True),
        threshold=fields.number("threshold", low=0, high=1),
        choices=fields.anything("choices", required=kind == "choice"),
        levels=fields.anything("levels", required=kind == "score"),
        expected=fields.text("expected", required=kind == "choice"),
        minimum=fields.text("minimum"),
        maximum=fields.text("maximum"),
        min_confidence=fields.number("min_confidence", low=0, high=1),
        context=fields.text("context"),
    )
    if kind == "score" and sum(fields.has(name) for name in ("expected", "minimum", "maximum")) != 1:
        fields.problem("levels", "exactly one of expected, minimum and maximum is needed")
    fields.done()
    return canonical


def _put(canonical: dict[str, Any], **values: Any) -> None:
    canonical.update({name: value for name, value in values.items() if value is not None})


TRANSLATIONS: dict[str, Translation] = {"rubric_judge": rubric_judge, "typed_judge": typed_judge}
