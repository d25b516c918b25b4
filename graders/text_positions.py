"""Positions in Arrow strings: code points to bytes and back, and many substrings at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def buffers(texts: pa.StringArray) -> tuple[Positions, npt.NDArray[np.uint8]]:
    """The byte offsets (one more than texts) and the bytes that they point into. Nulls look like empty texts."""
    _, offsets, data = texts.buffers()
    if offsets is None:
        return np.zeros(len(texts) + 1, np.int64), np.zeros(0, np.uint8)
    begins = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return begins, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def to_mask(values: pa.BooleanArray) -> Mask:
    """A boolean array as numpy; null is False."""
    if values.null_count:
        values = pc.fill_null(values, False)
    mask: Mask = values.to_numpy(zero_copy_only=False)
    return mask


def ascii_rows(texts: pa.StringArray) -> Mask:
    """Which texts are ASCII only, where a byte is a code point."""
    return to_mask(pc.string_is_ascii(texts))


def code_points_to_bytes(texts: pa.StringArray, *positions: Positions) -> list[Positions]:
    """Byte positions of code-point positions, one a text in each of `positions`."""
    return _converted(texts, positions, _bytes_of_code_points)


def bytes_to_code_points(texts: pa.StringArray, *positions: Positions) -> list[Positions]:
    """Code-point positions of byte positions (each on a code-point boundary), one a text in each of `positions`."""
    return _converted(texts, positions, _code_points_of_bytes)


def substrings(texts: pa.StringArray, starts: Positions, ends: Positions) -> pa.StringArray:
    """The bytes from start to end (on code-point boundaries) of every text, as an array of its own."""
    offsets, data = buffers(texts)
    lengths = ends - starts
    new_offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(lengths, out=new_offsets[1:])
    source = np.repeat(offsets[:-1] + starts - new_offsets[:-1], lengths) + np.arange(new_offsets[-1])
    return pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(new_offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data[source]))
    )


def _converted(texts: pa.StringArray, positions: tuple[Positions, ...], convert: Any) -> list[Positions]:
    wide = ~ascii_rows(texts)
    if not wide.any():
        return list(positions)
    some = np.flatnonzero(wide)
    offsets, data = buffers(texts.take(pa.array(some)))
    converted = []
    for given in positions:
        result = given.copy()
        result[some] = convert(offsets, data, given[some])
        converted.append(result)
    return converted


def _begins_code_point(data: npt.NDArray[np.uint8]) -> Mask:
    mask: Mask = (data & 0xC0) != 0x80
    return mask


def _bytes_of_code_points(offsets: Positions, data: npt.NDArray[np.uint8], positions: Positions) -> Positions:
    boundaries = np.append(np.flatnonzero(_begins_code_point(data)), len(data))
    first = np.searchsorted(boundaries, offsets[:-1])
    found: Positions = boundaries[first + positions] - offsets[:-1]
    return found


def _code_points_of_bytes(offsets: Positions, data: npt.NDArray[np.uint8], positions: Positions) -> Positions:
    boundaries = np.append(np.flatnonzero(_begins_code_point(data)), len(data))
    first = np.searchsorted(boundaries, offsets[:-1])
    found: Positions = np.searchsorted(boundaries, offsets[:-1] + positions) - first
    return found
