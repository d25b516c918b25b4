"""Lines of few shapes are read as Arrow's JSON reader reads them, or not at all."""

from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats.containers.messages import Messages
from pipelines.reading import uniform_lines
from pipelines.reading.fast_conversation import LOG_MESSAGES
from pipelines.reading.fast_messages import FastMessages, read_with_arrow
from pipelines.reading.line_blocks import find_lines
from pipelines.reading.uniform_lines import read_uniform_lines

SCHEMA = pa.schema(
    [
        ("messages", LOG_MESSAGES),
        ("id", pa.string()),
        ("n", pa.int64()),
        ("ok", pa.bool_()),
        ("usage", pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ("metadata", pa.struct([("user", pa.string()), ("seat", pa.int64())])),
    ]
)
TEXT = st.one_of(
    st.text('ab"\\/\b\f\n\r\t {}[]:,é\u2028😀\x7f', max_size=9),
    st.sampled_from(["", '"', "\\", "\\\\n", 'x\\"', '},{"role":"user"', "12", "null"]),
)
INTEGER = st.integers(-(2**40), 2**40)
CALL = st.fixed_dictionaries(
    {"id": TEXT, "type": st.just("function"), "function": st.fixed_dictionaries({"name": TEXT, "arguments": TEXT})}
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": st.one_of(TEXT, st.none())},
    optional={"name": TEXT, "tool_calls": st.one_of(st.none(), st.lists(CALL, max_size=2))},
)
RECORD = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, max_size=3)},
    optional={
        "id": TEXT,
        "n": st.one_of(INTEGER, st.none()),
        "ok": st.booleans(),
        "usage": st.fixed_dictionaries({}, optional={"a": INTEGER, "b": st.none()}),
        "metadata": st.one_of(st.none(), st.fixed_dictionaries({"user": TEXT}, optional={"seat": INTEGER})),
    },
)


def read(lines: list[bytes], end: bytes = b"\n") -> dict[str, pa.Array] | None:
    text = end.join(lines)
    spans = find_lines(text)
    return read_uniform_lines(text, spans.starts, spans.ends, SCHEMA)


def by_arrow(lines: list[bytes], end: bytes = b"\n") -> dict[str, pa.Array] | None:
    table = read_with_arrow(end.join(lines), SCHEMA)
    return None if table is None else {name: table[name].combine_chunks() for name in table.column_names}


def assert_as_arrow(columns: dict[str, pa.Array], expected: dict[str, pa.Array] | None) -> None:
    assert expected is not None, "Arrow refuses what was read"
    assert list(columns) == list(expected)
    for name, column in columns.items():
        column.validate(full=True)
        assert column.type == expected[name].type
        assert column.to_pylist() == expected[name].to_pylist(), name


@st.composite
def variations(draw: st.DrawFn) -> list[Any]:
    """Records of a few shapes with other texts and numbers."""
    patterns = draw(st.lists(RECORD, min_size=1, max_size=3))

    def varied(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: value[key] if key in ("role", "type") else varied(value[key]) for key in value}
        if isinstance(value, list):
            return [varied(item) for item in value]
        if isinstance(value, str):
            return draw(TEXT)
        return draw(INTEGER) if type(value) is int else value

    return [varied(draw(st.sampled_from(patterns))) for _ in range(draw(st.integers(1, 12)))]


@settings(max_examples=300, deadline=None)
@given(variations(), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
def test_all_lines_of_few_shapes_are_read_as_by_arrow(records: list[Any], end: bytes) -> None:
    lines = [orjson.dumps(record) for record in records]
    columns = read(lines, end)
    assert columns is not None
    assert_as_arrow(columns, by_arrow(lines, end))


@settings(max_examples=500, deadline=None)
@given(variations(), st.data())
def test_what_is_read_of_broken_lines_is_what_arrow_reads(records: list[Any], data: st.DataObject) -> None:
    text = bytearray(b"\n".join(orjson.dumps(record) for record in records))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        change = data.draw(st.sampled_from(list(b'"\\{}[]:,0129-.etn \t\x01u\n')))
        how = data.draw(st.sampled_from(["replace", "insert", "delete"]))
        if how == "replace":
            text[place] = change
        elif how == "insert":
            text.insert(place, change)
        elif len(text) > 1:
            del text[place]
    try:
        text.decode()
    except UnicodeDecodeError:
        return
    lines = [line for line in bytes(text).split(b"\n") if line]
    spans = find_lines(b"\n".join(lines))
    columns = read(lines) if len(spans.starts) and spans.simple.all() else None
    if columns is not None:
        expected = by_arrow(lines)
        if expected is not None and len(expected["id"]) != len(lines):
            pytest.fail("Arrow found another number of records")
        assert_as_arrow(columns, expected)


LINE = b'{"id":"a","n":12,"messages":[{"role":"user","content":"hi"}]}'


def test_a_line_of_the_same_lengths_and_other_bytes_is_another_shape() -> None:
    other = LINE.replace(b'"content"', b'"tenants"')
    assert read([LINE] * 3 + [other]) is None
    null = b'{"id":"a","n":null,"messages":[{"role":"user","content":"hi"}]}'
    columns = read([LINE, null, LINE])
    assert columns is not None
    assert columns["n"].to_pylist() == [12, None, 12]


@pytest.mark.parametrize("number", [b"012", b"1.5", b"1e3", b"--1", b"", b"+1", b"1 2", b"12345678901234567890"])
def test_what_is_no_plain_integer_is_refused(number: bytes) -> None:
    assert read([LINE, LINE.replace(b"12", number)]) is None
    assert read([LINE.replace(b"12", number), LINE]) is None


@pytest.mark.parametrize("content", [b"a\tb", b"a\x00b", b"\\u00e9", b"\\x", b"a\\"])
def test_control_characters_and_escapes_beyond_the_short_ones_are_refused(content: bytes) -> None:
    assert read([LINE, LINE.replace(b"hi", content)]) is None


def test_escapes_mean_what_they_say() -> None:
    written = rb"\"\\\/\b\f\n\r\t\\n\\\"end"
    columns = read([LINE, LINE.replace(b"hi", written), LINE])
    assert columns is not None
    assert columns["messages"].to_pylist()[1][0]["content"] == '"\\/\b\f\n\r\t\\n\\"end'


def test_too_many_shapes_are_left_to_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [orjson.dumps({"id": "x" * n, "messages": [{"role": "user", "content": ""}] * n}) for n in range(6)]
    assert read(lines) is not None
    monkeypatch.setattr(uniform_lines, "MOST_SHAPES", 5)
    assert read(lines) is None


def test_rows_keep_the_order_of_their_lines() -> None:
    lines = [
        orjson.dumps({"id": f"t{i}", "messages": [{"role": "user", "content": f"{i}.{j}"} for j in range(i % 4)]})
        for i in range(200)
    ]
    columns = read(lines)
    assert columns is not None
    assert columns["id"].to_pylist() == [f"t{i}" for i in range(200)]
    assert [[m["content"] for m in row] for row in columns["messages"].to_pylist()] == [
        [f"{i}.{j}" for j in range(i % 4)] for i in range(200)
    ]
    assert np.all(columns["n"].is_null().to_numpy(zero_copy_only=False))


def test_deep_values_are_refused_without_harm() -> None:
    deep = b'{"metadata":' * 900 + b"null" + b"}" * 900
    assert read([deep, deep]) is None
    data = b"\n".join([deep] * 60)
    spans = find_lines(data)
    fast = FastMessages.for_lines(data, spans.starts, spans.ends, Messages())
    assert fast is None or not fast.scalars
