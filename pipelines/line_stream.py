"""A stream of lines as it arrives: every complete line at once, none waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.reading.lines import OversizeLine

_READ_BYTES = 1 << 20
_HEAD_BYTES = 1_024


@dataclass(slots=True)
class ArrivedLines:
    """Lines that have come in together, blank ones left out."""

    lines: list[tuple[int, bytes, bool]] = field(default_factory=list)
    """(byte offset, line without its end, whether the stream ended inside it)."""
    oversize: list[OversizeLine] = field(default_factory=list)
    """Longer lines than allowed: only their head is kept."""


def arriving_lines(descriptor: int, max_line: int) -> Iterator[ArrivedLines]:
    """Read a file descriptor to its end. Memory is bounded by `max_line` bytes and one read."""
    buffer = _Buffer(max_line)
    while piece := os.read(descriptor, _READ_BYTES):
        arrived = buffer.add(piece)
        if arrived.lines or arrived.oversize:
            yield arrived
    arrived = buffer.end()
    if arrived.lines or arrived.oversize:
        yield arrived


class _Buffer:
    def __init__(self, max_line: int) -> None:
        self._max = max_line
        self._open = bytearray()
        self._offset = 0
        self._dropped = 0
        self._head = b""

    def add(self, piece: bytes) -> ArrivedLines:
        """The lines that this piece completes."""
        arrived = ArrivedLines()
        *complete, rest = piece.split(b"\n")
        for part in complete:
            self._open += part
            self._close(arrived, cut=False)
        self._open += rest
        if len(self._open) > self._max:
            self._drop()
        return arrived

    def end(self) -> ArrivedLines:
        """The last line, if it has no end."""
        arrived = ArrivedLines()
        if self._open or self._dropped:
            self._close(arrived, cut=True)
        return arrived

    def _drop(self) -> None:
        self._head = self._head or bytes(self._open[:_HEAD_BYTES])
        self._dropped += len(self._open)
        self._open.clear()

    def _close(self, arrived: ArrivedLines, *, cut: bool) -> None:
        size = self._dropped + len(self._open)
        if size > self._max:
            head = self._head or bytes(self._open[:_HEAD_BYTES])
            arrived.oversize.append(OversizeLine(head, self._offset, size))
        else:
            line = bytes(self._open).removesuffix(b"\r")
            if line.strip():
                arrived.lines.append((self._offset, line, cut))
        self._offset += size + 1
        self._open.clear()
        self._dropped, self._head = 0, b""
