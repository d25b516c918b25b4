"""Files of column chunks made from whole arrays: every reader takes them for what the plain writer writes."""

import io
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.writing import parquet
from pipelines.writing.column_chunks import column_chunks
from pipelines.writing.parquet import parquet_bytes
from pipelines.writing.thrift_compact import decoded, encoded
from schemas.tables import REJECTS, SCORES, TRAJECTORIES


@pytest.fixture(autouse=True, scope="module")
def small_tables_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(parquet, "_LARGE_CELLS", 0)
        yield


VALUES: dict[str, Any] = {
    "string": "x",
    "int32": 3,
    "int64": 2**40,
    "double": 0.5,
    "bool": True,
    "date32[day]": date(2026, 11, 30),
    "timestamp[us, tz=UTC]": datetime(2026, 11, 30, 8, tzinfo=timezone.utc),
    "decimal128(18, 9)": Decimal("0.000000001"),
}


def value_of(kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        return [("k", "v")]
    if pa.types.is_list(kind):
        return [value_of(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: value_of(field.type) for field in kind}
    return VALUES[str(kind)]


def table_of(schema: pa.Schema, rows: int, filled: set[str], varying: frozenset[str] = frozenset()) -> pa.Table:
    """A table whose `filled` columns hold one value in all rows, or in the first half alone where they are `varying`."""
    columns = []
    for field in schema:
        count = 0 if field.name not in filled else max(rows // 2, 1) if field.name in varying else rows
        column = pa.array([value_of(field.type)] * count + [None] * (rows - count), field.type)
        columns.append(column.dictionary_encode() if count and pa.types.is_string(field.type) else column)
    return pa.table(columns, names=schema.names)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([SCORES, TRAJECTORIES, REJECTS]), st.integers(1, 700), st.data())
def test_every_reader_reads_what_the_plain_writer_writes(schema: pa.Schema, rows: int, data: st.DataObject) -> None:
    filled = data.draw(st.sets(st.sampled_from(schema.names), min_size=1))
    table = table_of(schema, rows, filled, data.draw(st.frozensets(st.sampled_from(schema.names))))
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(parquet, "ROW_GROUP_ROWS", data.draw(st.sampled_from([1_000_000, 97])))
        ours, plain = bytes(parquet_bytes(table)), bytes(parquet._written(table))
    expected = pq.read_table(io.BytesIO(plain))
    read = pq.read_table(io.BytesIO(ours))
    read.validate(full=True)
    assert read.equals(expected)
    assert read.schema.equals(expected.schema)
    assert polars.read_parquet(io.BytesIO(ours)).equals(polars.read_parquet(io.BytesIO(plain)))
    groups = pq.ParquetFile(io.BytesIO(ours)).metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [
        row_group.num_rows
        for row_group in (pq.ParquetFile(io.BytesIO(plain)).metadata.row_group(i) for i in range(groups.num_row_groups))
    ]


@pytest.mark.parametrize("schema", [SCORES, TRAJECTORIES, REJECTS])
def test_duckdb_reads_types_rows_and_single_columns(schema: pa.Schema, tmp_path: Path) -> None:
    filled = set(schema.names[::2])
    table = table_of(schema, 5000, filled, frozenset({schema.names[2]}))
    for name, data in (("ours", parquet_bytes(table)), ("plain", parquet._written(table))):
        (tmp_path / f"{name}.parquet").write_bytes(data)
    connection = duckdb.connect()
    ours, plain = (f"read_parquet('{tmp_path}/{name}.parquet')" for name in ("ours", "plain"))
    assert connection.execute(f"DESCRIBE SELECT * FROM {ours}").fetchall() == (
        connection.execute(f"DESCRIBE SELECT * FROM {plain}").fetchall()
    )
    assert connection.execute(f"SELECT * FROM {ours} EXCEPT ALL SELECT * FROM {plain}").fetchall() == []
    for column in schema.names:
        counts = connection.execute(
            f'SELECT count(*), count("{column}") FROM {ours} WHERE "{column}" IS NULL'
        ).fetchone()
        assert counts == (2500 if column == schema.names[2] else 0 if column in filled else 5000, 0)


def test_a_constant_column_takes_a_few_bytes() -> None:
    table = table_of(SCORES, 250_000, {"schema_version", "score"}, frozenset({"score"}))
    metadata = pq.ParquetFile(pa.BufferReader(bytes(parquet_bytes(table)))).metadata
    sizes = {
        metadata.row_group(0).column(i).path_in_schema: metadata.row_group(0).column(i).total_compressed_size
        for i in range(metadata.num_columns)
    }
    assert sizes.pop("score") > 0
    assert max(sizes.values()) < 100


@pytest.mark.parametrize("schema", [SCORES, TRAJECTORIES, REJECTS])
def test_footers_come_back_byte_for_byte(schema: pa.Schema) -> None:
    data = bytes(parquet._written(table_of(schema, 10, set(schema.names))))
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    assert encoded(decoded(footer)) == footer


@given(
    st.recursive(
        st.one_of(
            st.tuples(st.sampled_from([4, 5, 6]), st.integers(-(2**31), 2**31 - 1)),
            st.tuples(st.just(8), st.binary(max_size=200)),
            st.booleans().map(lambda value: (1 if value else 2, value)),
            st.lists(st.integers(-9, 9), max_size=20).map(lambda values: (9, (5, values))),
        ),
        lambda inner: st.dictionaries(st.integers(1, 300), inner, max_size=5).map(lambda fields: (12, fields)),
        max_leaves=20,
    )
)
def test_structures_come_back(value: tuple[int, Any]) -> None:
    struct = {1: value, 40: (5, -1)}
    assert decoded(encoded(struct)) == struct


def test_a_cut_structure_is_an_error() -> None:
    data = encoded({1: (8, b"abcdef")})
    for length in range(len(data)):
        with pytest.raises(IndexError):
            decoded(data[:length])


def test_statistics_are_those_of_the_plain_writer() -> None:
    table = table_of(SCORES, 300, {"schema_version", "source_uri", "event_date", "score"}, frozenset({"score"}))
    place = SCORES.get_field_index("source_uri")
    long_text = pa.array(["u" * 10_000] * 300).dictionary_encode()
    for each in (table, table.set_column(place, "source_uri", long_text)):
        ours, plain = (
            pq.ParquetFile(pa.BufferReader(bytes(write(each)))).metadata.row_group(0)
            for write in (parquet_bytes, parquet._written)
        )
        compared = 0
        for number in range(ours.num_columns):
            mine, theirs = ours.column(number).statistics, plain.column(number).statistics
            name = ours.column(number).path_in_schema
            if theirs is None or not theirs.has_min_max or (name == "source_uri" and each is not table):
                assert mine is None or not mine.has_min_max, name
                continue
            assert (mine.min, mine.max, mine.null_count) == (theirs.min, theirs.max, theirs.null_count), name
            compared += 1
        assert compared == (3 if each is table else 2)


FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 0.5, 1.0, float("inf")]), st.floats(allow_nan=False))


