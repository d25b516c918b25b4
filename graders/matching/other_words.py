r"""Word characters beyond ASCII, as the `regex` package has them, and what is left of a pattern in texts without any.

Most texts that are not ASCII are so for quotes, dashes, bullets and emoji. In them every word character is an ASCII one,
so `\b` is ASCII's, and it does not matter whether a set has other word characters: each set gets, or loses, all of them,
whichever is shorter to say.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.folding import asked_of_regex
from graders.matching.syntax import Capture, Chars, Choice, Node, Repeat, Sequence

_WORTH_RANGES = 8


@lru_cache(maxsize=1)
def other_words() -> CharSet:
    """All word characters beyond ASCII."""
    words = asked_of_regex(r"\w", int(regex.UNICODE | regex.VERSION0))
    return charset.intersect(words, charset.complement(charset.ASCII))


@lru_cache(maxsize=256)
def simplified(members: CharSet) -> CharSet:
    """A set that has the same members in texts without other word characters."""
    if len(members) <= _WORTH_RANGES:
        return members
    without = charset.intersect(members, charset.complement(other_words()))
    with_all = charset.union(members, other_words())
    return min(without, with_all, members, key=len)


def simplifies(members: CharSet) -> bool:
    """Whether it is worth while to know that a text has no other word characters."""
    return len(simplified(members)) + _WORTH_RANGES < len(members)


def without_other_words(node: Node) -> Node:
    """The tree for texts without other word characters. It has no look-around."""
    match node:
        case Chars(members):
            return Chars(simplified(members))
        case Sequence(items):
            return Sequence(tuple(map(without_other_words, items)))
        case Choice(branches):
            return Choice(tuple(map(without_other_words, branches)))
        case Capture(number, item):
            return Capture(number, without_other_words(item))
        case Repeat(item, least, most, greed):
            return Repeat(without_other_words(item), least, most, greed)
        case _:
            return node
