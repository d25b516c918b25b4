"""Patterns over short texts that repeat (tool names, arguments): each distinct text is matched once, in one batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from graders.errors import ConfigError
from graders.matching import InvalidPattern, Pattern, compile
from graders.text_config import DialectName

Dialect = DialectName

_MOST_REMEMBERED = 8_000_000
"""Code points of the texts whose answers are kept."""


class PatternMemo:
    """One compiled pattern and the answers it gave.

    Raises:
        ConfigError: the pattern is not one of its dialect; the path is the given one.
    """

    def __init__(self, pattern: str, dialect: Dialect, path: tuple[str | int, ...] = ()) -> None:
        try:
            self._compiled = compile(pattern, dialect)
        except InvalidPattern as problem:
            raise ConfigError(str(problem), path) from None
        self.pattern = pattern
        self._answers: dict[str, bool | None] = {}
        self._remembered = 0

    def __call__(self, text: str) -> bool | None:
        """Whether the pattern is found in `text`; None where a limit stopped the match."""
        if text not in self._answers:
            self.prepare((text,))
        return self._answers[text]

    def prepare(self, texts: Iterable[str]) -> None:
        """Match all of `texts` that were not matched before, in one call of the engine."""
        if self._remembered > _MOST_REMEMBERED:
            self._answers.clear()
            self._remembered = 0
        new = list({text for text in texts if text not in self._answers})
        if new:
            self._answers.update(zip(new, _answers(self._compiled, new), strict=True))
            self._remembered += sum(map(len, new))


def any_of(patterns: Sequence[PatternMemo], text: str) -> bool | None:
    """Whether any of the patterns is found; None where a limit leaves it open."""
    answers = [pattern(text) for pattern in patterns]
    return True if True in answers else None if None in answers else False


def _answers(pattern: Pattern, texts: Sequence[str]) -> list[bool | None]:
    matched: list[bool | None] = pattern.match_array(pa.array(texts, pa.large_string())).matched.to_pylist()
    return matched
