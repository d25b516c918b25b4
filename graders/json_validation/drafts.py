"""The drafts of JSON Schema: their meta-schemas, keywords and differences."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

DraftName = Literal["4", "6", "7", "2019-09", "2020-12"]
DRAFT_NAMES: tuple[DraftName, ...] = ("4", "6", "7", "2019-09", "2020-12")

_ANNOTATIONS = frozenset({"title", "description", "default", "$schema", "definitions", "format"})
_FROM_6 = frozenset({"$id", "examples"})
_FROM_7 = frozenset({"$comment", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "then", "else"})
_FROM_2019 = frozenset({"$anchor", "$vocabulary", "$defs", "contentSchema", "deprecated", "minContains", "maxContains"})
_ASSERTING = {
    "4": (
        "$ref additionalItems additionalProperties allOf anyOf dependencies enum exclusiveMaximum exclusiveMinimum id "
        "items maxItems maxLength maxProperties maximum minItems minLength minProperties minimum multipleOf not oneOf "
        "pattern patternProperties properties required type uniqueItems"
    ),
    "6": "const contains propertyNames",
    "7": "if",
    "2019-09": (
        "$recursiveRef $recursiveAnchor dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties"
    ),
    "2020-12": "$dynamicRef $dynamicAnchor prefixItems",
}
_GONE = {"6": {"id"}, "2019-09": {"dependencies"}, "2020-12": {"$recursiveRef", "$recursiveAnchor", "additionalItems"}}
_URIS: dict[str, DraftName] = {
    "http://json-schema.org/draft-04/schema": "4",
    "http://json-schema.org/draft-06/schema": "6",
    "http://json-schema.org/draft-07/schema": "7",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
}


@dataclass(frozen=True)
class Draft:
    """One draft of the specification."""

    name: DraftName

    @property
    def number(self) -> int:
        """Its place in the order of drafts: 4, 6, 7, then 8 for 2019-09 and 9 for 2020-12."""
        return {"2019-09": 8, "2020-12": 9}.get(self.name) or int(self.name)

    @property
    def ignores_siblings_of_ref(self) -> bool:
        """Whether `$ref` hides the keywords beside it."""
        return self.number <= 7

    @cached_property
    def keywords(self) -> frozenset[str]:
        """All keywords that it defines, annotations too."""
        known: set[str] = set(_ANNOTATIONS)
        for name in DRAFT_NAMES[: DRAFT_NAMES.index(self.name) + 1]:
            known |= set(_ASSERTING[name].split())
            known -= _GONE.get(name, set())
        for since, added in ((6, _FROM_6), (7, _FROM_7), (8, _FROM_2019)):
            known |= added if self.number >= since else set()
        return frozenset(known)

    @property
    def specification(self) -> Any:
        """Its reference rules, as `referencing` knows them."""
        names = {"2019-09": "DRAFT201909", "2020-12": "DRAFT202012"}
        return getattr(importlib.import_module("referencing.jsonschema"), names.get(self.name, f"DRAFT{self.name}"))

    @property
    def validator_class(self) -> Any:
        """The library's validator, which holds the meta-schema."""
        names = {"2019-09": "Draft201909Validator", "2020-12": "Draft202012Validator"}
        return getattr(
            importlib.import_module("jsonschema.validators"), names.get(self.name, f"Draft{self.name}Validator")
        )


def named_by(schema: Any) -> DraftName | None:
    """The draft that a schema's `$schema` names; None where it names none that is known."""
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    return _URIS.get(uri.rstrip("#")) if isinstance(uri, str) else None
