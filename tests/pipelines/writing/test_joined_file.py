"""Joined files: every reader finds the rows of all files in order, whichever writer made them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.writing import joined_file, parquet
from pipelines.writing.joined_file import JoinedFile
from pipelines.writing.parquet import WRITER_OPTIONS, parquet_bytes
from schemas.tables import TABLES

SCHEMA = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("word", pa.string()),
        pa.field("grader_name", pa.string()),
        pa.field("words", pa.list_(pa.field("item", pa.string()))),
    ]
)


def our_own(table: pa.Table) -> memoryview:
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(parquet, "_LARGE_CELLS", 0)
        return parquet_bytes(table)


def plain(table: pa.Table) -> memoryview:
    return written(table)


def indexed(table: pa.Table) -> memoryview:
    """With page indexes, several pages a chunk and several row groups."""
    return written(table, write_page_index=True, data_page_size=64, row_group_size=3, write_batch_size=2)


def written(table: pa.Table, **more: Any) -> memoryview:
    sink = io.BytesIO()
    pq.write_table(table, sink, **{**WRITER_OPTIONS, **more})
    return memoryview(sink.getvalue())


WRITERS: list[Callable[[pa.Table], memoryview]] = [our_own, plain, indexed]

ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.text(max_size=5),
        st.sampled_from(["a", "b"]),
        st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
    ),
    max_size=12,
)


def table_of(rows: list[Any]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def joined(files: list[memoryview]) -> memoryview:
    file = JoinedFile()
    for each in files:
        file.add(each)
    return file.finished()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ROWS, st.sampled_from(WRITERS)), min_size=1, max_size=5))
def test_all_rows_in_order_for_every_reader(tmp_path_factory: pytest.TempPathFactory, parts: list[Any]) -> None:
    expected = pa.concat_tables([table_of(rows) for rows, _ in parts])
    path = tmp_path_factory.mktemp("joined") / "file.parquet"
    path.write_bytes(joined([write(table_of(rows)) for rows, write in parts]))
    assert pq.ParquetFile(path).read().equals(expected)
    assert polars.read_parquet(path).to_arrow().cast(SCHEMA).equals(expected)
    assert duckdb.sql(f"SELECT * FROM '{path}'").fetchall() == [tuple(row.values()) for row in expected.to_pylist()]


def test_filters_find_rows_by_the_statistics_of_each_group(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    tables = [table_of([(number, "w", f"g{number:02}", [])] * 10) for number in range(20)]
    path.write_bytes(joined([WRITERS[number % 3](table) for number, table in enumerate(tables)]))
    metadata = pq.ParquetFile(path).metadata
    places = [metadata.row_group(group).column(0).data_page_offset for group in range(metadata.num_row_groups)]
    assert places == sorted(set(places))
    for number in range(20):
        found = duckdb.sql(f"SELECT number, count(*) FROM '{path}' WHERE grader_name = 'g{number:02}' GROUP BY 1")
        assert found.fetchall() == [(number, 10)]
        assert pq.read_table(path, filters=[("grader_name", "=", f"g{number:02}")]).num_rows == 10


@pytest.mark.parametrize("name", TABLES)
def test_both_writers_give_a_table_of_ours_one_schema(name: str) -> None:
    empty = TABLES[name].empty_table()
    row = pa.Table.from_pylist([{}], TABLES[name])
    read = pq.ParquetFile(pa.BufferReader(joined([our_own(row), parquet_bytes(empty), plain(row)]))).read()
    assert read.equals(pa.concat_tables([row, row]))


def test_more_row_groups_than_can_be_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_file, "_MOST_NUMBERED", 3)
    tables = [table_of([(number, "w", "g", None)]) for number in range(7)]
    read = pq.ParquetFile(pa.BufferReader(joined([plain(table) for table in tables])))
    assert read.metadata.num_row_groups == 7
    assert read.read()["number"].to_pylist() == list(range(7))


def test_files_of_other_columns_are_refused() -> None:
    file = JoinedFile()
    file.add(plain(table_of([])))
    with pytest.raises(ValueError, match="different schemas"):
        file.add(plain(table_of([]).drop_columns(["word"])))