@st.composite
def varying_columns(draw: st.DrawFn, rows: int) -> pa.Array:
    """A column as the tables' makers give it: words and indices of any width, with nulls among the rows; truths; numbers; texts."""
    mask = draw(st.none() | st.lists(st.booleans(), min_size=rows, max_size=rows).map(np.array))
    kind = draw(
        st.sampled_from(["words", "numbers", "times", "floats", "few floats", "truths", "texts", "runs", "dates"])
    )
    if kind in ("words", "numbers", "times", "runs"):
        size = draw(st.sampled_from([1, 2, 3, 5, 17, 257, 70_000]))
        words = pa.array(range(size)).cast(pa.string()) if kind in ("words", "runs") else pa.array(range(size))
        if draw(st.booleans()) and kind in ("words", "runs"):
            words = pa.array([f"{number:08d}" for number in range(size)])
        codes = np.random.default_rng(draw(st.integers(0, 2**32))).integers(0, size, rows)
        if kind == "runs":
            codes = np.repeat(codes, draw(st.sampled_from([1, 2, 63, 64, 200])))[:rows]
        dtype = next(each for each in (np.int8, np.int16, np.int32) if size - 1 <= np.iinfo(each).max)
        words = words.cast(TRAJECTORIES.field("event_time").type) if kind == "times" else words
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(dtype), mask=mask), words)
    each: st.SearchStrategy[Any] = {
        "floats": FLOATS,
        "few floats": st.sampled_from([0.0, 0.5, -0.0]),
        "truths": st.booleans(),
        "dates": st.dates(),
        "texts": st.text(max_size=5),
    }[kind]
    values = draw(
        st.lists(
            each,
            min_size=min(rows, 70),
            max_size=min(rows, 70),
            unique=draw(st.booleans()) and kind in ("floats", "texts"),
        )
    )
    full = (values * rows)[:rows]
    types = {"floats": pa.float64(), "few floats": pa.float64(), "truths": pa.bool_(), "dates": pa.date32()}
    return pa.array(full, types.get(kind, pa.string()), mask=mask)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_varying_columns_read_as_the_plain_writer_writes_them(data: st.DataObject) -> None:
    rows = data.draw(st.sampled_from([1, 7, 8, 64, 129, 600]))
    columns = data.draw(st.lists(varying_columns(rows), min_size=1, max_size=4))
    names = ["score", "status", "event_time", "other"][: len(columns)]
    table = pa.table(columns, names=names).slice(data.draw(st.integers(0, rows - 1)))
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(parquet, "ROW_GROUP_ROWS", data.draw(st.sampled_from([1_000_000, 97])))
        decoded_table = table.cast(pa.schema([(each.name, parquet._plain_type(each.type)) for each in table.schema]))
        ours, plain = bytes(parquet_bytes(table)), bytes(parquet._written(decoded_table))
    expected, read = pq.read_table(io.BytesIO(plain)), pq.read_table(io.BytesIO(ours))
    read.validate(full=True)
    assert read.equals(expected)
    assert read.schema.equals(expected.schema)
    assert polars.read_parquet(io.BytesIO(ours)).equals(polars.read_parquet(io.BytesIO(plain)), null_equal=True)
    mine, theirs = pq.ParquetFile(io.BytesIO(ours)).metadata, pq.ParquetFile(io.BytesIO(plain)).metadata
    for group in range(theirs.num_row_groups):
        for number in range(theirs.num_columns):
            own, other = (each.row_group(group).column(number).statistics for each in (mine, theirs))
            if other is None or own is None:
                assert own is other
                continue
            assert own.null_count == other.null_count
            assert (own.has_min_max, other.has_min_max and (own.min, own.max)) == (
                other.has_min_max,
                other.has_min_max and (other.min, other.max),
            )


