"""Texts that a match cannot do without, looked for in a whole buffer at once before RE2 sees a single row.

RE2 walks its automaton at 1.5 ns a byte unless the pattern begins with a plain letter. Comparing the buffer with two
rare bytes of a needle takes a sixth of that, and RE2 then runs on the few rows that hold a needle. That a row holds one
is necessary for a match, never sufficient, so the verdicts are RE2's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.syntax import Anchor, Capture, Chars, Choice, Node, Position, Repeat, Sequence
from graders.matching.text_array import TextArray

MOST_NEEDLES = 2
"""Three, ignoring case, take longer than RE2 itself (measured 1.9 against 1.5 ns a byte)."""
_SHORTEST = 3
_CASE_BIT = np.uint8(0x20)
_CHUNK = 256 * 1024
_LEAST_BYTES = 16 * 1024
_DENSE = 64
"""More than one hit in so many bytes, and looking closer costs more than it saves."""
_COMMON_FIRST = b" etaoinsrhldcumfpgwybvk,.-'\"jxqz"
_RARITY = np.full(256, len(_COMMON_FIRST), np.int64)
_RARITY[list(_COMMON_FIRST)] = range(len(_COMMON_FIRST))


@dataclass(frozen=True, slots=True)
class Needle:
    """Bytes one after the other; where `any_case` is set, an ASCII letter (given in lower case) of either case."""

    data: bytes
    any_case: tuple[bool, ...]


def needles(root: Node, *, ascii_only: bool) -> tuple[Needle, ...]:
    """Needles of which every match of the tree holds at least one; none if there are no good ones, or RE2 needs none.

    `ascii_only` says that all texts are ASCII, so that characters beyond it do not count.
    """
    if _fast_anyway(root):
        return ()
    found = _Finder(ascii_only).needed(root)
    if found is None or len(found) > MOST_NEEDLES or min(len(needle.data) for needle in found) < _SHORTEST:
        return ()
    return found


def candidates(wanted: tuple[Needle, ...], texts: TextArray) -> npt.NDArray[np.int64] | None:
    """The rows that hold one of the needles, ascending; None where asking does not pay."""
    first, last = int(texts.offsets[0]), int(texts.offsets[-1])
    if last - first < _LEAST_BYTES:
        return None
    places: list[npt.NDArray[np.int64]] = []
    reach = max(len(needle.data) for needle in wanted) - 1
    folds = any(any(needle.any_case) for needle in wanted)
    seekers = [_Seeker(needle) for needle in wanted]
    folded = np.empty(_CHUNK + reach, np.uint8)
    for start in range(first, last, _CHUNK):
        data = texts.bytes[start : min(start + _CHUNK + reach, last)]
        lowered = np.bitwise_or(data, _CASE_BIT, out=folded[: len(data)]) if folds else data
        for seeker in seekers:
            hits = seeker.hits(data, lowered)
            if hits is None:
                return None
            if len(hits):
                places.append(hits + start)
    if not places:
        return np.zeros(0, np.int64)
    rows = np.searchsorted(texts.offsets, np.concatenate(places), side="right") - 1
    unique = np.unique(rows)
    return None if 2 * len(unique) > len(texts) else unique


class _Seeker:
    """Finds one needle, by its two rarest bytes first."""

    def __init__(self, needle: Needle) -> None:
        self.size = len(needle.data)
        order = np.argsort(-_RARITY[list(needle.data)], kind="stable").tolist()
        self.tests = [(place, needle.data[place], needle.any_case[place]) for place in order]
        self.first = np.empty(_CHUNK, np.bool_)
        self.second = np.empty(_CHUNK, np.bool_)

    def hits(self, data: npt.NDArray[np.uint8], lowered: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64] | None:
        """Where the needle stands in the data; None where its two bytes are too common there."""
        length = min(len(data) - self.size + 1, _CHUNK)
        if length < 1:
            return np.zeros(0, np.int64)
        masks = (self.first[:length], self.second[:length])
        for (place, byte, folds), mask in zip(self.tests, masks, strict=False):
            np.equal((lowered if folds else data)[place : place + length], byte, out=mask)
        hits = _sparse_places(np.bitwise_and(*masks, out=masks[0]))
        if hits is None:
            return None
        for place, byte, folds in self.tests[2:]:
            hits = hits[(lowered if folds else data)[hits + place] == byte]
        return hits


def _sparse_places(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64] | None:
    """Where a mask is true, looked at eight places at once; None where that is in too many of the eights."""
    whole = len(mask) // 8 * 8
    eights = mask[:whole].view(np.uint64) != 0
    if int(np.count_nonzero(eights)) * _DENSE > len(mask):
        return None
    filled = np.flatnonzero(eights)
    inside = np.flatnonzero(mask[:whole].reshape(-1, 8)[filled])
    places = filled[inside // 8] * 8 + inside % 8
    rest = np.flatnonzero(mask[whole:])
    return np.concatenate((places, rest + whole)) if len(rest) else places


class _Finder:
    def __init__(self, ascii_only: bool) -> None:
        self.ascii_only = ascii_only

    def needed(self, node: Node) -> tuple[Needle, ...] | None:
        """The best needles of `node`, or None."""
        match node:
            case Chars():
                return self.best([node])
            case Sequence(items):
                return self.best(list(items))
            case Capture(item=item):
                return self.needed(item)
            case Choice(branches):
                found: dict[Needle, None] = {}
                for branch in branches:
                    wanted = self.needed(branch)
                    if wanted is None:
                        return None
                    found.update(dict.fromkeys(wanted))
                return tuple(found)
            case Repeat(item=item, least=least):
                return self.needed(item) if least else None
            case _:
                return None

    def best(self, items: list[Node]) -> tuple[Needle, ...] | None:
        options: list[tuple[Needle, ...]] = []
        run: list[tuple[int, bool]] = []
        pending = list(reversed(items))
        while pending:
            item = pending.pop()
            if isinstance(item, Position):
                continue
            if isinstance(item, Sequence):
                pending.extend(reversed(item.items))
                continue
            if isinstance(item, Capture):
                pending.append(item.item)
                continue
            tests = self.byte_tests(item.members) if isinstance(item, Chars) else None
            if tests is not None:
                run += tests
                continue
            options += _as_option(run)
            run = []
            wanted = None if isinstance(item, Chars) else self.needed(item)
            if wanted is not None:
                options.append(wanted)
        options += _as_option(run)
        return max(options, key=_worth, default=None)

    def byte_tests(self, members: CharSet) -> list[tuple[int, bool]] | None:
        """The bytes of the one character in `members`, or of its two cases; None for other sets."""
        if self.ascii_only:
            members = charset.intersect(members, charset.ASCII)
        points = list(charset.points(members)) if charset.size(members) <= 2 else []
        if len(points) == 1 and not 0xD800 <= points[0] <= 0xDFFF:
            return [(byte, False) for byte in chr(points[0]).encode()]
        if len(points) == 2 and points[1] < 0x80 and chr(points[0]).isupper() and points[1] == points[0] + 0x20:
            return [(points[1], True)]
        return None


def _as_option(run: list[tuple[int, bool]]) -> list[tuple[Needle, ...]]:
    return [(Needle(bytes(byte for byte, _ in run), tuple(fold for _, fold in run)),)] if run else []


def _worth(option: tuple[Needle, ...]) -> tuple[bool, int, int]:
    """Needles of four bytes or more first, then few of them, then long ones."""
    shortest = min(len(needle.data) for needle in option)
    return len(option) <= MOST_NEEDLES and shortest >= _SHORTEST, min(shortest, 4) - len(option), shortest


def _fast_anyway(root: Node) -> bool:
    """Whether RE2 is fast by itself: every match begins with the same character, or at an end of the text."""
    if _first(root) is not None:
        return True
    last = root.items[-1] if isinstance(root, Sequence) and root.items else root
    return isinstance(last, Position) and last.anchor in (Anchor.TEXT_END, Anchor.FINAL_END)


def _first(node: Node) -> CharSet | Anchor | None:
    """The one character, or the start of the text, with which every match begins."""
    match node:
        case Chars(((low, high),) as members) if low == high:
            return members
        case Position(Anchor.TEXT_START as anchor):
            return anchor
        case Sequence(items) if items:
            return _first(items[0])
        case Capture(item=item):
            return _first(item)
        case Choice(branches):
            firsts = {_first(branch) for branch in branches}
            return firsts.pop() if len(firsts) == 1 else None
        case _:
            return None
