"""What the engine needs to know of an Arrow array of texts, found for all rows at once."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.matching.backtracking import Texts
from graders.matching.other_words import other_words
from graders.matching.to_re2 import write_set

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

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Bytes of each row (0 for null)."""
        return np.diff(self.offsets)

    @cached_property
    def all_ascii(self) -> bool:
        """Whether no row has a byte above 0x7F."""
        used = self.bytes[self.offsets[0] : self.offsets[-1]]
        return not len(used) or int(used.max()) < 0x80

    @cached_property
    def ascii_rows(self) -> Mask:
        """Rows that are all ASCII (null ones among them)."""
        if self.all_ascii:
            return np.ones(len(self), np.bool_)
        return np.array(pc.string_is_ascii(self.array).fill_null(True))

    def ascii_word_rows(self, asked: Mask) -> Mask:
        """Those of the `asked` rows whose word characters are all ASCII, whatever else they hold."""
        plain = asked & self.ascii_rows
        rows = np.flatnonzero(asked & ~plain)
        if len(rows):
            plain[rows] = ~np.asarray(pc.match_substring_regex(self.rows(rows), _other_word()).fill_null(False))
        return plain

    def ends_with_newline(self) -> Mask:
        """Rows whose last character is a newline."""
        lengths = self.lengths
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

    def code_points(
        self, indices: npt.NDArray[np.int64], *byte_offsets: npt.NDArray[np.int64]
    ) -> list[npt.NDArray[np.int64]]:
        """Byte offsets into the rows at `indices`, one a row in each of `byte_offsets`, as code point offsets."""
        if self.all_ascii:
            return list(byte_offsets)
        chosen = TextArray(self.rows(indices))
        used = chosen.bytes[chosen.offsets[0] : chosen.offsets[-1]]
        begins = np.flatnonzero((used & 0xC0) != 0x80)
        starts = chosen.offsets[:-1] - chosen.offsets[0]
        before = np.searchsorted(begins, starts)
        return [np.searchsorted(begins, starts + given) - before for given in byte_offsets]


@lru_cache(maxsize=1)
def _other_word() -> str:
    return write_set(other_words())