def test_duckdb_reads_columns_of_every_kind(tmp_path: Path) -> None:
    rows = 5000
    place = np.arange(rows)
    some = place % 7 == 0
    columns = {
        "words": pa.array(place % 300).cast(pa.string()).dictionary_encode(),
        "runs": pa.array(place // 10).cast(pa.string()).dictionary_encode(),
        "third": pa.DictionaryArray.from_arrays(pa.array(place % 3, pa.int8(), mask=some), pa.array(["a", "b", "c"])),
        "numbers": pa.array(place // 9 * 10).dictionary_encode(),
        "truths": pa.array(place % 3 == 0, mask=some),
        "score": pa.array(place % 4 / 4, mask=some),
        "distinct": pa.array(place * 3),
        "texts": pa.array([f"text {number}" for number in range(rows)], mask=some),
        "issues": pa.array([[]] * rows, pa.list_(pa.string())),
        "metadata": pa.array([[]] * rows, pa.map_(pa.string(), pa.string())),
    }
    table = pa.table(columns)
    assert set(column_chunks(table, {"issues", "metadata"}, (), "zstd")) == set(columns)
    for name, data in (("ours", parquet_bytes(table)), ("plain", parquet._written(table))):
        (tmp_path / f"{name}.parquet").write_bytes(data)
    ours, plain = (f"read_parquet('{tmp_path}/{name}.parquet')" for name in ("ours", "plain"))
    connection = duckdb.connect()
    assert connection.execute(f"DESCRIBE SELECT * FROM {ours}").fetchall() == (
        connection.execute(f"DESCRIBE SELECT * FROM {plain}").fetchall()
    )
    assert (
        connection.execute(f"SELECT * FROM {ours}").fetchall()
        == connection.execute(f"SELECT * FROM {plain}").fetchall()
    )
    asked = "SELECT words, count(*) FROM {} WHERE third = 'b' AND score > 0.3 GROUP BY words ORDER BY words"
    assert connection.execute(asked.format(ours)).fetchall() == connection.execute(asked.format(plain)).fetchall()


def test_lists_that_hold_something_are_left_to_the_writer() -> None:
    table = pa.table(
        {"a": pa.array([[], ["x"]], pa.list_(pa.string())), "b": pa.array([[], None], pa.list_(pa.string()))}
    )
    assert column_chunks(table, {"a", "b"}, (), "zstd") == {}


def test_texts_that_repeat_and_large_dictionaries_are_left_to_the_writer() -> None:
    large = pa.array([f"{number:01000d}" for number in range(9000)])
    table = pa.table(
        {
            "repeated": pa.array(["x", "y"] * 4500),
            "large": pa.DictionaryArray.from_arrays(pa.array(range(9000)), large),
            "varying": pa.array(np.arange(9000) % 20 * 1.5),
        }
    )
    assert column_chunks(table, (), (), "zstd") == {}
    assert pq.read_table(pa.BufferReader(parquet_bytes(table)))["large"].combine_chunks().equals(large)
