"""Columns that say the same in every row, put into a Parquet file without being written row by row.

Most columns of `scores` do in most runs: twenty hold nothing, others the run, the file, the version. A writer that goes through their rows
spends half its time on them, for pages that say "so many times this". Here the file is written without them, and their pages, a
few bytes each, are put between its last page and its footer, which then names them in their places.

Source: the Parquet format (`parquet.thrift`; levels and indices are the RLE hybrid of "Data encodings", pages those of version 1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.writing.thrift_compact import BINARY, I32, I64, LIST, STRUCT, Struct, decoded, encoded, varint

_MAGIC = b"PAR1"
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
#: Field numbers in parquet.thrift.
_SCHEMA, _ROW_GROUPS, _COLUMN_ORDERS = 2, 4, 7
_COLUMNS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_COMPRESSED = 1, 2, 3, 6
_META_DATA = 3
_ENCODINGS, _PATH, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_PAGE_OFFSET = 2, 3, 5, 6, 7, 9
_DICTIONARY_OFFSET, _STATISTICS, _ENCODING_STATS, _SIZE_STATISTICS = 11, 12, 13, 16
#: Longer texts are no use to a reader that looks for row groups.
_LONGEST_STATISTIC = 256


@dataclass(frozen=True, slots=True)
class Constant:
    """What all rows of a column hold: the bytes of a value (a number's as they stand in a page), or None for null."""

    value: bytes | None
    is_text: bool = False


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


@dataclass(frozen=True, slots=True)
class _Pages:
    """The pages of a constant column."""

    data: bytes
    uncompressed: int
    dictionary_bytes: int
    """How many of `data` are the dictionary page; 0: there is none."""


def constant_columns(table: pa.Table) -> dict[str, Constant]:
    """The columns of a table that are worth leaving out, by name. Tables without rows have none."""
    found = {}
    for name in table.column_names if len(table) else ():
        constant = _constant(table[name])
        if constant is not None:
            found[name] = constant
    return found


def with_constant_columns(
    file: memoryview,
    schema: pa.Schema,
    constants: Mapping[str, Constant],
    pruned_by: Collection[str],
    options: Mapping[str, Any],
) -> bytes:
    """A Parquet file with the columns of `schema` that it lacks.

    Args:
        file: a Parquet file of some top-level columns of the schema.
        schema: all columns, in their order, all nullable.
        constants: what the others hold.
        pruned_by: columns that get statistics.
        options: what the file was written with (for `pyarrow.parquet.write_table`); pages of version 1.
    """
    layout = _layout(schema, tuple(sorted(options.items())))
    footer_bytes = int.from_bytes(file[-8:-4], "little")
    body = file[: -8 - footer_bytes]
    given = decoded(bytes(file[-8 - footer_bytes : -8]))
    place = len(body)
    added: list[bytes] = []
    for group in given[_ROW_GROUPS][1][1]:
        rows = group[_GROUP_ROWS][1]
        known = {_path(chunk): chunk for chunk in group[_COLUMNS][1][1]}
        columns = []
        for path, leaf in layout.leaves.items():
            if path in known:
                columns.append(known[path])
                continue
            name = path[0].decode()
            pages = _pages(rows, constants[name], leaf.is_repeated, str(options["compression"]))
            columns.append(_chunk(leaf.chunk, rows, constants[name], pages, place, name in pruned_by))
            added.append(pages.data)
            place += len(pages.data)
            _add(group, _GROUP_BYTES, pages.uncompressed)
            _add(group, _GROUP_COMPRESSED, len(pages.data))
        group[_COLUMNS] = (LIST, (STRUCT, columns))
    footer = encoded({**given, **{number: layout.footer[number] for number in (_SCHEMA, _COLUMN_ORDERS)}})
    return b"".join([body, *added, footer, len(footer).to_bytes(4, "little"), _MAGIC])


def _constant(column: pa.ChunkedArray) -> Constant | None:
    if column.null_count == len(column):
        return Constant(None)
    if column.null_count or column.num_chunks != 1:
        return None
    array = column.chunk(0)
    if pa.types.is_dictionary(array.type):
        if len(array.dictionary) != 1 or not pa.types.is_string(array.type.value_type):
            return None
        return Constant(array.dictionary[0].as_py().encode(), is_text=True)
    width = _number_width(array.type)
    if width is None:
        return None
    numbers = array.view(pa.int32() if width == 4 else pa.int64())
    if numbers[0] != numbers[-1]:
        return None
    extremes = pc.min_max(numbers)
    if extremes["min"] != extremes["max"]:
        return None
    return Constant(int(numbers[0].as_py()).to_bytes(width, "little", signed=True))


def _number_width(kind: pa.DataType) -> int | None:
    if pa.types.is_int32(kind) or pa.types.is_date32(kind):
        return 4
    return 8 if pa.types.is_int64(kind) or pa.types.is_timestamp(kind) else None


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
def _pages(rows: int, constant: Constant, is_repeated: bool, compression: str) -> _Pages:
    """Pages that say `rows` times the same."""
    zeros, ones = varint(rows << 1) + b"\0", varint(rows << 1) + b"\1"
    if constant.value is None:
        levels = _with_length(zeros)
        body = levels * 2 if is_repeated else levels
        data, uncompressed = _page(_DATA_PAGE, _data_header(rows, _PLAIN), 5, body, compression)
        return _Pages(data, uncompressed, 0)
    word = _with_length(constant.value) if constant.is_text else constant.value
    dictionary, first = _page(_DICTIONARY_PAGE, {1: (I32, 1), 2: (I32, _PLAIN)}, 7, word, compression)
    bit_width = b"\1"
    body = _with_length(ones) + bit_width + zeros
    data, second = _page(_DATA_PAGE, _data_header(rows, _RLE_DICTIONARY), 5, body, compression)
    return _Pages(dictionary + data, first + second, len(dictionary))


def _data_header(rows: int, encoding: int) -> Struct:
    return {1: (I32, rows), 2: (I32, encoding), 3: (I32, _RLE), 4: (I32, _RLE)}


def _page(kind: int, header: Struct, number: int, body: bytes, compression: str) -> tuple[bytes, int]:
    """(a page, its size uncompressed); `number` is the field of the page header that has the kind's own header."""
    packed = body if compression == "none" else pa.Codec(compression).compress(body, asbytes=True)
    start = encoded({1: (I32, kind), 2: (I32, len(body)), 3: (I32, len(packed)), number: (STRUCT, header)})
    return start + packed, len(start) + len(body)


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


def _chunk(described: Struct, rows: int, constant: Constant, pages: _Pages, offset: int, counted: bool) -> Struct:
    left_out = (_DICTIONARY_OFFSET, _STATISTICS, _ENCODING_STATS, _SIZE_STATISTICS)
    meta = {number: field for number, field in described[_META_DATA][1].items() if number not in left_out}
    encodings = [_PLAIN, _RLE, _RLE_DICTIONARY] if pages.dictionary_bytes else [_PLAIN, _RLE]
    meta[_ENCODINGS] = (LIST, (I32, encodings))
    meta[_VALUES] = (I64, rows)
    meta[_UNCOMPRESSED] = (I64, pages.uncompressed)
    meta[_COMPRESSED] = (I64, len(pages.data))
    meta[_DATA_PAGE_OFFSET] = (I64, offset + pages.dictionary_bytes)
    if pages.dictionary_bytes:
        meta[_DICTIONARY_OFFSET] = (I64, offset)
    if counted:
        meta[_STATISTICS] = (STRUCT, _statistics(rows, constant))
    return {2: (I64, 0), _META_DATA: (STRUCT, meta)}


def _statistics(rows: int, constant: Constant) -> Struct:
    if constant.value is None:
        return {3: (I64, rows)}
    if len(constant.value) > _LONGEST_STATISTIC:
        return {3: (I64, 0)}
    return {3: (I64, 0), 5: (BINARY, constant.value), 6: (BINARY, constant.value)}


def _path(chunk: Struct) -> tuple[bytes, ...]:
    kind, names = chunk[_META_DATA][1][_PATH][1]
    assert kind == BINARY
    return tuple(names)


def _add(group: Struct, number: int, size: int) -> None:
    if number in group:
        kind, value = group[number]
        group[number] = (kind, value + size)
