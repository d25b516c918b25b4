"""How long a text RE2 may be given, so that one evaluation stays within its budget.

RE2 runs a lazily built automaton. Its worst case is a new state at every byte, each costing time in proportion to the
program (`[ab]` under a large counted repeat does that). But most patterns have few states whatever the text, and once
they are built a byte costs next to nothing. So both bounds are computed and the better one taken:

- program size x text bytes x `NANOSECONDS_PER_INSTRUCTION`;
- all transitions of the whole automaton x the instructions of its widest state x the same, plus text bytes x
  `NANOSECONDS_PER_BYTE`, if the automaton can be explored within `_MOST_STATES`.

The constants were measured through pyarrow on a 2-core machine and rounded up; the benchmark prints them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.parsing import ASCII_WORD
from graders.matching.syntax import (
    Anchor,
    Capture,
    Chars,
    Choice,
    Node,
    Position,
    Repeat,
    Sequence,
    walk,
)

NANOSECONDS_PER_INSTRUCTION = 12.0
NANOSECONDS_PER_SPAN_INSTRUCTION = 40.0
NANOSECONDS_PER_BYTE = 12.0
MOST_INSTRUCTIONS = 60_000
_MOST_STATES = 2_000
_MOST_TRANSITIONS = 60_000
_MOST_POSITIONS = 1_500
_MOST_EDGES = 30_000
_MOST_EMPTY_WAYS = 4
_AUTOMATON_BYTES = 2_000_000
_UTF8_STEPS = ((0x7F, 1), (0x7FF, 2), (0xFFFF, 3), (charset.MAX_CODE_POINT, 4))


def longest_text(root: Node, budget_ms: float, *, ascii_only: bool) -> int:
    """The longest text, in bytes, whose evaluation by RE2 is within `budget_ms` in the worst case; 0 for none."""
    size = program_size(root, ascii_only=ascii_only)
    budget = budget_ms * 1_000_000
    plain = int(budget / (size * NANOSECONDS_PER_INSTRUCTION))
    automaton = whole_automaton(root, ascii_only=ascii_only)
    if automaton is None:
        return plain
    left = budget - automaton.transitions * min(size, automaton.active) * NANOSECONDS_PER_INSTRUCTION
    return max(plain, int(left / NANOSECONDS_PER_BYTE))


def program_size(root: Node, *, ascii_only: bool) -> int:
    """An upper estimate of RE2's instructions for the tree."""
    known: dict[CharSet, int] = {}

    def size(node: Node) -> int:
        match node:
            case Chars(members):
                if members not in known:
                    chosen = charset.intersect(members, charset.ASCII) if ascii_only else members
                    known[members] = max(1, utf8_instructions(chosen))
                return known[members]
            case Sequence(items):
                return 1 + sum(map(size, items))
            case Choice(branches):
                return sum(map(size, branches)) + len(branches)
            case Repeat(item, least, most, _):
                copies = max(1, least if most is None else most)
                return min(copies, 1_000_000) * (size(item) + 1)
            case Capture(item=item):
                return size(item)
            case _:
                return 1

    return size(root) + 4


def utf8_instructions(members: CharSet) -> int:
    """An upper estimate of the byte ranges that a set of code points takes in UTF-8."""
    total = 0
    for low, high in members:
        below = -1
        for top, length in _UTF8_STEPS:
            first, last = max(low, below + 1), min(high, top)
            below = top
            if first <= last:
                whole = first == 0 or (length > 1 and last == top)
                total += length if length == 1 or whole else length + 2 * (length - 1) * ((last - first) > 63)
    return total


@dataclass(frozen=True, slots=True)
class Automaton:
    """Upper bounds for RE2's whole automaton: its transitions, and the instructions that one state is made of."""

    transitions: int
    active: int


def whole_automaton(root: Node, *, ascii_only: bool) -> Automaton | None:
    """Bounds of RE2's whole automaton, or None if it is too large to know or to be kept."""
    try:
        positions = _Positions(root, ascii_only=ascii_only)
        states, active = positions.explore(reverse=False)
        if _may_run_backwards(root):
            backward_states, backward_active = positions.explore(reverse=True)
            states, active = max(states, backward_states), max(active, backward_active)
    except _TooLarge:
        return None
    inner, byte_classes = (0, positions.class_count + 1) if ascii_only else positions.utf8_shape()
    byte_states = 2 * states * (1 + inner)
    if byte_states * (4 * active + 8 * byte_classes + 64) > _AUTOMATON_BYTES:
        return None
    return Automaton(byte_states * byte_classes, active)


