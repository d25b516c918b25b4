"""Fenced code blocks of a Markdown text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Nothing after the fence can fail to match, so a line is never looked at twice.
_FENCE = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced block: its tag in lower case, its code, where the code starts, and whether it has a closing fence."""

    tag: str
    code: str
    start: int
    closed: bool


@dataclass(frozen=True, slots=True)
class _Fence:
    start: int
    end: int
    ticks: str
    info: str


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """The fenced blocks of a text (CommonMark: closed by an untagged fence of the same kind, as long or longer)."""
    opening: _Fence | None = None
    for fence in _fences(text):
        if opening is None:
            opening = fence
        elif fence.ticks[0] == opening.ticks[0] and len(fence.ticks) >= len(opening.ticks) and not fence.info:
            yield _block(text, opening, fence.start, closed=True)
            opening = None
    if opening is not None:
        yield _block(text, opening, len(text), closed=False)


def without_code_blocks(text: str) -> str:
    """The text with a blank line for every fenced block."""
    parts = []
    position = 0
    for block in code_blocks(text):
        parts.append(text[position : block.start])
        position = block.start + len(block.code)
    lines = "\n".join([*parts, text[position:]])
    return _FENCE.sub("", lines)


def _fences(text: str) -> Iterator[_Fence]:
    for found in _FENCE.finditer(text):
        info = found["info"].strip()
        if found["ticks"][0] == "~" or "`" not in info:
            yield _Fence(found.start(), found.end(), found["ticks"], info)


def _block(text: str, opening: _Fence, end: int, *, closed: bool) -> CodeBlock:
    start = min(opening.end + 1, len(text))
    words = opening.info.lower().split()
    return CodeBlock(words[0].strip("{}.") if words else "", text[start : max(start, end)], start, closed)
