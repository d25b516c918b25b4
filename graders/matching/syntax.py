"""The syntax tree that every dialect is parsed into.

Each leaf says exactly which code points it takes: classes, escapes, dots and case folding are already resolved to
`Chars`, so the two engines that the tree is written out for cannot disagree about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from graders.matching.charset import CharSet


class Anchor(Enum):
    """A zero-width test of a position."""

    TEXT_START = "start of the text"
    TEXT_END = "end of the text"
    FINAL_END = "end of the text or before a newline that ends it"
    LINE_START = "start of the text or after a newline"
    LINE_START_INNER = "start of the text or after a newline that does not end it"
    LINE_END = "end of the text or before a newline"
    ECMA_LINE_START = "start of the text or after one of LF, CR, U+2028, U+2029"
    ECMA_LINE_END = "end of the text or before one of LF, CR, U+2028, U+2029"
    WORD = "between an ASCII word character and something else"
    NOT_WORD = "not between an ASCII word character and something else"
    UNICODE_WORD = "between a Unicode word character and something else"
    UNICODE_NOT_WORD = "not between a Unicode word character and something else"
    KEEP = "the match starts here"


class Greed(Enum):
    """How much a repeat takes first, and whether it gives back; the value is its suffix."""

    GREEDY = ""
    LAZY = "?"
    POSSESSIVE = "+"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of `members`."""

    members: CharSet


@dataclass(frozen=True, slots=True)
class Position:
    """A zero-width test."""

    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items one after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Branches, the first that leads to a match winning."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`item` from `least` to `most` times; None is without end."""

    item: Node
    least: int
    most: int | None
    greed: Greed


@dataclass(frozen=True, slots=True)
class Capture:
    """Group `number`."""

    number: int
    item: Node


@dataclass(frozen=True, slots=True)
class Atomic:
    """`item`, never entered again once it has matched."""

    item: Node


@dataclass(frozen=True, slots=True)
class Look:
    """A look-around."""

    item: Node
    ahead: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text of group `number` again (in any case if `folded`); `at` is its place in the pattern."""

    number: int
    folded: bool
    at: int


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition` is a group's number, or a look-around."""

    condition: int | Look
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Definitions:
    """Groups that match only when called."""

    item: Node


@dataclass(frozen=True, slots=True)
class Call:
    """Group `number` matched again as a subpattern; 0 is the whole pattern."""

    number: int
    at: int


Node = (
    Chars
    | Position
    | Sequence
    | Choice
    | Repeat
    | Capture
    | Atomic
    | Look
    | BackReference
    | Conditional
    | Definitions
    | Call
)

EMPTY = Sequence(())


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below `node`."""
    match node:
        case Sequence(items):
            return items
        case Choice(branches):
            return branches
        case Repeat(item=item) | Capture(item=item) | Atomic(item) | Look(item=item) | Definitions(item):
            return (item,)
        case Conditional(condition, then, otherwise):
            return (then, otherwise) if isinstance(condition, int) else (condition, then, otherwise)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, parents first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(children(current)))


def sequence(items: list[Node]) -> Node:
    """`items` as one node."""
    return items[0] if len(items) == 1 else Sequence(tuple(items))


def widths(node: Node) -> tuple[int, int | None]:
    """Fewest and most code points that `node` can take; None for no bound. Calls and references are 0 to any."""
    match node:
        case Chars():
            return 1, 1
        case Sequence(items):
            pairs = [widths(item) for item in items]
            return sum(low for low, _ in pairs), _sum_bounds([high for _, high in pairs])
        case Choice(branches):
            pairs = [widths(branch) for branch in branches]
            highs = [high for _, high in pairs]
            return min(low for low, _ in pairs), None if None in highs else max(h for h in highs if h is not None)
        case Repeat(item, least, most, _):
            low, high = widths(item)
            if high == 0:
                return 0, 0
            return low * least, None if most is None or high is None else high * most
        case Capture(item=item) | Atomic(item):
            return widths(item)
        case Conditional(_, then, otherwise):
            return widths(Choice((then, otherwise)))
        case BackReference() | Call():
            return 0, None
        case _:
            return 0, 0


def _sum_bounds(bounds: list[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None
