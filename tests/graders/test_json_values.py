import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.json_values import (
    JsonTooLarge,
    NotJson,
    decode_json,
    encode,
    is_subset,
    key_of,
    same,
    same_encoded,
    strip_fence,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e400", "", "{", "[1,]", "'a'", "{} {}", "nul", "01", "```json\n1\n```"]
)
def test_refuses_what_json_does_not_have(text: str) -> None:
    with pytest.raises(NotJson):
        decode_json(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5_000])
def test_tells_too_large_from_wrong(text: str) -> None:
    with pytest.raises(JsonTooLarge):
        decode_json(text)


def test_keeps_whole_numbers_exact() -> None:
    assert decode_json("9007199254740993") == 9007199254740993


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ('```json\n{"a":1}\n```', '{"a":1}'),
        ("```\n[]\n```", "[]"),
        ("  [1] ", "[1]"),
        ("``` json\n1\n```", "json\n1"),
        ("```json\n1", "1"),
    ],
)
def test_strips_one_fence(text: str, inner: str) -> None:
    assert strip_fence(text) == inner


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        (None, 0, False),
        ("1", 1, False),
        (9007199254740993, 9007199254740992, False),
        (9007199254740993, 9007199254740992.0, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ([1], [True], False),
        ([], {}, False),
        ("é", "e\u0301", False),
    ],
)
def test_compares_by_type(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
    assert same(right, left) is equal
    assert (key_of(left) == key_of(right)) is equal


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [(1, 1.0, True), ({"n": 1}, {"n": 1.0}, False), ([1], [1], True), ([True], [1], False), ({}, [], False)],
)
def test_compares_containers_by_their_text_in_aludel(left: Any, right: Any, equal: bool) -> None:
    assert same_encoded(left, right) is equal


@given(VALUES)
def test_a_value_is_the_same_as_itself_after_a_round_trip(value: Any) -> None:
    again = decode_json(json.dumps(value))
    assert same(value, again)
    assert key_of(value) == key_of(again)
    assert is_subset(value, again)
    assert decode_json(encode(value)) == again


@given(VALUES, VALUES)
def test_keys_are_equal_just_where_values_are(left: Any, right: Any) -> None:
    assert (key_of(left) == key_of(right)) is same(left, right)
    hash(key_of(left))


@pytest.mark.parametrize(
    ("part", "whole", "inside"),
    [
        ({}, {"q": 1}, True),
        ({"q": 1}, {"q": 1, "p": 2}, True),
        ({"q": {"x": 1}}, {"q": {"x": 1, "y": 2}}, True),
        ({"q": [1]}, {"q": [1, 2]}, False),
        ({"q": [{"a": 1}]}, {"q": [{"a": 1, "b": 2}]}, True),
        ({"q": 1}, {"q": True}, False),
        ({"q": None}, {}, False),
        ({}, [], False),
    ],
)
def test_a_subset_may_lack_keys_but_no_items(part: Any, whole: Any, inside: bool) -> None:
    assert is_subset(part, whole) is inside
