"""A Parquet file of column chunks, some made here and some by another writer, under one footer.

The file of the other writer is taken up to its footer; chunks made here follow its last page. The footer is that which the writer gives a
file of the whole schema, with our row groups in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.writing.column_chunks import ColumnChunk
from pipelines.writing.parquet_footer import (
    CHUNK_OFFSET,
    CODEC,
    COLUMNS,
    COMPRESSED,
    DATA_PAGE_OFFSET,
    DICTIONARY_OFFSET,
    ENCODINGS,
    FILE_ROWS,
    GROUP_BYTES,
    GROUP_COMPRESSED,
    GROUP_OFFSET,
    GROUP_ROWS,
    MAGIC,
    META_DATA,
    ORDINAL,
    PATH,
    ROW_GROUPS,
    STATISTICS,
    TYPE,
    UNCOMPRESSED,
    VALUES,
    ending,
    parted,
)
from pipelines.writing.thrift_compact import (
    BINARY,
    I16,
    I32,
    I64,
    LIST,
    STRUCT,
    Struct,
    continued,
    encoded,
    preencoded,
)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of a file, and the chunks of them that were made here, by column."""

    rows: int
    chunks: Mapping[str, ColumnChunk]


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the writer's own file of the whole schema says of it."""

    footer: Struct
    """Without rows."""
    leaves: tuple[_Leaf, ...]
    """In order."""


class _Leaf(NamedTuple):
    """A column that holds values, as a file describes it: its type, its path and its compression."""

    kind: int
    path: tuple[bytes, ...]
    codec: int


@dataclass(frozen=True, slots=True)
class _Described:
    """A column chunk as a footer names it, and what its row group counts of it."""

    chunk: Struct
    offset: int
    uncompressed: int
    compressed: int


def spliced_file(
    schema: pa.Schema,
    groups: Sequence[RowGroup],
    other: memoryview | None,
    options: Mapping[str, Any],
) -> bytes:
    """A Parquet file of all columns of a schema.

    Args:
        schema: the columns, in their order, all nullable.
        groups: the rows; each has the same columns.
        other: a file of the columns that the groups lack, with the same row groups; None where they lack none.
        options: what the other file was written with (for `pyarrow.parquet.write_table`); pages of version 1.
    """
    layout = _layout(schema, tuple(sorted(options.items())))
    body: list[bytes | memoryview] = [MAGIC]
    written: list[dict[tuple[bytes, ...], _Described]] = [{} for _ in groups]
    if other is not None:
        pages, given = parted(other)
        body = [pages]
        written = [dict(map(_as_written, group[COLUMNS][1][1])) for group in given[ROW_GROUPS][1][1]]
    place = len(body[0])
    described: list[Struct] = []
    for group, known in zip(groups, written, strict=True):
        columns = []
        for leaf in layout.leaves:
            if leaf.path in known:
                columns.append(known[leaf.path])
                continue
            chunk = group.chunks[leaf.path[0].decode()]
            columns.append(_described(leaf, group.rows, chunk, place))
            body.append(chunk.data)
            place += len(chunk.data)
        described.append(_group(columns, group.rows, len(described)))
    rows = sum(group.rows for group in groups)
    footer = {**layout.footer, FILE_ROWS: (I64, rows), ROW_GROUPS: (LIST, (STRUCT, described))}
    return b"".join([*body, ending(footer)])


def repeated_columns(schema: pa.Schema) -> frozenset[str]:
    """The columns of a schema that are lists or maps."""
    return frozenset(field.name for field in schema if pa.types.is_list(field.type) or pa.types.is_map(field.type))


@lru_cache(maxsize=16)
def _layout(schema: pa.Schema, options: tuple[tuple[str, Any], ...]) -> _Layout:
    sink = pa.BufferOutputStream()
    row = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
    pq.write_table(row, sink, write_statistics=False, **dict(options))
    _, footer = parted(memoryview(sink.getvalue()))
    chunks = footer[ROW_GROUPS][1][1][0][COLUMNS][1][1]
    fixed = {number: field for number, field in footer.items() if number not in (FILE_ROWS, ROW_GROUPS)}
    metas = [chunk[META_DATA][1] for chunk in chunks]
    leaves = tuple(_Leaf(meta[TYPE][1], _path(meta), meta[CODEC][1]) for meta in metas)
    return _Layout(preencoded(fixed), leaves)


def _described(leaf: _Leaf, rows: int, made: ColumnChunk, offset: int) -> _Described:
    meta: Struct = {
        VALUES: (I64, rows),
        UNCOMPRESSED: (I64, made.uncompressed),
        COMPRESSED: (I64, len(made.data)),
        DATA_PAGE_OFFSET: (I64, offset + made.dictionary_bytes),
    }
    if made.dictionary_bytes:
        meta[DICTIONARY_OFFSET] = (I64, offset)
    if made.statistics:
        meta[STATISTICS] = (STRUCT, made.statistics)
    chunk = {CHUNK_OFFSET: (I64, 0), META_DATA: (STRUCT, continued(_beginning(leaf, made.encodings), CODEC, meta))}
    return _Described(chunk, offset, made.uncompressed, len(made.data))


@lru_cache(maxsize=512)
def _beginning(leaf: _Leaf, encodings: tuple[int, ...]) -> bytes:
    """The metadata of a column chunk up to its compression: the same in every file."""
    fields: Struct = {
        TYPE: (I32, leaf.kind),
        ENCODINGS: (LIST, (I32, list(encodings))),
        PATH: (LIST, (BINARY, list(leaf.path))),
        CODEC: (I32, leaf.codec),
    }
    return encoded(fields)[:-1]


def _as_written(chunk: Struct) -> tuple[tuple[bytes, ...], _Described]:
    """(its path, a chunk of the other writer)."""
    meta = chunk[META_DATA][1]
    offset = meta.get(DICTIONARY_OFFSET, meta[DATA_PAGE_OFFSET])[1]
    return _path(meta), _Described(chunk, offset, meta[UNCOMPRESSED][1], meta[COMPRESSED][1])


def _group(columns: list[_Described], rows: int, ordinal: int) -> Struct:
    return {
        COLUMNS: (LIST, (STRUCT, [column.chunk for column in columns])),
        GROUP_BYTES: (I64, sum(column.uncompressed for column in columns)),
        GROUP_ROWS: (I64, rows),
        GROUP_OFFSET: (I64, columns[0].offset),
        GROUP_COMPRESSED: (I64, sum(column.compressed for column in columns)),
        ORDINAL: (I16, ordinal),
    }


def _path(meta: Struct) -> tuple[bytes, ...]:
    kind, names = meta[PATH][1]
    assert kind == BINARY
    return tuple(names)
