"""`readability`: how hard an English text is to read, by one of the published formulas.

| metric | formula | source |
|---|---|---|
| `flesch-reading-ease` | 206.835 - 1.015 W/S - 84.6 Y/W; higher is easier | Flesch 1948 |
| `flesch-kincaid-grade` | 0.39 W/S + 11.8 Y/W - 15.59 | Kincaid et al. 1975 |
| `automated-readability` | 4.71 C/W + 0.5 W/S - 21.43 | Smith and Senter 1967 |
| `coleman-liau` | 5.88 C/W - 29.6 S/W - 15.8 | Coleman and Liau 1975 |

C letters and digits, W words, S sentences, Y syllables. Syllables are counted as groups of vowels less a silent final
e, which is made for English; the last two formulas need none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from graders.scoped_text import PlacedText, ScopedTextConfig, ScopedTextGrader
from graders.taxonomy import Taxonomy
from schemas.score import Score, skipped, verdict
from schemas.trajectory import Trajectory

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<![.!?。！？])[.!?。！？]+(?=\s|$)|\n\s*\n")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT_END = re.compile(r"(?:[^laeiouy]es|[^aeiouytd]ed|[^laeiouy]e)$")


class ReadabilityConfig(ScopedTextConfig):
    """Which formula and what its value may be."""

    metric: Literal["flesch-reading-ease", "flesch-kincaid-grade", "automated-readability", "coleman-liau"] = (
        "flesch-kincaid-grade"
    )
    minimum: float | None = None
    """Inclusive, as is `maximum`."""
    maximum: float | None = None
    min_words: int = Field(default=20, ge=1)
    """A text of fewer words is skipped: the formulas mean nothing there."""

    @model_validator(mode="after")
    def _bounded(self) -> ReadabilityConfig:
        if self.minimum is None and self.maximum is None:
            raise ValueError("give minimum, maximum or both")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("minimum is above maximum: nothing can pass")
        return self


@dataclass(frozen=True, slots=True)
class TextCounts:
    """What the formulas count."""

    characters: int
    words: int
    sentences: int
    syllables: int


class Readability(ScopedTextGrader[ReadabilityConfig]):
    """Passes when the formula's value lies within the bounds. A slow grader: it counts syllables word by word."""

    type = "readability"
    config_model = ReadabilityConfig
    taxonomy = Taxonomy(native_min=-float("inf"), native_max=float("inf"), higher_is_better=False)
    example: ClassVar[Mapping[str, Any]] = {"metric": "flesch-kincaid-grade", "maximum": 10}

    def __init__(self, config: ReadabilityConfig) -> None:
        super().__init__(config)
        easier = config.metric == "flesch-reading-ease"
        self.taxonomy = replace(type(self).taxonomy, higher_is_better=easier)  # type: ignore[misc]

    def grade_text(self, placed: PlacedText, trajectory: Trajectory) -> Score:
        """Measure one text."""
        counts = counted(placed.text)
        if counts.words < self.config.min_words:
            return skipped(f"the text has {counts.words} words, fewer than {self.config.min_words}")
        value = readability(counts, self.config.metric)
        low, high = self.config.minimum, self.config.maximum
        passed = (low is None or value >= low) and (high is None or value <= high)
        return verdict(passed, f"{self.config.metric} is {value:.1f}", native_score=value)


def readability(counts: TextCounts, metric: str) -> float:
    """The value of one formula (see the module's table)."""
    per_sentence = counts.words / counts.sentences
    if metric == "flesch-reading-ease":
        return 206.835 - 1.015 * per_sentence - 84.6 * counts.syllables / counts.words
    if metric == "flesch-kincaid-grade":
        return 0.39 * per_sentence + 11.8 * counts.syllables / counts.words - 15.59
    if metric == "automated-readability":
        return 4.71 * counts.characters / counts.words + 0.5 * per_sentence - 21.43
    return 5.88 * counts.characters / counts.words - 29.6 * counts.sentences / counts.words - 15.8


def counted(text: str) -> TextCounts:
    """Characters of words, words, sentences (one at least; a paragraph ends one) and syllables of a text."""
    words = _WORD.findall(text)
    sentences = sum(_WORD.search(part) is not None for part in _SENTENCE_END.split(text))
    letters = sum(sum(map(str.isalnum, word)) for word in words)
    return TextCounts(letters, len(words), max(1, sentences), sum(map(syllables, words)))


def syllables(word: str) -> int:
    """Groups of vowels, less a silent ending; one at least."""
    lowered = word.lower()
    groups = len(_VOWELS.findall(lowered))
    if groups > 1 and _SILENT_END.search(lowered):
        groups -= 1
    return max(1, groups)
