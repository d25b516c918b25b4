"""What the engine needs to know of an Arrow array of texts, found for all rows at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.matching.backtracking import Texts

Mask = npt.NDArray[np.bool_]
_OTHER_LINE_ENDS = r"[\r\x{2028}\x{2029}]"


class TextArray:
    """One chunk of texts, sliced or not, as Arrow and as bytes with offsets."""

    def __init__(self, array: pa.Array) -> None:
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            array = array.cast(pa.large_string())
        self.array = array
        width = np.int64 if pa.types.is_large_string(array.type) else np.int32
        _, offsets, data = array.buffers()
        count = len(array)
        if count and offsets is not None:
            bounds = np.frombuffer(offsets, width, count + 1, array.offset * np.dtype(width).itemsize)
        else:
            bounds = np.zeros(count + 1, width)
        self.offsets: npt.NDArray[np.int64] = bounds.astype(np.int64)
        self.data = memoryview(data) if data is not None else memoryview(b"")
        self.bytes = np.frombuffer(self.data, np.uint8)

    def __len__(self) -> int:
        return len(self.array)

    def present(self) -> Mask:
        """Rows that are not null."""
        if self.array.null_count == 0:
            return np.ones(len(self), np.bool_)
        return np.asarray(pc.is_valid(self.array))

    def lengths(self) -> npt.NDArray[np.int64]:
        """Bytes of each row (0 for null)."""
        return np.diff(self.offsets)

    def all_ascii(self) -> bool:
        """Whether no row has a byte above 0x7F."""
        used = self.bytes[self.offsets[0] : self.offsets[-1]]
        return not len(used) or int(used.max()) < 0x80

    def ascii_rows(self) -> Mask:
        """Rows that are all ASCII (null ones among them)."""
        if self.all_ascii():
            return np.ones(len(self), np.bool_)
        same = pc.equal(pc.binary_length(self.array), pc.utf8_length(self.array))
        return np.asarray(same.fill_null(True))

    def ends_with_newline(self) -> Mask:
        """Rows whose last character is a newline."""
        lengths = self.lengths()
        ends = np.zeros(len(self), np.bool_)
        filled = lengths > 0
        ends[filled] = self.bytes[self.offsets[1:][filled] - 1] == 0x0A
        return ends

    def has_other_line_ends(self) -> Mask:
        """Rows with CR, U+2028 or U+2029."""
        return np.asarray(pc.match_substring_regex(self.array, _OTHER_LINE_ENDS).fill_null(False))

    def rows(self, indices: npt.NDArray[np.int64]) -> pa.Array:
        """The rows at `indices` as an array."""
        return self.array if len(indices) == len(self) else self.array.take(pa.array(indices))

    def texts(self, indices: npt.NDArray[np.int64]) -> Texts:
        """The rows at `indices`, back to back."""
        if len(indices) == len(self):
            start = int(self.offsets[0])
            return Texts(self.data[start : int(self.offsets[-1])], self.offsets - start)
        return TextArray(pc.cast(self.rows(indices), pa.large_string())).texts(np.arange(len(indices)))

    def code_points(self, indices: npt.NDArray[np.int64], byte_offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Byte offsets into the rows at `indices` as code point offsets."""
        if self.all_ascii():
            return byte_offsets
        begins_character = (self.bytes & 0xC0) != 0x80
        before = np.concatenate(([0], np.cumsum(begins_character, dtype=np.int64)))
        starts = self.offsets[indices]
        return np.asarray(before[starts + byte_offsets] - before[starts], np.int64)
