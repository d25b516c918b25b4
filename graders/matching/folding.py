"""Which characters are the same under `(?i)`, dialect by dialect.

- ecma: `Canonicalize` of ECMA-262 without the u flag: the upper case of one UTF-16 unit if that is one unit, and never
  from outside ASCII into it (so the Kelvin sign is not a k, nor the long s an s; characters beyond U+FFFF do not fold).
- pcre: simple case folding of Unicode, as PCRE2 does in UTF mode with or without UCP. The dotted capital I and the
  dotless small i fold with nothing.
- python: whatever the `regex` package does, asked of it.

The ecma table comes from Python's Unicode data and the pcre one from `regex`; characters that are newer than either
do not fold.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import regex

from graders.matching import charset
from graders.matching.charset import CharSet

_SURROGATES = (0xD800, 0xDFFF)
_TURKIC = frozenset({0x130, 0x131})
_CASED = r"[\p{Cased}\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]"

_FEW = 16
#: All that an ASCII character can be the same as (dotted and dotless i, long s, the Kelvin sign): no need to look through all of Unicode.
_SAME_AS_ASCII = string.ascii_letters + "\u0130\u0131\u017f\u212a"
SameCase = Mapping[int, tuple[int, ...]]
"""From a code point to all that it is the same as, itself among them; absent when it is alone."""


_pairs: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}
"""By the identity of a table; the tables live as long as the process."""


@lru_cache(maxsize=1)
def every_character() -> str:
    """All code points that a text can hold, in order: index n is n below the surrogates and n + 2048 above them."""
    low, high = _SURROGATES
    points = np.concatenate((np.arange(low), np.arange(high + 1, charset.MAX_CODE_POINT + 1)))
    return points.astype("<u4").tobytes().decode("utf-32-le")


@lru_cache(maxsize=1)
def _cased_characters() -> str:
    return "".join(regex.findall(_CASED, every_character()))


@lru_cache(maxsize=1)
def ecma_same_case() -> SameCase:
    """The classes of ECMAScript's `Canonicalize` without u."""
    classes: dict[int, list[int]] = {}
    for point in range(0x10000):
        if not _SURROGATES[0] <= point <= _SURROGATES[1]:
            classes.setdefault(_ecma_canonical(point), []).append(point)
    return _by_member(classes.values())


def _ecma_canonical(point: int) -> int:
    upper = chr(point).upper()
    if len(upper) != 1 or ord(upper) > 0xFFFF or (point >= 0x80 and ord(upper) < 0x80):
        return point
    return ord(upper)


@lru_cache(maxsize=1)
def pcre_same_case() -> SameCase:
    """The classes of PCRE2's caseless matching in UTF mode."""
    cased = _cased_characters()
    seen: set[int] = set(_TURKIC)
    classes: list[list[int]] = []
    for character in cased:
        if ord(character) in seen:
            continue
        same = {ord(c) for c in regex.findall(f"(?i){regex.escape(character)}", cased)} - _TURKIC
        if len(same) > 1:
            classes.append(sorted(same))
        seen |= same
    return _by_member(classes)


def _by_member(classes: Iterable[list[int]]) -> SameCase:
    table: dict[int, tuple[int, ...]] = {}
    for same in classes:
        if len(same) > 1:
            table.update(dict.fromkeys(same, tuple(same)))
    return MappingProxyType(table)


def close_over_case(chars: CharSet, same_case: SameCase) -> CharSet:
    """`chars` with every character that is the same as one of its own."""
    if charset.size(chars) <= _FEW:
        added = [other for point in charset.points(chars) for other in same_case.get(point, ())]
        return charset.union(chars, charset.of(*added)) if added else chars
    points, others = _same_case_pairs(same_case)
    added = others[_members(chars, points) & ~_members(chars, others)].tolist()
    return charset.union(chars, charset.of(*added)) if added else chars


def _members(chars: CharSet, points: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    ranges = np.array(chars, np.int64)
    index = np.searchsorted(ranges[:, 0], points, side="right") - 1
    return np.asarray((index >= 0) & (ranges[index, 1] >= points))


def _same_case_pairs(same_case: SameCase) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    known = _pairs.get(id(same_case))
    if known is None:
        pairs = np.array([(point, other) for point, same in same_case.items() for other in same], np.int64)
        known = _pairs[id(same_case)] = (pairs[:, 0], pairs[:, 1])
    return known


@lru_cache(maxsize=1024)
def asked_of_regex(item: str, flags: int) -> CharSet:
    """All code points that `item`, which takes exactly one character, matches in the `regex` package.

    Raises:
        regex.error: if `item` is not valid.
    """
    runs = regex.compile(f"(?:{item})+", flags)
    ranges: list[tuple[int, int]] = []
    for found in runs.finditer(every_character()):
        first, last = _code_point_at(found.start()), _code_point_at(found.end() - 1)
        ranges.append((first, last))
    return charset.from_ranges(ranges)


def _code_point_at(index: int) -> int:
    return index if index < _SURROGATES[0] else index + _SURROGATES[1] - _SURROGATES[0] + 1


@lru_cache(maxsize=4096)
def same_as_in_regex(character: str) -> CharSet:
    """All code points that the single `character` matches under the IGNORECASE flag of the `regex` package."""
    others = _SAME_AS_ASCII if character.isascii() else _cased_characters()
    matched = regex.findall(f"(?i){regex.escape(character)}", others)
    return charset.of(ord(character), *map(ord, matched))
