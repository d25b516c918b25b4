"""Files with columns that were not written row by row: every reader takes them for what the plain writer writes."""

import io
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.writing import parquet
from pipelines.writing.constant_columns import constant_columns
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


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=4), st.integers(1, 5))
def test_a_column_is_constant_where_all_its_rows_are_equal(values: list[int], repeats: int) -> None:
    rows = [value for value in values for _ in range(repeats)]
    table = pa.table({"n": pa.array(rows, pa.int32()), "m": pa.array(rows, pa.int64())})
    assert set(constant_columns(table)) == ({"n", "m"} if len(set(rows)) == 1 else set())


def test_texts_beside_nulls_or_of_two_words_are_not_constant() -> None:
    one = pa.array(["x", "x"]).dictionary_encode()
    two = pa.array(["x", "y"]).dictionary_encode()
    some = pa.array(["x", None]).dictionary_encode()
    assert list(constant_columns(pa.table({"one": one, "two": two, "some": some}))) == ["one"]
