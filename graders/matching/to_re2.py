"""The tree of a pattern, written out for RE2, where that provably means the same.

RE2 sees explicit sets of characters only, so what is left to prove is small: positions. Some of them mean the same on
some texts only; a `TextKind` says on which texts a form is meant to be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from graders.matching import charset
from graders.matching.charset import CharSet
from graders.matching.other_words import simplifies
from graders.matching.syntax import (
    Anchor,
    Capture,
    Chars,
    Choice,
    Greed,
    Node,
    Position,
    Repeat,
    Sequence,
    walk,
    widths,
)

_MOST_REPEATS = 1000
_LINE_ANCHORS = {Anchor.ECMA_LINE_START: "(?m:^)", Anchor.ECMA_LINE_END: "(?m:$)"}
_EVERYWHERE = {
    Anchor.TEXT_START: r"\A",
    Anchor.TEXT_END: r"\z",
    Anchor.LINE_START: "(?m:^)",
    Anchor.LINE_END: "(?m:$)",
    Anchor.WORD: r"\b",
    Anchor.KEEP: "",
}
_ONLY_IN_ASCII = {Anchor.NOT_WORD: r"\B", Anchor.UNICODE_WORD: r"\b", Anchor.UNICODE_NOT_WORD: r"\B"}
"""RE2 finds its `\\B` also between the bytes of one character, and its words are ASCII."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ")


class OnlyBacktracking(Exception):
    """The tree has no RE2 form for texts of the kind; the message says why."""


@dataclass(frozen=True, slots=True)
class TextKind:
    """What is known of the texts that a form is for.

    Attributes:
        ascii: all their characters are ASCII.
        final_newline: whether they end with a newline.
        ascii_words: all their word characters (of Unicode, as `regex` has them) are ASCII.
    """

    ascii: bool
    final_newline: bool
    ascii_words: bool


@dataclass(frozen=True, slots=True)
class Needs:
    """What a tree's RE2 forms depend on in a text."""

    ascii: bool
    final_newline: bool
    plain_line_ends: bool
    spans: bool
    ascii_words: bool = False

    def kinds(self) -> list[TextKind]:
        """The kinds of texts that have to be told apart."""
        ends = (False, True) if self.final_newline else (False,)
        scripts = [(False, False)]
        if self.ascii_words:
            scripts.insert(0, (False, True))
        if self.ascii:
            scripts.insert(0, (True, True))
        return [TextKind(ascii, end, ascii_words) for ascii, ascii_words in scripts for end in ends]


def needs(root: Node) -> Needs:
    """Which properties of a text decide whether, and with which form, RE2 may judge it.

    `ascii`: the ASCII form differs from the general one. `final_newline`: so does the form for texts that end with a
    newline. `plain_line_ends`: RE2 may see no text with CR, U+2028 or U+2029. `spans`: RE2's span would also be right.
    `ascii_words`: the form for texts without word characters beyond ASCII differs from the general one.
    """
    nodes = list(walk(root))
    anchors = {node.anchor for node in nodes if isinstance(node, Position)}
    loops = [node for node in nodes if isinstance(node, Repeat) and node.most != 1]
    return Needs(
        ascii=any(isinstance(node, Chars) and not charset.is_ascii(node.members) for node in nodes)
        or bool(anchors & _ONLY_IN_ASCII.keys()),
        final_newline=bool(anchors & {Anchor.FINAL_END, Anchor.LINE_START_INNER}),
        plain_line_ends=bool(anchors & _LINE_ANCHORS.keys()),
        spans=Anchor.KEEP not in anchors and all(widths(loop.item)[0] > 0 for loop in loops),
        ascii_words=Anchor.UNICODE_WORD in anchors
        or any(isinstance(node, Chars) and simplifies(node.members) for node in nodes),
    )


def to_re2(root: Node, kind: TextKind) -> str:
    """The pattern for RE2 on texts of one kind.

    Raises:
        OnlyBacktracking: if there is none.
    """
    return _Writer(kind).write(root, after_least=0, last=True, repeats=1)


