"""Lower-casing for comparisons that ignore case: by Unicode's full mapping without locale, as in JavaScript and Python.

It is no case folding: `ß` does not equal `SS`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graders.text_positions import Positions, ascii_rows, to_mask

#: Letters whose lower case is two code points (İ) or depends on the neighbours (Σ); Arrow maps code point by code
#: point.
SPECIAL = "[\u0130\u03a3]"


def lowered(texts: pa.StringArray) -> pa.StringArray:
    """Every text in lower case. Code points keep their places, except after an `İ`."""
    wide = ~ascii_rows(texts)
    lower = pc.ascii_lower(texts)
    if not wide.any():
        return lower
    indices = np.flatnonzero(wide)
    originals = texts.take(pa.array(indices))
    replaced = pc.utf8_lower(originals)
    special = special_rows(originals)
    if len(special):
        by_python = pa.array([text.lower() for text in originals.take(pa.array(special)).to_pylist()], pa.string())
        mask = np.zeros(len(indices), bool)
        mask[special] = True
        replaced = pc.replace_with_mask(replaced, pa.array(mask), by_python)
    return pc.replace_with_mask(lower, pa.array(wide), replaced)


def special_rows(texts: pa.StringArray) -> Positions:
    """Which texts hold a letter of `SPECIAL`."""
    return np.flatnonzero(to_mask(pc.match_substring_regex(texts, SPECIAL)))


def places_before_lowering(text: str, start: int, end: int) -> tuple[int, int]:
    """The span of `text`, in code points, that the span from `start` to `end` of `text.lower()` comes from."""
    lengths = np.fromiter((len(character.lower()) for character in text), np.int64, len(text))
    ends = np.cumsum(lengths)
    first = int(np.searchsorted(ends, start, side="right"))
    after_last = int(np.searchsorted(ends, end, side="left")) + 1
    return first, max(first, after_last)
