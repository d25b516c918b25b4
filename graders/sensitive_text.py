r"""Finding sensitive values in texts: many patterns in one pass of the bounded engine, then a check of each candidate.

Patterns are written so that they mean the same in RE2 and in the `python` dialect (ASCII classes, no `\b`, no
lookaround), and stay small automata. What they can't say (check digits, borders, lengths) is said by a kind's
`check`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from graders.matching import Pattern, compile

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARKS = str.maketrans({_OPEN: " ", _CLOSE: " "})
#: The most values of one text that are told.
MAX_FOUND = 100


Span = tuple[int, int] | None
Check = Callable[[str, str, str], Span]


@dataclass(frozen=True, slots=True)
class SensitiveKind:
    """One kind of value.

    Attributes:
        name: as configurations name it. pattern: finds candidates, perhaps with more behind them than belongs to the
        value. check: how many code points at the candidate's start are the value, 0 for none. It also gets the text
        before and behind
            the candidate (one code point each, empty at the borders).
        mask: the value as evidence may show it.
    """

    name: str
    pattern: str
    check: Check
    mask: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class SensitiveValue:
    """A value that was found: its kind, place in code points and mask. `value` itself is never told."""

    kind: str
    start: int
    end: int
    masked: str
    value: str


class SensitiveSearch:
    """Looks for several kinds of values at once."""

    def __init__(self, kinds: Sequence[SensitiveKind]) -> None:
        self._kinds = list(kinds)

    @cached_property
    def _any_kind(self) -> Pattern:
        return compile("|".join(f"(?:{kind.pattern})" for kind in self._kinds))

    def find(self, texts: Sequence[str]) -> list[list[SensitiveValue] | None]:
        """The values in each text by place, none inside another; None where a limit stopped the search."""
        matched = self._any_kind.match_array(pa.array(texts, pa.large_string())).matched.to_pylist()
        found: list[list[SensitiveValue] | None] = [None if hit is None else [] for hit in matched]
        hits = [place for place, hit in enumerate(matched) if hit]
        if not hits:
            return found
        clean = pa.array([texts[place].translate(_MARKS) for place in hits], pa.large_string())
        for kind in self._kinds:
            marked = pc.replace_substring_regex(clean, kind.pattern, _OPEN + r"\0" + _CLOSE)
            changed = pc.not_equal(pc.binary_length(marked), pc.binary_length(clean))
            for number in pc.indices_nonzero(changed).to_pylist():
                values = found[hits[number]]
                if values is not None:
                    values.extend(_checked(kind, marked[number].as_py()))
        return [None if values is None else _apart(values) for values in found]


def _checked(kind: SensitiveKind, marked: str) -> list[SensitiveValue]:
    """The candidates that stand between marks in a text, as far as they pass the kind's check."""
    values: list[SensitiveValue] = []
    parts = marked.split(_OPEN)
    position = len(parts[0])
    before = parts[0][-1:]
    for part in parts[1:]:
        candidate, _, behind = part.partition(_CLOSE)
        span = kind.check(candidate, before, behind[:1])
        if span is not None:
            start, end = span
            value = candidate[start:end]
            values.append(SensitiveValue(kind.name, position + start, position + end, kind.mask(value), value))
        position += len(candidate) + len(behind)
        before = behind[-1:] or candidate[-1:]
    return values


def _apart(values: list[SensitiveValue]) -> list[SensitiveValue]:
    """By place; of overlapping values the one that starts first, then the longer."""
    kept: list[SensitiveValue] = []
    for value in sorted(values, key=lambda value: (value.start, -value.end)):
        if len(kept) == MAX_FOUND:
            break
        if not kept or value.start >= kept[-1].end:
            kept.append(value)
    return kept


def keep_ends(first: int, last: int) -> Callable[[str], str]:
    """A mask that shows so many code points at the start and the end, but never more than a third of the value."""

    def mask(value: str) -> str:
        shown = min(first + last, len(value) // 3)
        head = min(first, shown)
        tail = shown - head
        return value[:head] + "*" * (len(value) - shown) + (value[-tail:] if tail else "")

    return mask