class _Writer:
    """`after_least` is the least width of what follows a node; `last` whether nothing at all follows it."""

    def __init__(self, kind: TextKind) -> None:
        self.kind = kind

    def write(self, node: Node, *, after_least: int, last: bool, repeats: int) -> str:
        match node:
            case Chars(members):
                return write_set(charset.intersect(members, charset.ASCII) if self.kind.ascii else members)
            case Position(anchor):
                return self.position(anchor, after_least, last)
            case Sequence(items):
                return self.sequence(items, after_least, last, repeats)
            case Choice(branches):
                written = [self.write(b, after_least=after_least, last=last, repeats=repeats) for b in branches]
                return f"(?:{'|'.join(written)})"
            case Capture(item=item):
                return self.grouped(item, after_least, last, repeats)
            case Repeat() as repeated:
                return self.repeat(repeated, after_least, repeats)
            case _:
                raise OnlyBacktracking(f"{_kind_of(node)} has no linear form")

    def sequence(self, items: tuple[Node, ...], after_least: int, last: bool, repeats: int) -> str:
        written: list[str] = []
        for index in range(len(items) - 1, -1, -1):
            item = items[index]
            written.append(self.write(item, after_least=after_least, last=last, repeats=repeats))
            after_least += widths(item)[0]
            last = last and isinstance(item, Position) and item.anchor in (Anchor.FINAL_END, Anchor.KEEP)
        return "".join(reversed(written)) or "(?:)"

    def grouped(self, item: Node, after_least: int, last: bool, repeats: int) -> str:
        return f"(?:{self.write(item, after_least=after_least, last=last, repeats=repeats)})"

    def repeat(self, node: Repeat, after_least: int, repeats: int) -> str:
        if node.greed is Greed.POSSESSIVE:
            raise OnlyBacktracking("a possessive quantifier has no linear form")
        most = node.least if node.most is None else node.most
        inside = repeats * max(1, most)
        if inside > _MOST_REPEATS:
            raise OnlyBacktracking(f"repeats multiply to more than {_MOST_REPEATS}")
        body = self.grouped(node.item, after_least, last=False, repeats=inside)
        return f"{body}{_quantifier(node.least, node.most)}{node.greed.value}"

    def position(self, anchor: Anchor, after_least: int, last: bool) -> str:
        if anchor in _EVERYWHERE:
            return _EVERYWHERE[anchor]
        if anchor in _LINE_ANCHORS:
            return _LINE_ANCHORS[anchor]
        if anchor is Anchor.UNICODE_WORD and self.kind.ascii_words:
            return r"\b"
        if anchor in _ONLY_IN_ASCII:
            if not self.kind.ascii:
                raise OnlyBacktracking(r"\B, or a Unicode \b, has no linear form outside ASCII")
            return _ONLY_IN_ASCII[anchor]
        if anchor is Anchor.LINE_START_INNER:
            if self.kind.final_newline and after_least == 0:
                raise OnlyBacktracking("^ before what may be empty has no linear form before a final newline")
            return "(?m:^)"
        if not self.kind.final_newline:
            return r"\z"
        if not last:
            raise OnlyBacktracking("$ before the end of the pattern has no linear form before a final newline")
        return r"(?:\n?\z)"


def _quantifier(least: int, most: int | None) -> str:
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    return simple or f"{{{least},{'' if most is None else most}}}"


def _kind_of(node: Node) -> str:
    names = {
        "Atomic": "an atomic group",
        "Look": "a look-around",
        "BackReference": "a back reference",
        "Conditional": "a conditional group",
        "Definitions": "a DEFINE group",
        "Call": "recursion",
    }
    return names[type(node).__name__]


@lru_cache(maxsize=256)
def write_set(members: CharSet) -> str:
    """One character out of `members`, in RE2's syntax."""
    if len(members) == 1 and members[0][0] == members[0][1]:
        return _escaped(members[0][0])
    if members == charset.EVERYTHING:
        return "(?s:.)"
    if not members:
        return r"[^\x00-\x{10ffff}]"
    return "[" + "".join(_escaped(a) if a == b else f"{_escaped(a)}-{_escaped(b)}" for a, b in members) + "]"


def _escaped(point: int) -> str:
    return chr(point) if chr(point) in _SAFE else f"\\x{{{point:x}}}"
