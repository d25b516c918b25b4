"""Finding bytes in a text, a piece at a time: what is made on the way then stays in the processor's cache."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_PIECE = 2**18


def places_of(byte: int, text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Where a byte stands in a text, ascending."""
    found = [
        np.flatnonzero(text[start : start + _PIECE] == byte) + start for start in range(0, max(len(text), 1), _PIECE)
    ]
    return found[0] if len(found) == 1 else np.concatenate(found)


def count_below(byte: int, text: npt.NDArray[np.uint8]) -> int:
    """How many bytes of a text are less than `byte`."""
    return sum(int(np.count_nonzero(text[start : start + _PIECE] < byte)) for start in range(0, len(text), _PIECE))
