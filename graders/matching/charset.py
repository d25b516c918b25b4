"""Sets of code points as sorted, disjoint, non-adjacent, inclusive ranges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

MAX_CODE_POINT = 0x10FFFF
CharSet = tuple[tuple[int, int], ...]

EMPTY: CharSet = ()
EVERYTHING: CharSet = ((0, MAX_CODE_POINT),)
ASCII: CharSet = ((0, 0x7F),)


def from_ranges(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """The set of all code points in the inclusive `ranges`, which may overlap and come in any order."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def of(*code_points: int) -> CharSet:
    """The set of the given code points."""
    return from_ranges((point, point) for point in code_points)


def union(*sets: CharSet) -> CharSet:
    """Code points of any of the sets."""
    return from_ranges(pair for one in sets for pair in one)


def complement(chars: CharSet) -> CharSet:
    """All code points that are not in `chars`."""
    gaps: list[tuple[int, int]] = []
    next_low = 0
    for low, high in chars:
        if low > next_low:
            gaps.append((next_low, low - 1))
        next_low = high + 1
    if next_low <= MAX_CODE_POINT:
        gaps.append((next_low, MAX_CODE_POINT))
    return tuple(gaps)


def intersect(left: CharSet, right: CharSet) -> CharSet:
    """Code points of both sets."""
    common: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            common.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def contains(chars: CharSet, code_point: int) -> bool:
    """Whether `code_point` is in `chars`."""
    index = bisect_right(chars, (code_point, MAX_CODE_POINT)) - 1
    return index >= 0 and chars[index][1] >= code_point


def size(chars: CharSet) -> int:
    """How many code points `chars` has."""
    return sum(high - low + 1 for low, high in chars)


def points(chars: CharSet) -> Iterator[int]:
    """The code points of `chars` in ascending order."""
    for low, high in chars:
        yield from range(low, high + 1)


def is_ascii(chars: CharSet) -> bool:
    """Whether `chars` has no code point above U+007F."""
    return not chars or chars[-1][1] <= 0x7F
