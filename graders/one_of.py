"""`one-of`: the text is one of a closed set of answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from graders.scoped_text import PlacedText, ScopedTextConfig, ScopedTextGrader
from schemas.score import Score, verdict
from schemas.trajectory import Trajectory


class OneOfConfig(ScopedTextConfig):
    """The answers and how they are compared."""

    values: list[str] = Field(min_length=1)
    ignore_case: bool = False
    trim_whitespace: bool = False
    trim_punctuation: bool = False
    """Leave out quotation marks and punctuation around the answer (`"Yes."` is `Yes`)."""

    @model_validator(mode="after")
    def _different(self) -> OneOfConfig:
        if len({self.normal(value) for value in self.values}) < len(self.values):
            raise ValueError("two values are the same answer")
        return self

    def normal(self, text: str) -> str:
        """The text as it is compared."""
        if self.trim_whitespace or self.trim_punctuation:
            text = text.strip()
        if self.trim_punctuation:
            text = text.strip("\"'`*_“”‘’«».,;:!?()[] \t\r\n")
        return text.casefold() if self.ignore_case else text


class OneOf(ScopedTextGrader[OneOfConfig]):
    """Passes when the text is one of `values`; `label` is that value, as the configuration writes it."""

    type = "one-of"
    config_model = OneOfConfig
    example: ClassVar[Mapping[str, Any]] = {"values": ["billing", "shipping", "other"], "trim_whitespace": True}

    def __init__(self, config: OneOfConfig) -> None:
        super().__init__(config)
        self._by_normal = {config.normal(value): value for value in config.values}

    def grade_text(self, placed: PlacedText, trajectory: Trajectory) -> Score:
        """Look the text up."""
        label = self._by_normal.get(self.config.normal(placed.text))
        if label is None:
            return verdict(False, f"the text is none of the {len(self._by_normal)} values")
        return verdict(True, f"the text is '{label}'", label=label)
