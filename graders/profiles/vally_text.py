"""vally's text graders: output and transcript, literal and pattern."""

from __future__ import annotations

from functools import partial
from typing import Any

from graders.profiles import Translation
from graders.profiles.fields import Fields


def contains(config: dict[str, Any], *, canonical_type: str) -> dict[str, Any]:
    """`{substring (or value), case_sensitive = false, negate = false}`, on transcripts also `turn`."""
    fields = Fields(config)
    if fields.has("substring") and fields.has("value"):
        fields.problem("value", "another name of `substring`, which is given too", "leave one of them out")
    name = "value" if fields.has("value") and not fields.has("substring") else "substring"
    canonical: dict[str, Any] = {"type": canonical_type, "substring": fields.text(name, required=True)}
    canonical["case_sensitive"] = fields.flag("case_sensitive")
    return _finished(fields, canonical, "substring", "value")


def matches(config: dict[str, Any], *, canonical_type: str) -> dict[str, Any]:
    """`{pattern, negate = false}`, on transcripts also `turn`; a leading `(?ims)` group sets flags."""
    fields = Fields(config)
    canonical = {"type": canonical_type, "pattern": fields.text("pattern", required=True), "dialect": "ecma"}
    return _finished(fields, canonical)


def _finished(fields: Fields, canonical: dict[str, Any], *read: str) -> dict[str, Any]:
    negate = fields.flag("negate")
    if fields.has("negate"):
        canonical["negate"] = negate
    if canonical["type"].startswith("transcript-"):
        turn = fields.whole("turn")
        if fields.has("turn"):
            canonical["turn"] = turn
    fields.done(*read)
    return canonical


_KINDS = {"contains": contains, "matches": matches}

TRANSLATIONS: dict[str, Translation] = {
    name: partial(function, canonical_type=name)
    for kind, function in _KINDS.items()
    for name in (f"output-{kind}", f"output-not-{kind}", f"transcript-{kind}", f"transcript-not-{kind}")
}
