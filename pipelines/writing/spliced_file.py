"""A Parquet file of column chunks, some made here and some by another writer, under one footer.

The file of the other writer is taken up to its footer; chunks made here follow its last page. The footer is that which the writer gives a
file of the whole schema, with our row groups in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.writing.column_chunks import ColumnChunk
from pipelines.writing.thrift_compact import BINARY, I16, I32, I64, LIST, STRUCT, Struct, decoded, encoded, preencoded

_MAGIC = b"PAR1"
#: Field numbers in parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData.
_FILE_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_COMPRESSED, _ORDINAL = 1, 2, 3, 5, 6, 7
_META_DATA = 3
_ENCODINGS, _PATH, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_PAGE_OFFSET = 2, 3, 5, 6, 7, 9
_DICTIONARY_OFFSET, _STATISTICS, _ENCODING_STATS, _SIZE_STATISTICS = 11, 12, 13, 16


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of a file, and the chunks of them that were made here, by column."""

    rows: int
    chunks: Mapping[str, ColumnChunk]


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the writer's own file of the whole schema says of it: a footer without rows, and each column's metadata by its path, in order."""

    footer: Struct
    leaves: dict[tuple[bytes, ...], Struct]


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
    body: list[bytes | memoryview] = [_MAGIC]
    written: list[dict[tuple[bytes, ...], Struct]] = [{} for _ in groups]
    if other is not None:
        footer_bytes = int.from_bytes(other[-8:-4], "little")
        body = [other[: -8 - footer_bytes]]
        given = decoded(bytes(other[-8 - footer_bytes : -8]))
        written = [{_path(chunk): chunk for chunk in group[_COLUMNS][1][1]} for group in given[_ROW_GROUPS][1][1]]
    place = len(body[0])
    described: list[Struct] = []
    for group, known in zip(groups, written, strict=True):
        columns = []
        for path, leaf in layout.leaves.items():
            if path in known:
                columns.append(known[path])
                continue
            name = path[0].decode()
            chunk = group.chunks[name]
            columns.append(_described(leaf, group.rows, chunk, place))
            body.append(chunk.data)
            place += len(chunk.data)
        described.append(_group(columns, group.rows, len(described)))
    rows = sum(group.rows for group in groups)
    footer = encoded({**layout.footer, _FILE_ROWS: (I64, rows), _ROW_GROUPS: (LIST, (STRUCT, described))})
    return b"".join([*body, footer, len(footer).to_bytes(4, "little"), _MAGIC])


def repeated_columns(schema: pa.Schema) -> frozenset[str]:
    """The columns of a schema that are lists or maps."""
    return frozenset(field.name for field in schema if pa.types.is_list(field.type) or pa.types.is_map(field.type))


@lru_cache(maxsize=16)
def _layout(schema: pa.Schema, options: tuple[tuple[str, Any], ...]) -> _Layout:
    sink = pa.BufferOutputStream()
    row = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
    pq.write_table(row, sink, write_statistics=False, **dict(options))
    data = sink.getvalue().to_pybytes()
    footer = decoded(data[-8 - int.from_bytes(data[-8:-4], "little") : -8])
    chunks = footer[_ROW_GROUPS][1][1][0][_COLUMNS][1][1]
    fixed = {number: field for number, field in footer.items() if number not in (_FILE_ROWS, _ROW_GROUPS)}
    return _Layout(preencoded(fixed), {_path(chunk): preencoded(chunk[_META_DATA][1]) for chunk in chunks})


def _described(leaf: Struct, rows: int, chunk: ColumnChunk, offset: int) -> Struct:
    left_out = (_DICTIONARY_OFFSET, _STATISTICS, _ENCODING_STATS, _SIZE_STATISTICS)
    meta = {number: field for number, field in leaf.items() if number not in left_out}
    meta[_ENCODINGS] = _list_of(chunk.encodings)
    meta[_VALUES] = (I64, rows)
    meta[_UNCOMPRESSED] = (I64, chunk.uncompressed)
    meta[_COMPRESSED] = (I64, len(chunk.data))
    meta[_DATA_PAGE_OFFSET] = (I64, offset + chunk.dictionary_bytes)
    if chunk.dictionary_bytes:
        meta[_DICTIONARY_OFFSET] = (I64, offset)
    if chunk.statistics:
        meta[_STATISTICS] = (STRUCT, chunk.statistics)
    return {2: (I64, 0), _META_DATA: (STRUCT, meta)}


@lru_cache(maxsize=16)
def _list_of(encodings: tuple[int, ...]) -> tuple[int, Any]:
    return preencoded({_ENCODINGS: (LIST, (I32, list(encodings)))})[_ENCODINGS]


def _group(columns: list[Struct], rows: int, ordinal: int) -> Struct:
    metas = [column[_META_DATA][1] for column in columns]
    first = metas[0]
    offset = first.get(_DICTIONARY_OFFSET, first[_DATA_PAGE_OFFSET])[1]
    return {
        _COLUMNS: (LIST, (STRUCT, columns)),
        _GROUP_BYTES: (I64, sum(meta[_UNCOMPRESSED][1] for meta in metas)),
        _GROUP_ROWS: (I64, rows),
        _GROUP_OFFSET: (I64, offset),
        _GROUP_COMPRESSED: (I64, sum(meta[_COMPRESSED][1] for meta in metas)),
        _ORDINAL: (I16, ordinal),
    }


def _path(chunk: Struct) -> tuple[bytes, ...]:
    kind, names = chunk[_META_DATA][1][_PATH][1]
    assert kind == BINARY
    return tuple(names)
