"""Pages of a Parquet file, made from whole arrays: levels, indices and plain values as bytes.

Source: the Parquet format (`parquet.thrift`; "Data encodings": the RLE/bit-packing hybrid and PLAIN); data pages are those of version 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.writing.thrift_compact import I32, STRUCT, Struct, encoded, varint

DATA_PAGE, DICTIONARY_PAGE = 0, 2
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
#: The longest run whose length takes one byte.
_LONGEST_RUN = 63
#: Bits an index that NumPy packs without a loop; a reader takes any width that is wide enough.
_WIDTHS = (1, 2, 4, 8, 16, 32)

Codes = npt.NDArray[Any]
"""Integers, none of them negative."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Codes, each of which stands so many times in a row."""

    codes: Codes
    lengths: npt.NDArray[np.int64]


def data_page(rows: int, encoding: int, levels: bytes, values: bytes, compression: str) -> tuple[bytes, int]:
    """(a data page of `rows` rows, nulls among them, its size uncompressed)."""
    header = {1: (I32, rows), 2: (I32, encoding), 3: (I32, RLE), 4: (I32, RLE)}
    return _page(DATA_PAGE, 5, header, levels + values, compression)


def dictionary_page(words: int, values: bytes, compression: str) -> tuple[bytes, int]:
    """(a dictionary page of so many words, its size uncompressed)."""
    return _page(DICTIONARY_PAGE, 7, {1: (I32, words), 2: (I32, PLAIN)}, values, compression)


def same_level(rows: int, level: int) -> bytes:
    """Levels of rows that all have the same one, 0 or 1."""
    return with_length(varint(rows << 1) + bytes([level]))


def levels_of(valid: npt.NDArray[np.bool_]) -> bytes:
    """Definition levels of rows some of which are null."""
    return with_length(_bit_packed(valid.view(np.uint8), 1))


def runs(codes: Codes, words: int) -> Runs | None:
    """The runs of equal codes, where as such they are shorter than one by one; `codes` are indices into so many words."""
    width = _width(words)
    changes = int(np.count_nonzero(codes[1:] != codes[:-1]))
    if (changes + 1) * (1 + -(-width // 8)) * 8 > len(codes) * width:
        return None
    starts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(codes[1:] != codes[:-1]) + 1))
    return Runs(codes[starts], np.diff(starts, append=len(codes)))


def indices_in_runs(given: Runs, words: int) -> bytes:
    """Indices into a dictionary of so many words, as they stand in a data page, by their runs."""
    width = _width(words)
    codes, lengths = given.codes, given.lengths
    if int(lengths.max(initial=0)) > _LONGEST_RUN:
        entries = -(-lengths // _LONGEST_RUN)
        codes = np.repeat(codes, entries)
        lengths = _cut(lengths, entries)
    value_bytes = -(-width // 8)
    packed = np.empty((len(codes), 1 + value_bytes), np.uint8)
    packed[:, 0] = lengths << 1
    packed[:, 1:] = codes.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :value_bytes]
    return bytes([width]) + packed.tobytes()


def indices_one_by_one(codes: Codes, words: int) -> bytes:
    """Indices into a dictionary of so many words, as they stand in a data page."""
    width = _width(words)
    return bytes([width]) + _bit_packed(codes, width)


def same_index(rows: int) -> bytes:
    """So many indices of the only word of a dictionary, as they stand in a data page."""
    return b"\1" + varint(rows << 1) + b"\0"


def plain_booleans(values: npt.NDArray[np.bool_]) -> bytes:
    """Booleans as they stand in a data page."""
    return np.packbits(values, bitorder="little").tobytes()


def plain_texts(texts: pa.StringArray) -> bytes:
    """Texts, none of them null, as they stand in a page: each behind its length."""
    count = len(texts)
    if not count:
        return b""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + count + 1]
    lengths = np.diff(offsets)
    first = int(lengths[0])
    if first and (lengths == first).all():
        page = np.empty((count, 4 + first), np.uint8)
        page[:, :4] = np.frombuffer(with_length(b"\0" * first)[:4], np.uint8)
        data = np.frombuffer(texts.buffers()[2], np.uint8)
        page[:, 4:] = data[offsets[0] : offsets[-1]].reshape(count, first)
        return page.tobytes()
    size_offsets = pa.py_buffer(np.arange(0, 4 * count + 1, 4, dtype=np.int32))
    sizes = pa.Array.from_buffers(pa.binary(), count, [None, size_offsets, pa.py_buffer(np.ascontiguousarray(lengths))])
    joined = pc.binary_join_element_wise(sizes, texts.view(pa.binary()), b"")
    return memoryview(joined.buffers()[2])[: int(offsets[-1] - offsets[0]) + 4 * count].tobytes()


def with_length(data: bytes) -> bytes:
    """Bytes behind their number, of 32 bits."""
    return len(data).to_bytes(4, "little") + data


def _page(kind: int, number: int, header: Struct, body: bytes, compression: str) -> tuple[bytes, int]:
    """`number` is the field of the page's header that has the kind's own header."""
    packed = body if compression == "none" else pa.Codec(compression).compress(body, asbytes=True)
    start = encoded({1: (I32, kind), 2: (I32, len(body)), 3: (I32, len(packed)), number: (STRUCT, header)})
    return start + packed, len(start) + len(body)


def _width(words: int) -> int:
    return next(width for width in _WIDTHS if words <= 1 << width)


def _bit_packed(codes: Codes, width: int) -> bytes:
    """One bit-packed run: the number of its groups of eight, and the codes, the lowest bits first."""
    groups = -(-len(codes) // 8)
    padded = np.zeros(groups * 8, np.uint8 if width <= 8 else f"<u{width // 8}")
    padded[: len(codes)] = codes
    if width == 1:
        padded = np.packbits(padded, bitorder="little")
    while width in (2, 4):
        padded = padded[0::2] | padded[1::2] << np.uint8(width)
        width *= 2
    return varint(groups << 1 | 1) + padded.tobytes()


def _cut(lengths: npt.NDArray[np.int64], entries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Lengths of runs, each cut into so many that are short enough."""
    cut = np.full(int(entries.sum()), _LONGEST_RUN, np.int64)
    cut[np.cumsum(entries) - 1] = lengths - (entries - 1) * _LONGEST_RUN
    return cut
