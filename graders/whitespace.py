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
_IS_SPACE = np.zeros(256, bool)
_IS_SPACE[[ord(character) for character in ASCII_SPACE]] = True


def trimmed(texts: pa.StringArray) -> pa.StringArray:
    """Every text without white space at its ends."""
    return pc.utf8_trim(texts, ASCII_SPACE + WIDE_SPACE)


def word_counts(texts: pa.StringArray) -> Positions:
    """The number of words of every text: longest runs without white space."""
    if not ascii_rows(texts).all() and to_mask(pc.match_substring_regex(texts, _WIDE_CLASS)).any():
        texts = pc.replace_substring_regex(texts, _WIDE_CLASS, " ")
    offsets, data = buffers(texts)
    first, last = int(offsets[0]), int(offsets[-1])
    inside: npt.NDArray[np.bool_] = ~_IS_SPACE[data[first:last]]
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    at_start = offsets[:-1][offsets[:-1] < last] - first
    begins[at_start] = inside[at_start]
    counts: Positions = np.diff(np.searchsorted(np.flatnonzero(begins), offsets - first))
    return counts
