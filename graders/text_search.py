"""Searching many texts for one thing: a literal, or a pattern of the bounded engine. The same answer form for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.lowercase import lowered, places_before_lowering, special_rows
from graders.matching import MatchArray, Pattern
from graders.text_positions import Mask, Positions, bytes_to_code_points, code_points_to_bytes, to_mask
from graders.trajectory_batch import MessageTexts


@dataclass(frozen=True, slots=True)
class Spans:
    """Where something was found, one place in each of some texts: code points and bytes."""

    indices: Positions
    """The texts, ascending."""
    starts: Positions
    ends: Positions
    byte_starts: Positions
    byte_ends: Positions


@dataclass(frozen=True, slots=True)
class Found:
    """Which texts hold the thing. Where `limits` has a name, the search was stopped and `hit` is False."""

    hit: Mask
    limits: npt.NDArray[np.object_] | None = None
    """A limit's name or None for each text; None as a whole where nothing was stopped."""
    matches: MatchArray | None = None
    """The spans too, where finding them cost nothing more."""


class Search(Protocol):
    """Something to look for."""

    def find(self, texts: MessageTexts, *, spans_wanted: bool) -> Found:
        """Look in every text."""

    def spans(self, texts: MessageTexts, found: Found, indices: Positions) -> Spans:
        """The first place in each of the texts at `indices`, which were found to hold it; not where a limit hid it."""


class SubstringSearch:
    """A literal. Ignoring case lower-cases both sides (see `graders.lowercase`)."""

    def __init__(self, needle: str, case_sensitive: bool) -> None:
        self._case_sensitive = case_sensitive
        self._needle = needle if case_sensitive else lowered(pa.array([needle]))[0].as_py()
        self._regex = quoted(self._needle) if len(needle) <= _LONGEST_QUOTED else None

    def find(self, texts: MessageTexts, *, spans_wanted: bool) -> Found:
        """Look in every text."""
        searched = texts.texts if self._case_sensitive else texts.lowered
        if self._regex is None:
            return Found(to_mask(pc.match_substring(searched, self._needle)))
        return Found(to_mask(pc.match_substring_regex(searched, self._regex)))

    def spans(self, texts: MessageTexts, found: Found, indices: Positions) -> Spans:
        """The first place in each of the texts at `indices`, which were found to hold the literal."""
        chosen = pa.array(indices)
        originals = texts.texts.take(chosen)
        searched = originals if self._case_sensitive else texts.lowered.take(chosen)
        byte_starts = pc.find_substring(searched, self._needle).to_numpy(zero_copy_only=False).astype(np.int64)
        (starts,) = bytes_to_code_points(searched, byte_starts)
        ends = starts + len(self._needle)
        if self._case_sensitive:
            return Spans(indices, starts, ends, byte_starts, byte_starts + len(self._needle.encode()))
        for row in special_rows(originals).tolist():
            text = originals[row].as_py()
            starts[row], ends[row] = places_before_lowering(text, int(starts[row]), int(ends[row]))
        return Spans(indices, starts, ends, *code_points_to_bytes(originals, starts, ends))


class PatternSearch:
    """A pattern, within the engine's limits."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern

    def find(self, texts: MessageTexts, *, spans_wanted: bool) -> Found:
        """Look in every text. A pattern that backtracks finds spans at once; a linear one later, in the hits alone."""
        at_once = spans_wanted and self.pattern.tier == "backtracking"
        matches = self.pattern.match_array(texts.texts, spans=at_once)
        stopped = matches.limit is not None and matches.limit.null_count < len(matches.limit)
        limits = np.array(matches.limit.to_pylist(), dtype=object) if stopped and matches.limit is not None else None
        return Found(to_mask(matches.matched), limits, matches if at_once else None)

    def spans(self, texts: MessageTexts, found: Found, indices: Positions) -> Spans:
        """The first match in each of the texts at `indices`, which were found to match; not where a limit hid it."""
        chosen = pa.array(indices)
        if found.matches is None:
            matches = self.pattern.match_array(texts.texts.take(chosen), spans=True)
            all_starts, all_ends = matches.starts, matches.ends
        else:
            all_starts, all_ends = (pc.take(places, chosen) for places in (found.matches.starts, found.matches.ends))
        assert all_starts is not None
        assert all_ends is not None
        indices = indices[to_mask(all_starts.is_valid())]
        starts, ends = (places.drop_null().to_numpy(zero_copy_only=False) for places in (all_starts, all_ends))
        originals = texts.texts.take(pa.array(indices))
        return Spans(indices, starts, ends, *code_points_to_bytes(originals, starts, ends))


#: A longer literal is left to Arrow's own search: as a pattern it would make a large automaton.
_LONGEST_QUOTED = 256


def quoted(literal: str) -> str:
    """A literal as an RE2 pattern, which finds it four times as fast as Arrow's own substring search."""
    return "".join(c if c.isalnum() or ord(c) > 127 else f"\\x{{{ord(c):x}}}" for c in literal)
