"""Columns without a value, put into a Parquet file without being written row by row.

Of the columns of `scores` most are null in most runs. A writer that goes through their rows spends a third of its time on them, for pages
that say "so many times nothing": one run of zeros. Here the file is written without them, and their pages, a few bytes each, are put
between its last page and its footer, which then names them in their places.

Source: the Parquet format (`parquet.thrift`; levels are the RLE hybrid of "Data encodings", pages those of version 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.writing.thrift_compact import BINARY, I32, I64, LIST, STRUCT, Struct, decoded, encoded, varint

_MAGIC = b"PAR1"
_DATA_PAGE, _PLAIN, _RLE = 0, 0, 3
#: Field numbers in parquet.thrift.
_SCHEMA, _ROW_GROUPS, _COLUMN_ORDERS = 2, 4, 7
_COLUMNS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_COMPRESSED = 1, 2, 3, 6
_META_DATA = 3
_ENCODINGS, _PATH, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_PAGE_OFFSET = 2, 3, 5, 6, 7, 9
_DICTIONARY_OFFSET, _STATISTICS, _ENCODING_STATS = 11, 12, 13
_SIZE_STATISTICS = 16


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A column of the file, as the writer describes it where it holds one null."""

    chunk: Struct
    is_repeated: bool


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the writer's own file of the whole schema says of it."""

    footer: Struct
    leaves: dict[tuple[bytes, ...], _Leaf]
    """By path, in the file's order."""


def with_null_columns(file: memoryview, schema: pa.Schema, options: dict[str, Any]) -> list[bytes | memoryview]:
    """A Parquet file with the columns of `schema` that it lacks: all null. The pieces of it, in order.

    Args:
        file: a Parquet file of some top-level columns of the schema.
        schema: all columns, in their order, all nullable.
        options: what the file was written with (for `pyarrow.parquet.write_table`); pages of version 1.
    """
    layout = _layout(schema, tuple(sorted(options.items())))
    footer_bytes = int.from_bytes(file[-8:-4], "little")
    body = file[: -8 - footer_bytes]
    given = decoded(bytes(file[-8 - footer_bytes : -8]))
    place = len(body)
    pages: list[bytes] = []
    for group in given[_ROW_GROUPS][1][1]:
        rows = group[_GROUP_ROWS][1]
        known = {_path(chunk): chunk for chunk in group[_COLUMNS][1][1]}
        columns = []
        for path, leaf in layout.leaves.items():
            if path in known:
                columns.append(known[path])
                continue
            page, uncompressed = _null_page(rows, leaf.is_repeated, str(options["compression"]))
            columns.append(_null_chunk(leaf.chunk, rows, place, len(page), uncompressed))
            pages.append(page)
            place += len(page)
            _add(group, _GROUP_BYTES, uncompressed)
            _add(group, _GROUP_COMPRESSED, len(page))
        group[_COLUMNS] = (LIST, (STRUCT, columns))
    footer = encoded({**given, **{number: layout.footer[number] for number in (_SCHEMA, _COLUMN_ORDERS)}})
    return [body, *pages, footer, len(footer).to_bytes(4, "little"), _MAGIC]


@lru_cache(maxsize=16)
def _layout(schema: pa.Schema, options: tuple[tuple[str, Any], ...]) -> _Layout:
    sink = pa.BufferOutputStream()
    row = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
    pq.write_table(row, sink, write_statistics=False, **dict(options))
    data = sink.getvalue().to_pybytes()
    footer = decoded(data[-8 - int.from_bytes(data[-8:-4], "little") : -8])
    chunks = footer[_ROW_GROUPS][1][1][0][_COLUMNS][1][1]
    described = pq.ParquetFile(pa.BufferReader(data)).schema
    leaves = {
        _path(chunk): _Leaf(chunk, described.column(number).max_repetition_level > 0)
        for number, chunk in enumerate(chunks)
    }
    return _Layout(footer, leaves)


@lru_cache(maxsize=256)
def _null_page(rows: int, is_repeated: bool, compression: str) -> tuple[bytes, int]:
    """(header and compressed body, size uncompressed) of a page that says `rows` times null."""
    run = varint(rows << 1) + b"\0"
    levels = len(run).to_bytes(4, "little") + run
    body = levels * 2 if is_repeated else levels
    packed = body if compression == "none" else pa.Codec(compression).compress(body, asbytes=True)
    header = {
        1: (I32, _DATA_PAGE),
        2: (I32, len(body)),
        3: (I32, len(packed)),
        5: (STRUCT, {1: (I32, rows), 2: (I32, _PLAIN), 3: (I32, _RLE), 4: (I32, _RLE)}),
    }
    start = encoded(header)
    return start + packed, len(start) + len(body)


def _null_chunk(described: Struct, rows: int, offset: int, compressed: int, uncompressed: int) -> Struct:
    left_out = (_DICTIONARY_OFFSET, _STATISTICS, _ENCODING_STATS, _SIZE_STATISTICS)
    meta = {number: field for number, field in described[_META_DATA][1].items() if number not in left_out}
    meta[_ENCODINGS] = (LIST, (I32, [_RLE, _PLAIN]))
    meta[_VALUES] = (I64, rows)
    meta[_UNCOMPRESSED] = (I64, uncompressed)
    meta[_COMPRESSED] = (I64, compressed)
    meta[_DATA_PAGE_OFFSET] = (I64, offset)
    return {2: (I64, 0), _META_DATA: (STRUCT, meta)}


def _path(chunk: Struct) -> tuple[bytes, ...]:
    kind, names = chunk[_META_DATA][1][_PATH][1]
    assert kind == BINARY
    return tuple(names)


def _add(group: Struct, number: int, size: int) -> None:
    if number in group:
        kind, value = group[number]
        group[number] = (kind, value + size)
