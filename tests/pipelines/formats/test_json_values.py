"""Decoding bytes to JSON values: repairs are named, nothing is lost, nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.formats.json_values import Decoded, Failure, compact_json, decode_line, decode_text
from schemas.reject import RejectReason

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
SURROGATE_FREE = st.text(st.characters(codec="utf-8"))


def only(line: bytes, is_last: bool = False) -> Decoded:
    (part,) = decode_line(line, is_last)
    assert isinstance(part, Decoded)
    return part


@pytest.mark.parametrize(
    ("line", "value", "issues"),
    [
        (b'{"a":1}', {"a": 1}, ()),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}, ()),
        (b'{"a":1}\r', {"a": 1}, ()),
        (b'{"a":NaN,"b":-Infinity,"c":1e400}', {"a": None, "b": None, "c": None}, ("non_finite_number",)),
        (b'{"a":1,"a":2}', {"a": 2}, ("duplicate_key",)),
        (b'{"a":{"b":1,"b":2}}', {"a": {"b": 2}}, ("duplicate_key",)),
        (b'{"a":"x\\ud83dy"}', {"a": "x�y"}, ("lone_surrogate",)),
        (b'{"\\ud83d":1}', {"�": 1}, ("lone_surrogate",)),
        (b'{"a":"\\ud83d\\ude00"}', {"a": "😀"}, ()),
        (b'{"a":"caf\xe9"}', {"a": "caf�"}, ("invalid_utf8",)),
        (b'{"a":"b\x07c"}', {"a": "b\x07c"}, ("control_character",)),
        (b'{"a":"\\u0000"}', {"a": "\x00"}, ()),
        (b'{"id":12345678901234567890}', {"id": 12345678901234567890}, ()),
        (b'{"id":-9223372036854775809}', {"id": -9223372036854775809}, ()),
        (b'{"id":123456789012345678901234567890}', {"id": 123456789012345678901234567890}, ()),
        ('{"a":"x\u2028y\u0085z"}'.encode(), {"a": "x\u2028y\u0085z"}, ()),
        (b'{"a" : 1, "b" : {"c" : 2}}', {"a": 1, "b": {"c": 2}}, ()),
        (b"null", None, ()),
    ],
)
def test_repairs_are_named(line: bytes, value: object, issues: tuple[str, ...]) -> None:
    part = only(line)
    assert part.value == value
    assert part.issues == issues


def test_an_integer_beyond_64_bits_stays_an_integer() -> None:
    assert type(only(b"[18446744073709551616]").value[0]) is int


def test_several_values_on_one_line() -> None:
    parts = decode_line(b'{"a":1}{"b":2} 3')
    assert [part.value for part in parts if isinstance(part, Decoded)] == [{"a": 1}, {"b": 2}, 3]
    assert [part.ordinal for part in parts] == [0, 1, 2]
    assert all(part.issues == ("several_values_on_line",) for part in parts if isinstance(part, Decoded))
    assert [part.size for part in parts] == [7, 7, 1]


def test_the_good_part_before_a_broken_one_is_kept() -> None:
    good, bad = decode_line(b'{"a":1}{"b":', True)
    assert isinstance(good, Decoded)
    assert good.value == {"a": 1}
    assert isinstance(bad, Failure)
    assert bad.reason is RejectReason.TRUNCATED_TAIL


@pytest.mark.parametrize(
    ("line", "is_last", "reason"),
    [
        (b'{"a":', True, RejectReason.TRUNCATED_TAIL),
        (b'{"a":"text', True, RejectReason.TRUNCATED_TAIL),
        (b'{"a":', False, RejectReason.INVALID_JSON),
        (b'{"a":1,}', True, RejectReason.INVALID_JSON),
        (b"{'a': None}", False, RejectReason.INVALID_JSON),
        (b"[" * 100_000 + b"]" * 100_000, False, RejectReason.TOO_DEEP),
    ],
)
def test_failures_have_the_right_reason(line: bytes, is_last: bool, reason: RejectReason) -> None:
    (part,) = decode_line(line, is_last)
    assert isinstance(part, Failure)
    assert part.reason is reason
    assert part.size == len(line)


def test_a_python_repr_is_called_one() -> None:
    (part,) = decode_line(b"{'a': None}")
    assert isinstance(part, Failure)
    assert "Python repr" in part.detail


def test_six_hundred_levels_are_read() -> None:
    part = only(b'{"a":' * 600 + b"1" + b"}" * 600)
    depth, value = 0, part.value
    while isinstance(value, dict):
        depth, value = depth + 1, value["a"]
    assert (depth, value) == (600, 1)


@pytest.mark.parametrize("line", [b"", b"   ", b"\r\n", b"\t", b"\xef\xbb\xbf"])
def test_blank_lines_hold_nothing(line: bytes) -> None:
    assert decode_line(line) == []


@given(JSON)
def test_what_json_wrote_comes_back(value: object) -> None:
    part = only(json.dumps(value).encode())
    assert compact_json(part.value) == compact_json(value)


@given(st.lists(JSON.filter(lambda value: isinstance(value, (dict, list))), min_size=1, max_size=4))
def test_glued_values_come_back(values: list[object]) -> None:
    parts = decode_line("".join(json.dumps(value) for value in values).encode())
    assert [compact_json(part.value) for part in parts if isinstance(part, Decoded)] == [
        compact_json(v) for v in values
    ]


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_values_or_a_failure(line: bytes, is_last: bool) -> None:
    for part in decode_line(line, is_last):
        assert isinstance(part, (Decoded, Failure))
        if isinstance(part, Decoded):
            compact_json(part.value).encode("utf-8")


@given(st.dictionaries(SURROGATE_FREE, st.integers(), min_size=1), st.data())
def test_a_repeated_key_never_goes_unnoticed(value: dict[str, int], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    twice = text[:-1] + "," + json.dumps(key) + ":7}"
    part = only(twice.encode())
    assert part.value == {**value, key: 7}
    assert "duplicate_key" in part.issues


@given(JSON)
def test_json_inside_text(value: object) -> None:
    text = json.dumps(value)
    found = decode_text(text)
    if isinstance(value, (dict, list)):
        assert compact_json(found) == compact_json(value)


@pytest.mark.parametrize("text", ["", "plain", "{not json}", "[1,", "12", "null"])
def test_text_that_is_no_json_object_is_left_alone(text: str) -> None:
    assert decode_text(text) is None


def test_compact_json_holds_what_utf8_holds() -> None:
    assert (
        compact_json({"a": "\ud800", "b": float("nan"), "c": 2**70}) == '{"a":"�","b":null,"c":1180591620717411303424}'
    )
