"""Plain text looked for in texts, with letter case respected, folded, or lowered on both sides.

Two rules for ignoring case, which differ:

- `fold`: Unicode simple case folding, character by character: the Kelvin sign is a k, the long s is an s, every sigma
  is a sigma, the sharp s is its capital but not `ss`; the Turkic dotted and dotless i are letters of their own.
- `lower`: both sides through JavaScript's `toLowerCase`, as vally does: the long s stays itself, the capital sharp s
  becomes the small one, the dotted capital I becomes an i and a combining dot, and a capital sigma becomes the final
  form at the end of a word, so `ΟΔΟΣ` contains `ος` and not `οσ`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex

from graders.matching import charset
from graders.matching.folding import close_over_case, pcre_same_case
from graders.matching.text_array import TextArray
from graders.matching.to_re2 import write_set as write_re2_set
from graders.matching.to_regex import write_set as write_regex_set

CaseRule = Literal["fold", "lower"]
_CONTEXT_DEPENDENT = "[\u0130\u03a3]"


def contains_array(
    texts: pa.StringArray | pa.LargeStringArray | pa.ChunkedArray,
    needle: str,
    case_sensitive: bool,
    *,
    rule: CaseRule = "fold",
) -> pa.BooleanArray:
    """Whether each text contains `needle`; null for null. An empty needle is in every text."""
    if isinstance(texts, pa.ChunkedArray):
        parts = [contains_array(chunk, needle, case_sensitive, rule=rule) for chunk in texts.chunks]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.bool_())
    chunk = TextArray(texts)
    if not needle:
        return pa.array(np.ones(len(chunk), np.bool_), pa.bool_(), mask=~chunk.present())
    if case_sensitive:
        return pc.match_substring(chunk.array, needle)
    return _contains_lowered(chunk, needle) if rule == "lower" else _contains_folded(chunk, needle)


def find_literal_span(
    text: str, needle: str, case_sensitive: bool, *, rule: CaseRule = "fold"
) -> tuple[int, int] | None:
    """Code point offsets of the first place where `text` contains `needle`, or None."""
    if case_sensitive:
        start = text.find(needle)
        return None if start < 0 else (start, start + len(needle))
    if rule == "fold":
        found = _folded_for_regex(needle).search(text)
        return None if found is None else found.span()
    lowered, wanted = text.lower(), needle.lower()
    start = lowered.find(wanted)
    if start < 0:
        return None
    if len(lowered) == len(text):
        return start, start + len(wanted)
    return _before_lowering(text, start), _before_lowering(text, start + len(wanted) - 1) + 1


def _before_lowering(text: str, lowered_offset: int) -> int:
    """The offset in `text` of the character that became the one at `lowered_offset` of `text.lower()`."""
    reached = 0
    for offset, character in enumerate(text):
        reached += len(character.lower())
        if reached > lowered_offset:
            return offset
    return len(text)


def _contains_lowered(chunk: TextArray, needle: str) -> pa.BooleanArray:
    wanted = needle.lower()
    if chunk.all_ascii:
        return pc.match_substring(pc.ascii_lower(chunk.array), wanted)
    found = pc.match_substring(pc.utf8_lower(chunk.array), wanted)
    special = np.asarray(pc.match_substring_regex(chunk.array, _CONTEXT_DEPENDENT).fill_null(False))
    if not special.any():
        return found
    verdicts = np.array(found.fill_null(False))
    rows = np.flatnonzero(special)
    verdicts[rows] = [wanted in text.lower() for text in chunk.array.take(pa.array(rows)).to_pylist()]
    return pa.array(verdicts, pa.bool_(), mask=~chunk.present())


def _contains_folded(chunk: TextArray, needle: str) -> pa.BooleanArray:
    if chunk.all_ascii:
        lowest = [min(charset.points(members)) for members in _folded(needle)]
        if any(point > 0x7F for point in lowest):
            return pa.array(np.zeros(len(chunk), np.bool_), pa.bool_(), mask=~chunk.present())
        return pc.match_substring(pc.ascii_lower(chunk.array), "".join(map(chr, lowest)).lower())
    try:
        return pc.match_substring_regex(chunk.array, "".join(map(write_re2_set, _folded(needle))))
    except pa.ArrowInvalid:
        search = _folded_for_regex(needle).search
        return pa.array(
            [None if text is None else search(text) is not None for text in chunk.array.to_pylist()], pa.bool_()
        )


@lru_cache(maxsize=256)
def _folded(needle: str) -> tuple[charset.CharSet, ...]:
    return tuple(close_over_case(charset.of(ord(character)), pcre_same_case()) for character in needle)


@lru_cache(maxsize=256)
def _folded_for_regex(needle: str) -> regex.Pattern[str]:
    return regex.compile("".join(map(write_regex_set, _folded(needle))), regex.VERSION0)
