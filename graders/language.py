"""`language`: the natural language of the text, told by its byte n-grams (py3langid, about 140 languages)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

from py3langid.langid import MODEL_FILE, LanguageIdentifier
from pydantic import Field, model_validator

from graders.code_blocks import without_code_blocks
from graders.errors import ConfigError, Problem, nearest
from graders.scoped_text import PlacedText, ScopedTextConfig, ScopedTextGrader
from graders.taxonomy import Taxonomy
from schemas.score import ErrorType, Score, error, skipped, verdict
from schemas.trajectory import Trajectory

_MARKUP = re.compile(r"https?://\S+|`[^`\n]*`")
#: Longer texts are told by their beginning: more adds nothing but time.
_MOST_CODE_POINTS = 4_000


class LanguageConfig(ScopedTextConfig):
    """Exactly one of `expected` and `same_as_input`."""

    expected: list[str] | None = Field(default=None, min_length=1)
    """ISO 639-1 codes (`en`, `pt`), any of which is right."""
    same_as_input: bool = False
    """Whether the text has to be in the language of the trajectory's input."""
    candidates: list[str] | None = Field(default=None, min_length=2)
    """The languages that can occur; fewer make short texts surer."""
    min_confidence: float = Field(default=0.6, gt=0, lt=1)
    """The probability below which the language can't be told."""
    on_uncertain: Literal["skip", "fail", "error"] = "skip"
    """The outcome where it can't be told (a short text, a text of code or numbers)."""
    ignore_code: bool = True
    """Leave out fenced and inline code and addresses of web pages."""

    @model_validator(mode="after")
    def _one(self) -> LanguageConfig:
        if (self.expected is None) != self.same_as_input:
            raise ValueError("give exactly one of expected and same_as_input: true")
        return self


class Language(ScopedTextGrader[LanguageConfig]):
    """Passes when the text is in an expected language. `label` is the language; a slow grader on long texts."""

    type = "language"
    config_model = LanguageConfig
    taxonomy = Taxonomy(determinism="complex-static", cost="low")
    example: ClassVar[Mapping[str, Any]] = {"expected": ["en"], "candidates": ["en", "fr", "de", "es"]}

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__(config)
        known = set(_identifier().labels)
        for name in ("expected", "candidates"):
            for place, code in enumerate(getattr(config, name) or ()):
                if code not in known:
                    suggestion = nearest(code, known) or "use ISO 639-1 codes such as en, de, zh"
                    raise ConfigError([Problem((name, place), f'unknown language "{code}"', suggestion)])
        if config.expected and config.candidates and not set(config.expected) <= set(config.candidates):
            raise ConfigError("the expected languages have to be among them", ("candidates",))

    def grade_text(self, placed: PlacedText, trajectory: Trajectory) -> Score:
        """Tell the language of one text."""
        wanted = self.config.expected
        if wanted is None:
            if trajectory.input is None:
                return error(ErrorType.MISSING_FIELD, "the trajectory has no input")
            told, confidence = self._told(trajectory.input)
            if confidence < self.config.min_confidence:
                return self._uncertain("the language of the input can't be told")
            wanted = [told]
        told, confidence = self._told(placed.text)
        if confidence < self.config.min_confidence:
            return self._uncertain("the language can't be told")
        text = f"the text is in {told} ({confidence:.2f})"
        return verdict(told in wanted, text, label=told, details={"confidence": round(confidence, 4)})

    def _told(self, text: str) -> tuple[str, float]:
        if self.config.ignore_code:
            text = _MARKUP.sub(" ", without_code_blocks(text))
        text = text.strip()[:_MOST_CODE_POINTS]
        if self.config.candidates is None:
            label, probability = _identifier().classify(text)
            return str(label), float(probability)
        ranked = [(str(label), float(value)) for label, value in _identifier().rank(text)]
        offered = [pair for pair in ranked if pair[0] in self.config.candidates]
        total = sum(value for _, value in offered)
        label, value = max(offered, key=lambda pair: pair[1])
        # Nothing of the candidates' n-grams in the text leaves them all alike: that is not to be told.
        return label, value / total if total > 0 and value > 2 / len(ranked) else 0.0

    def _uncertain(self, reason: str) -> Score:
        if self.config.on_uncertain == "skip":
            return skipped(reason)
        if self.config.on_uncertain == "error":
            return error(ErrorType.MISSING_FIELD, reason)
        return verdict(False, reason)


@lru_cache(maxsize=1)
def _identifier() -> Any:
    """The model of 70 MB, loaded once a process (half a second)."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
