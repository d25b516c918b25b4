"""The dashboard's deterministic evaluators: exact, contains, regex, json_schema and length."""

from __future__ import annotations

import json
from typing import Any

from graders.profiles import Translation
from graders.profiles.fields import Fields


def exact(config: dict[str, Any]) -> dict[str, Any]:
    """`{trimWhitespace = false, ignoreCase = false}`, compared with the case's reference."""
    fields = Fields(config)
    canonical = {
        "type": "exact",
        "trim": fields.flag("trimWhitespace"),
        "case_sensitive": not fields.flag("ignoreCase"),
    }
    fields.done()
    return canonical


def contains(config: dict[str, Any]) -> dict[str, Any]:
    """`{texts, match = all, ignoreCase = false, forbidden = false}`."""
    fields = Fields(config)
    canonical = {
        "type": "not-contains" if fields.flag("forbidden") else "contains",
        "texts": fields.anything("texts", required=True),
        "match": fields.one_of("match", ("all", "any"), "all"),
        "case_sensitive": not fields.flag("ignoreCase"),
    }
    fields.done()
    return canonical


def regex(config: dict[str, Any]) -> dict[str, Any]:
    """`{pattern, flags = "", shouldMatch = true}`: a JavaScript pattern."""
    fields = Fields(config)
    canonical = {
        "type": "regex",
        "pattern": fields.text("pattern", required=True),
        "flags": fields.text("flags") or "",
        "dialect": "ecma",
        "negate": not fields.flag("shouldMatch", default=True),
    }
    fields.done()
    return canonical


def json_schema(config: dict[str, Any]) -> dict[str, Any]:
    """`{schema}`: a Draft 7 schema, as JSON text."""
    fields = Fields(config)
    text = fields.text("schema", required=True)
    schema: Any = None
    if text is not None:
        try:
            schema = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            fields.problem("schema", f"is not JSON{where}", "the field holds a JSON Schema encoded as a JSON text")
    fields.done()
    return {"type": "json-schema", "schema": schema, "draft": "7", "json_fences": "reject"}


def length(config: dict[str, Any]) -> dict[str, Any]:
    """`{min, max, unit = characters}`: inclusive bounds, at least one of them."""
    fields = Fields(config)
    canonical: dict[str, Any] = {"type": "length", "unit": fields.one_of("unit", ("characters", "words"), "characters")}
    for bound in ("min", "max"):
        value = fields.whole(bound)
        if value is not None:
            canonical[bound] = value
    fields.done()
    return canonical


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


TRANSLATIONS: dict[str, Translation] = {
    "exact": exact,
    "contains": contains,
    "regex": regex,
    "json_schema": json_schema,
    "length": length,
}
