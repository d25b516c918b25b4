"""White space as Unicode's property `White_Space` has it: what `trim` takes away and what separates words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.text_positions import Positions, ascii_rows, buffers, to_mask

ASCII_SPACE = "\t\n\x0b\x0c\r "
WIDE_SPACE = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_WIDE_CLASS = f"[{WIDE_SPACE}]"
_TAB, _CONTROLS, _BLANK = np.uint8(0x09), np.uint8(5), np.uint8(0x20)
_CHUNK = 128 * 1024


def trimmed(texts: pa.StringArray) -> pa.StringArray:
    """Every text without white space at its ends."""
    return pc.utf8_trim(texts, ASCII_SPACE + WIDE_SPACE)


def word_counts(texts: pa.StringArray) -> Positions:
    """The number of words of every text: longest runs without white space."""
    counts = _counts_between_ascii_spaces(texts)
    wide = np.flatnonzero(~ascii_rows(texts))
    if len(wide):
        others = texts.take(pa.array(wide))
        spaced = to_mask(pc.match_substring_regex(others, _WIDE_CLASS))
        if spaced.any():
            plain = pc.replace_substring_regex(others.filter(pa.array(spaced)), _WIDE_CLASS, " ")
            counts[wide[spaced]] = _counts_between_ascii_spaces(plain)
    return counts


def _counts_between_ascii_spaces(texts: pa.StringArray) -> Positions:
    """A pass over the whole buffer, in pieces that stay in the processor's cache."""
    offsets, data = buffers(texts)
    first, last = int(offsets[0]), int(offsets[-1])
    begins = [np.zeros(0, np.int64)]
    for start in range(first + 1, last, _CHUNK):
        space = _ascii_spaces(data[start - 1 : min(start + _CHUNK, last)])
        begins.append(np.flatnonzero(space[:-1] > space[1:]) + start)
    counts: Positions = np.diff(np.searchsorted(np.concatenate(begins), offsets))
    filled = offsets[:-1] < offsets[1:]
    starts = offsets[:-1][filled]
    counts[filled] += ~_ascii_spaces(data[starts]) & ((starts == first) | ~_ascii_spaces(data[starts - 1]))
    return counts


def _ascii_spaces(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    space: npt.NDArray[np.bool_] = data == _BLANK
    space |= data - _TAB < _CONTROLS
    return space
