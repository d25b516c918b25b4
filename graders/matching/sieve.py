"""A pattern that matches at least where another one does, and that RE2 can run on every text.

Texts in which the sieve finds nothing need no backtracking: they do not match. What it does find, `regex` judges. Every
test of a position or of the surroundings that has no linear form is dropped, what may not be given back may be, and what
repeats an earlier text may be any text; each of these only adds matches, for all of them are asked for, never forbidden.
"""

from __future__ import annotations

from graders.matching import charset
from graders.matching.syntax import (
    EMPTY,
    Anchor,
    Atomic,
    BackReference,
    Call,
    Capture,
    Chars,
    Choice,
    Conditional,
    Definitions,
    Greed,
    Look,
    Node,
    Position,
    Repeat,
    Sequence,
)

_ANYTHING = Repeat(Chars(charset.EVERYTHING), 0, None, Greed.GREEDY)
_WIDER = {Anchor.FINAL_END: Anchor.LINE_END, Anchor.LINE_START_INNER: Anchor.LINE_START}
_DROPPED = {
    Anchor.NOT_WORD,
    Anchor.UNICODE_WORD,
    Anchor.UNICODE_NOT_WORD,
    Anchor.ECMA_LINE_START,
    Anchor.ECMA_LINE_END,
    Anchor.KEEP,
}


def sieve(node: Node) -> Node:
    """A tree for RE2 that matches in every text in which `node` does."""
    match node:
        case Position(anchor):
            return EMPTY if anchor in _DROPPED else Position(_WIDER.get(anchor, anchor))
        case Sequence(items):
            return Sequence(tuple(map(sieve, items)))
        case Choice(branches):
            return Choice(tuple(map(sieve, branches)))
        case Capture(number, item):
            return Capture(number, sieve(item))
        case Atomic(item):
            return sieve(item)
        case Repeat(item, least, most, greed):
            return Repeat(sieve(item), least, most, Greed.GREEDY if greed is Greed.POSSESSIVE else greed)
        case Look() | Definitions():
            return EMPTY
        case Conditional(_, then, otherwise):
            return Choice((sieve(then), sieve(otherwise)))
        case BackReference() | Call():
            return _ANYTHING
        case _:
            return node