def _may_run_backwards(root: Node) -> bool:
    ends = (Anchor.TEXT_END, Anchor.FINAL_END)
    return any(isinstance(node, Position) and node.anchor in ends for node in walk(root))


class _TooLarge(Exception):
    """The automaton has more states than are worth counting."""


_Conditions = frozenset[Anchor]
_FREE: _Conditions = frozenset()
_Ends = list[tuple[int, _Conditions]]
_NEWLINE, _WORD, _OTHER, _EDGE = range(4)


class _Positions:
    """The position automaton of a tree: one position per character item, repeats written out."""

    def __init__(self, root: Node, *, ascii_only: bool) -> None:
        self.sets: list[CharSet] = []
        self.edges: list[tuple[int, int, _Conditions]] = []
        self.ascii_only = ascii_only
        self.empty_ways, self.first, self.last = self._build(root)
        self.classes = self._character_classes()
        self.class_count = len(self.classes)

    def _character_classes(self) -> list[tuple[int, int]]:
        """The characters that nothing in the pattern tells apart: their kind, and the positions that take them."""
        taken_by: dict[CharSet, int] = {}
        for position, members in enumerate(self.sets):
            taken_by[members] = taken_by.get(members, 0) | 1 << position
        told_apart = [ASCII_WORD, ((0x0A, 0x0A),)]
        cuts = {0}
        for members in [*taken_by, *told_apart]:
            for low, high in members:
                cuts.update((low, high + 1))
        top = 0x7F if self.ascii_only else charset.MAX_CODE_POINT
        found: dict[tuple[int, int], None] = {}
        if len(cuts) * len(taken_by) > 20 * _MOST_TRANSITIONS:
            raise _TooLarge
        for point in sorted(cut for cut in cuts if cut <= top):
            kind = _NEWLINE if point == 0x0A else _WORD if charset.contains(ASCII_WORD, point) else _OTHER
            mask = 0
            for members, positions in taken_by.items():
                if charset.contains(members, point):
                    mask |= positions
            found[kind, mask] = None
        return list(found)

    def _build(self, node: Node) -> tuple[list[_Conditions], _Ends, _Ends]:
        """Ways to match nothing, and the positions that can come first and last with what they ask for."""
        match node:
            case Chars(members):
                if len(self.sets) >= _MOST_POSITIONS:
                    raise _TooLarge
                self.sets.append(charset.intersect(members, charset.ASCII) if self.ascii_only else members)
                here = [(len(self.sets) - 1, _FREE)]
                return [], here, here
            case Position(anchor):
                return [frozenset({anchor})], [], []
            case Sequence(items):
                empty: list[_Conditions] = [_FREE]
                first: _Ends = []
                last: _Ends = []
                for item in items:
                    empty, first, last = self._join((empty, first, last), self._build(item))
                return empty, first, last
            case Choice(branches):
                built = [self._build(branch) for branch in branches]
                ways = _few([way for one in built for way in one[0]])
                return ways, [e for one in built for e in one[1]], [e for one in built for e in one[2]]
            case Repeat(item, least, most, _):
                return self._repeat(item, least, most)
            case Capture(item=item):
                return self._build(item)
            case _:
                raise _TooLarge

    def _repeat(self, item: Node, least: int, most: int | None) -> tuple[list[_Conditions], _Ends, _Ends]:
        whole: tuple[list[_Conditions], _Ends, _Ends] = ([_FREE], [], [])
        copies = max(1, least) if most is None else most
        for index in range(copies):
            one = self._build(item)
            if most is None and index == copies - 1:
                self._connect(one[2], one[1])
            if index >= least:
                one = (_few([_FREE, *one[0]]), one[1], one[2])
            whole = self._join(whole, one)
        return whole

    def _join(
        self, left: tuple[list[_Conditions], _Ends, _Ends], right: tuple[list[_Conditions], _Ends, _Ends]
    ) -> tuple[list[_Conditions], _Ends, _Ends]:
        self._connect(left[2], right[1])
        first = left[1] + [(p, c | way) for way in left[0] for p, c in right[1]]
        last = right[2] + [(p, c | way) for way in right[0] for p, c in left[2]]
        empty = _few([a | b for a in left[0] for b in right[0]])
        if len(first) + len(last) > _MOST_EDGES:
            raise _TooLarge
        return empty, first, last

    def _connect(self, lasts: _Ends, firsts: _Ends) -> None:
        if len(lasts) * len(firsts) + len(self.edges) > _MOST_EDGES:
            raise _TooLarge
        self.edges.extend((p, q, a | b) for p, a in lasts for q, b in firsts)

    def explore(self, *, reverse: bool) -> tuple[int, int]:
        """The states that a search forwards from anywhere, or backwards from the end, can come into, and the widest."""
        weights = [3 * max(1, utf8_instructions(members)) for members in self.sets]
        widest = 0
        free, asking = self._outgoing(reverse)
        starts, accepting = (self.last, self.first) if reverse else (self.first, self.last)
        start_free = _mask(p for p, asked in starts if not asked)
        start_asking = [(asked, 1 << p) for p, asked in starts if asked]
        accepts = 0 if reverse else _mask(p for p, asked in accepting if not asked)
        seen = {(0, _EDGE)}
        pending = [(0, _EDGE)]
        work = 0
        while pending:
            mask, before = pending.pop()
            again = not reverse or before == _EDGE
            reachable, conditional = start_free if again else 0, list(start_asking) if again else []
            for position in _bits(mask):
                work += 1
                reachable |= free[position]
                conditional.extend(asking.get(position, ()))
            work += len(self.classes)
            possible = reachable
            for _, target in conditional:
                possible |= target
            widest = max(widest, sum(weights[position] for position in _bits(possible)))
            for kind, allowed in self.classes:
                taken = reachable
                for asked, target in conditional:
                    pair = (kind, before) if reverse else (before, kind)
                    if all(_holds(anchor, *pair) for anchor in asked):
                        taken |= target
                state = (taken & allowed, kind)
                if state not in seen and not state[0] & accepts:
                    seen.add(state)
                    pending.append(state)
            work += len(conditional) * len(self.classes)
            if len(seen) > _MOST_STATES or work > _MOST_TRANSITIONS:
                raise _TooLarge
        return len(seen), widest + 8

    def _outgoing(self, reverse: bool) -> tuple[list[int], dict[int, list[tuple[_Conditions, int]]]]:
        free = [0] * len(self.sets)
        asking: dict[int, list[tuple[_Conditions, int]]] = {}
        for p, q, asked in self.edges:
            source, target = (q, p) if reverse else (p, q)
            if asked:
                asking.setdefault(source, []).append((asked, 1 << target))
            else:
                free[source] |= 1 << target
        return free, asking

    def utf8_shape(self) -> tuple[int, int]:
        """How many partly read characters there can be, and how many classes of bytes."""
        prefixes: set[bytes] = set()
        bytes_cut: set[int] = set()
        for members in set(self.sets):
            for low, high in members:
                for top_index, (top, length) in enumerate(_UTF8_STEPS):
                    bottom = _UTF8_STEPS[top_index - 1][0] + 1 if top_index else 0
                    first, last = max(low, bottom), min(high, top)
                    if first > last:
                        continue
                    ends = [chr(p).encode("utf-8", "surrogatepass") for p in (first, last)]
                    for end in ends:
                        prefixes.update(end[:n] for n in range(1, length))
                        bytes_cut.update((end[0], end[0] + 1, *end[1:], *(b + 1 for b in end[1:])))
                    prefixes.update(bytes([length, n]) for n in range(1, length))
        return len(prefixes), min(256, len(bytes_cut) + 4)


def _few(ways: list[_Conditions]) -> list[_Conditions]:
    unique = list(dict.fromkeys(ways))
    if len(unique) > _MOST_EMPTY_WAYS:
        raise _TooLarge
    return unique


def _mask(positions: Iterable[int]) -> int:
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def _bits(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _holds(anchor: Anchor, before: int, after: int) -> bool:
    """Whether `anchor` holds between two kinds of characters (an edge is an end of the text)."""
    match anchor:
        case Anchor.TEXT_START:
            return before == _EDGE
        case Anchor.TEXT_END | Anchor.FINAL_END:
            return after == _EDGE
        case Anchor.LINE_START | Anchor.LINE_START_INNER | Anchor.ECMA_LINE_START:
            return before in (_EDGE, _NEWLINE)
        case Anchor.LINE_END | Anchor.ECMA_LINE_END:
            return after in (_EDGE, _NEWLINE)
        case Anchor.WORD | Anchor.UNICODE_WORD:
            return (before == _WORD) != (after == _WORD)
        case Anchor.NOT_WORD | Anchor.UNICODE_NOT_WORD:
            return (before == _WORD) == (after == _WORD)
        case _:
            return True
