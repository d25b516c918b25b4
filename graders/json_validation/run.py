"""The state of judging one value: how far references were followed, which pattern answers are known or wanted."""

from __future__ import annotations

from typing import Any


class Run:
    """Answers of one compiled schema's patterns, by number; and counters of the value being judged."""

    __slots__ = ("answers", "depth", "steps", "stopped", "wanted")

    def __init__(self, patterns: int) -> None:
        self.answers: list[dict[str, Any]] = [{} for _ in range(patterns)]
        """For each pattern: text → True, False or `Open` with a limit."""
        self.wanted: list[set[str]] = [set() for _ in range(patterns)]
        """For each pattern: texts that the value being judged needs an answer for."""
        self.depth = 0
        self.steps = 0
        self.stopped = False
        """Whether the value being judged met an answer that a limit withheld."""

    def start(self) -> None:
        """Begin another value."""
        self.depth = self.steps = 0
        self.stopped = False
        for texts in self.wanted:
            if texts:
                texts.clear()
