"""Columns of a table as Parquet column chunks, made from whole arrays.

Nearly all columns of `scores` repeat: by trajectory, by grader, or as one of a few words; most say the same in every row. A writer that
goes through their rows spends three quarters of its time on finding out what is known beforehand. Where a column comes as a dictionary
and indices, as truth values, or as a few numbers, its pages follow from that in a few array operations.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.writing import parquet_pages as pages
from pipelines.writing.thrift_compact import BINARY, I64, Struct

#: Longer texts are no use to a reader that looks for row groups.
_LONGEST_STATISTIC = 256
#: A column of numbers with more distinct ones is left to the writer.
_FEW_NUMBERS = 8
#: Of so many words each is looked for by itself.
_FEW_WORDS = 16
#: About so many numbers are looked at before all are.
_SAMPLE = 64
#: A dictionary of more bytes is left to the writer, which falls back to plain values.
_LARGEST_DICTIONARY = 8 * 2**20


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """The pages of one column of one row group, and what a footer says of them."""

    data: bytes
    uncompressed: int
    dictionary_bytes: int
    """How many of `data` are the dictionary page; 0: there is none."""
    encodings: tuple[int, ...]
    statistics: Struct
    """Empty where the column gets none."""


def column_chunks(
    table: pa.Table, repeated: Collection[str], counted: Collection[str], compression: str
) -> dict[str, ColumnChunk]:
    """The chunks of those columns of a row group that can be made here, by name.

    Args:
        table: the rows of the group, at least one. The words of a dictionary are distinct.
        repeated: columns that are lists or maps; they are made where they hold nothing.
        counted: columns that get statistics.
        compression: of the pages.
    """
    found = {}
    for name in table.column_names:
        chunk = _chunk(table[name], name in repeated, name in counted, compression)
        if chunk is not None:
            found[name] = chunk
    return found


def _chunk(column: pa.ChunkedArray, is_repeated: bool, is_counted: bool, compression: str) -> ColumnChunk | None:
    rows = len(column)
    if column.null_count == rows:
        return _nulls(rows, is_repeated, is_counted, compression)
    if column.num_chunks != 1:
        return None
    array = column.chunk(0)
    if is_repeated:
        return _empty_lists(rows, is_counted, compression) if _is_all_empty(array) else None
    if pa.types.is_dictionary(array.type):
        return _of_dictionary(array, is_counted, compression)
    if pa.types.is_boolean(array.type):
        return _of_booleans(array, is_counted, compression)
    chunk = _of_few_numbers(array, is_counted, compression) if _numbers(array.type) is not None else None
    return _of_distinct(array, is_counted, compression) if chunk is None else chunk


@lru_cache(maxsize=64)
def _nulls(rows: int, is_repeated: bool, is_counted: bool, compression: str) -> ColumnChunk:
    levels = pages.same_level(rows, 0)
    data, size = pages.data_page(rows, pages.PLAIN, levels * 2 if is_repeated else levels, b"", compression)
    return ColumnChunk(data, size, 0, (pages.PLAIN, pages.RLE), {3: (I64, rows)} if is_counted else {})


@lru_cache(maxsize=64)
def _empty_lists(rows: int, is_counted: bool, compression: str) -> ColumnChunk:
    """In a column of lists or maps that may be null, level 1 says that there is one, and nothing in it."""
    levels = pages.same_level(rows, 0) + pages.same_level(rows, 1)
    data, size = pages.data_page(rows, pages.PLAIN, levels, b"", compression)
    return ColumnChunk(data, size, 0, (pages.PLAIN, pages.RLE), {3: (I64, rows)} if is_counted else {})


def _is_all_empty(lists: pa.ListArray) -> bool:
    return bool(lists.null_count == 0 and lists.offsets[0].as_py() == lists.offsets[-1].as_py())


def _of_dictionary(array: pa.DictionaryArray, is_counted: bool, compression: str) -> ColumnChunk | None:
    words = array.dictionary
    if not pa.types.is_string(words.type) and _numbers(words.type) is None:
        return None
    if words.null_count or words.nbytes > _LARGEST_DICTIONARY:
        return None
    valid = _validity(array.indices)
    codes = _values(array.indices)
    return _of_codes(codes if valid is None else codes[valid], valid, words, is_counted, compression)


def _of_booleans(array: pa.BooleanArray, is_counted: bool, compression: str) -> ColumnChunk:
    valid = _validity(array)
    values = np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False))
    present = values if valid is None else values[valid]
    levels = pages.same_level(len(array), 1) if valid is None else pages.levels_of(valid)
    data, size = pages.data_page(len(array), pages.PLAIN, levels, pages.plain_booleans(present), compression)
    extremes = {5: (BINARY, bytes([bool(present.any())])), 6: (BINARY, bytes([bool(present.all())]))}
    statistics: Struct = {3: (I64, array.null_count), **extremes} if is_counted else {}
    return ColumnChunk(data, size, 0, (pages.PLAIN, pages.RLE), statistics)


def _of_few_numbers(array: pa.Array, is_counted: bool, compression: str) -> ColumnChunk | None:
    kind = _numbers(array.type)
    assert kind is not None
    valid = _validity(array)
    numbers = _values(array, kind.replace("f", "i"))
    present = numbers if valid is None else numbers[valid]
    if len(np.unique(present[:: len(present) // _SAMPLE + 1])) > _FEW_NUMBERS:
        return None
    found = [present[0]]
    known = present == present[0]
    codes = np.zeros(len(present), np.uint8)
    while not known[place := int(known.argmin())]:
        if len(found) == _FEW_NUMBERS:
            return None
        equal = present == present[place]
        codes += equal.view(np.uint8) * np.uint8(len(found))
        known |= equal
        found.append(present[place])
    words = pa.array(np.array(found, present.dtype)).view(array.type)
    return _of_codes(codes, valid, words, is_counted, compression)


def _of_distinct(array: pa.Array, is_counted: bool, compression: str) -> ColumnChunk | None:
    """A chunk without a dictionary, for texts or numbers no two of which, as it seems, are the same."""
    is_text = pa.types.is_string(array.type)
    if (not is_text and _numbers(array.type) is None) or array.nbytes > _LARGEST_DICTIONARY:
        return None
    valid = _validity(array)
    present = array if valid is None else array.drop_null()
    sample = present.take(pa.array(np.linspace(0, len(present) - 1, _SAMPLE, dtype=np.int64)))
    if len(present) < _SAMPLE or len(sample.unique()) < _SAMPLE:
        return None
    levels = pages.same_level(len(array), 1) if valid is None else pages.levels_of(valid)
    values = pages.plain_texts(present) if is_text else _values(present).tobytes()
    data, size = pages.data_page(len(array), pages.PLAIN, levels, values, compression)
    statistics = _statistics(present, array.null_count) if is_counted else {}
    return ColumnChunk(data, size, 0, (pages.PLAIN, pages.RLE), statistics)


def _of_codes(
    present: npt.NDArray[np.integer],
    valid: npt.NDArray[np.bool_] | None,
    words: pa.Array,
    is_counted: bool,
    compression: str,
) -> ColumnChunk:
    """A chunk of a dictionary and the indices of the rows that are not null."""
    rows = len(present) if valid is None else len(valid)
    levels = pages.same_level(rows, 1) if valid is None else pages.levels_of(valid)
    indices, words = _indices(present, words)
    texts = pages.plain_texts(words) if pa.types.is_string(words.type) else _values(words).tobytes()
    dictionary, first = pages.dictionary_page(len(words), texts, compression)
    data, second = pages.data_page(rows, pages.RLE_DICTIONARY, levels, indices, compression)
    return ColumnChunk(
        dictionary + data,
        first + second,
        len(dictionary),
        (pages.PLAIN, pages.RLE, pages.RLE_DICTIONARY),
        _statistics(words, rows - len(present)) if is_counted else {},
    )


def _indices(codes: npt.NDArray[np.integer], words: pa.Array) -> tuple[bytes, pa.Array]:
    """(indices for a data page, the words that occur)."""
    if len(words) == 1:
        return pages.same_index(len(codes)), words
    runs = pages.runs(codes, len(words))
    distinct = codes if runs is None else runs.codes
    used = _used(distinct, len(words))
    if not used.all():
        numbers = (np.cumsum(used) - 1).astype(codes.dtype)
        words = words.take(pa.array(np.flatnonzero(used)))
        distinct = numbers[distinct]
        if len(words) == 1:
            return pages.same_index(len(codes)), words
    if runs is None:
        return pages.indices_one_by_one(distinct, len(words)), words
    return pages.indices_in_runs(pages.Runs(distinct, runs.lengths), len(words)), words


def _used(codes: npt.NDArray[np.integer], words: int) -> npt.NDArray[np.bool_]:
    if words <= _FEW_WORDS:
        return np.array([bool((codes == word).any()) for word in range(words)])
    return np.bincount(codes, minlength=words) > 0


def _statistics(words: pa.Array, nulls: int) -> Struct:
    """The least and the greatest of the words, all of which occur."""
    counted: Struct = {3: (I64, nulls)}
    if pa.types.is_string(words.type):
        extremes = pc.min_max(words)
        least, greatest = (extremes[end].as_py().encode() for end in ("min", "max"))
        if max(len(least), len(greatest)) > _LONGEST_STATISTIC:
            return counted
    else:
        numbers = _values(words)
        ends = np.array([numbers.min(), numbers.max()], numbers.dtype)
        if ends.dtype.kind == "f":
            if np.isnan(ends).any():
                return counted
            # A zero may stand for the other one: parquet.thrift on ColumnOrder.
            ends = np.where(ends == 0, np.array([-0.0, 0.0]), ends)
        least, greatest = ends[:1].tobytes(), ends[1:].tobytes()
    return {**counted, 5: (BINARY, greatest), 6: (BINARY, least)}


def _numbers(kind: pa.DataType) -> str | None:
    """What a number of an Arrow type is to NumPy, in its bytes of a plain page; None for other types."""
    if pa.types.is_int32(kind) or pa.types.is_date32(kind):
        return "<i4"
    if pa.types.is_int64(kind) or (pa.types.is_timestamp(kind) and kind.unit == "us"):
        return "<i8"
    return "<f8" if pa.types.is_float64(kind) else None


def _values(array: pa.Array, dtype: str | None = None) -> npt.NDArray[np.integer]:
    """The numbers of an array where they lie; any number stands for null."""
    if dtype is None:
        dtype = _numbers(array.type) or f"<i{array.type.bit_width // 8}"
    return np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]


def _validity(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Which rows are not null; None where all are."""
    if array.null_count == 0:
        return None
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
