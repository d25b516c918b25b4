"""vally's judges: `prompt` and `panel`.

What differs from `rubric-judge` and `panel`:

| vally | here |
|---|---|
| `prompt`: extra instructions | `rubric`; without it, whether the agent did what it was asked |
| `scoring`: `binary`, `scale_1_5` (default), `scale_1_10` | `scale_min`, `scale_max`; binary asks for 0 or 1 |
| `threshold` on the normalised 0..1, default 0.5 | the same place on the scale |
| `model` | the route of that name |
| the judge calls a tool with `overall_score` | a reply with the field `overall_score` |
| a panel without `scoring` | each judge gives 0..1 in `score` |
| evidence `trajectory` | `input`, `transcript`, `tool_calls`, `output` |
| evidence `repo` | refused: a log holds no repository |
| an empty trajectory is judged | `on_missing_output: ask` |
"""

from __future__ import annotations

from typing import Any

from graders.profiles import Translation
from graders.profiles.fields import Fields

DEFAULT_RUBRIC = (
    "Did the agent do what it was asked to do, completely and without harmful side effects? "
    "The lowest mark is for a run that did not, the highest for one that did it fully."
)
SCALES = {"binary": (0, 1), "scale_1_5": (1, 5), "scale_1_10": (1, 10)}
_EVIDENCE: dict[str, tuple[str, ...]] = {
    "trajectory": ("input", "transcript", "tool_calls", "output"),
    "diff": ("diff",),
    "golden_patch": ("golden_patch",),
}


def prompt(config: dict[str, Any]) -> dict[str, Any]:
    """`{prompt, model, reasoning_effort, scoring = scale_1_5, threshold = 0.5, evidence}`."""
    fields = Fields(config)
    canonical = {"type": "rubric-judge", **_judged(fields, default_scoring="scale_1_5")}
    model = fields.text("model", not_blank=True)
    if model is not None:
        canonical["route"] = model
    fields.done()
    return canonical


def panel(config: dict[str, Any]) -> dict[str, Any]:
    """`{models, aggregation = mean}` and the fields of `prompt` but `model`."""
    fields = Fields(config)
    canonical = {
        "type": "panel",
        **_judged(fields, default_scoring=None),
        "aggregation": fields.one_of("aggregation", ("mean", "median", "min", "majority"), "mean"),
        "routes": fields.anything("models", required=True),
    }
    fields.done()
    return canonical


def _judged(fields: Fields, *, default_scoring: str | None) -> dict[str, Any]:
    threshold = fields.number("threshold", low=0, high=1)
    scoring = default_scoring
    if fields.has("scoring"):
        scoring = fields.one_of("scoring", SCALES, "scale_1_5")
    low, high = (0, 1) if scoring is None else SCALES[scoring]
    if fields.has("reasoning_effort"):
        fields.anything("reasoning_effort")
        fields.problem(
            "reasoning_effort", "is the route's here", "put it into the route: extra_body: {reasoning_effort: …}"
        )
    return {
        "rubric": fields.text("prompt", not_blank=True) or DEFAULT_RUBRIC,
        "scale_min": low,
        "scale_max": high,
        "whole_numbers": scoring == "binary",
        "score_field": "score" if scoring is None else "overall_score",
        "threshold": low + (0.5 if threshold is None else threshold) * (high - low),
        "evidence": _evidence(fields),
        "reasoning": "optional",
        "on_missing_output": "ask",
    }


def _evidence(fields: Fields) -> list[str]:
    named = fields.anything("evidence")
    if named is None:
        named = ["trajectory"]
    if not isinstance(named, list) or not named:
        fields.problem("evidence", "must be a list of " + ", ".join(_EVIDENCE))
        return []
    kinds: list[str] = []
    for name in named:
        if name == "repo":
            fields.problem("evidence", '"repo" can\'t be shown: a log holds no repository', "leave it out")
        elif not isinstance(name, str) or name not in _EVIDENCE:
            fields.problem("evidence", "must be a list of " + ", ".join(_EVIDENCE))
        else:
            kinds.extend(_EVIDENCE[name])
    return kinds


TRANSLATIONS: dict[str, Translation] = {"prompt": prompt, "panel": panel}
