"""The compiled checks give the verdicts of the `jsonschema` library, for any schema and value of a small vocabulary."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.json_validation import compile_schema, validate_all
from graders.json_validation.drafts import DRAFT_NAMES, Draft, DraftName

NAMES = st.sampled_from(["a", "b", "ab"])
SCALARS: st.SearchStrategy[Any] = st.sampled_from([None, True, False, 0, 1, 2, 1.0, 1.5, -3, "", "a", "ab", "bb"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
SMALL = st.integers(0, 3)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
PATTERNS = st.sampled_from(["a", "^b", "b$", "^a?b$"])


def _keywords(draft: Draft, inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=2)
    names = st.lists(NAMES, min_size=1, max_size=2, unique=True)
    found: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3, unique_by=json.dumps),
        "minimum": SMALL,
        "maximum": SMALL,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": SMALL,
        "maxLength": SMALL,
        "minItems": SMALL,
        "maxItems": SMALL,
        "minProperties": SMALL,
        "maxProperties": SMALL,
        "uniqueItems": st.booleans(),
        "required": names,
        "pattern": PATTERNS,
        "properties": named,
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        # the library's 2019-09 takes an object here for one of property names when it looks for unevaluated ones
        "additionalProperties": st.booleans() if draft.number == 8 else inner,
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
        "items": inner if draft.number >= 9 else inner | some,
        "$ref": st.sampled_from(["#/definitions/x", "#/definitions/y"]),
    }
    if draft.number < 9:
        found["additionalItems"] = inner
    if draft.number >= 6:
        found |= {
            "const": VALUES,
            "contains": inner,
            "propertyNames": inner,
            "exclusiveMinimum": SMALL,
            "exclusiveMaximum": SMALL,
        }
    else:
        found |= {"exclusiveMinimum": st.booleans(), "exclusiveMaximum": st.booleans()}
    if draft.number >= 7:
        found |= {"if": inner, "then": inner, "else": inner}
    if draft.number <= 7:
        found["dependencies"] = st.dictionaries(NAMES, inner | names, max_size=2)
    else:
        found |= {
            "minContains": SMALL,
            "maxContains": SMALL,
            "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
            "dependentSchemas": named,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
        }
    if draft.number >= 9:
        found["prefixItems"] = some
    return found


@st.composite
def _schemas(draw: st.DrawFn, draft: Draft, depth: int) -> Any:
    """A schema of at most three keywords a level."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.booleans()) if draft.number >= 6 and draw(st.booleans()) else {"type": draw(TYPES)}
    keywords = _keywords(draft, st.deferred(lambda: _schemas(draft, depth - 1)))
    chosen = draw(st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=3, unique=True))
    if draft.number == 4 and not {"minimum", "maximum"} <= set(chosen):
        chosen = [keyword for keyword in chosen if not keyword.startswith("exclusive")]
    schema = {keyword: draw(keywords[keyword]) for keyword in chosen}
    if isinstance(schema.get("items"), bool):  # the library fails on these two together
        schema.pop("additionalItems", None)
    return schema


@pytest.mark.parametrize("name", DRAFT_NAMES)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_same_verdicts(name: DraftName, data: st.DataObject) -> None:
    draft = Draft(name)
    schema: Any = data.draw(_schemas(draft, 3))
    if isinstance(schema, dict):
        schema = {**schema, "definitions": {"x": {"type": "string"}, "y": {"properties": {"a": {"minimum": 1}}}}}
    values = data.draw(st.lists(VALUES, min_size=1, max_size=4))
    library = draft.validator_class(schema)
    outcomes = list(validate_all(compile_schema(schema, name), values))
    assert [outcome is None for outcome in outcomes] == [library.is_valid(value) for value in values], schema


def test_the_library_is_what_is_compared_with() -> None:
    assert issubclass(Draft("7").validator_class, jsonschema.Draft7Validator)
