"""`llm-score`: the judge picks one of the offered levels; at or above the threshold passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from graders.grader import GraderConfig
from graders.judges.choice import Choice, Mistake
from graders.judges.judge_grader import JudgeConfig, JudgeGrader, verdict_status
from graders.judges.prompts import PROMPT_VERSION
from graders.taxonomy import Taxonomy
from schemas.score import Status


class Level(GraderConfig):
    """One level that the judge may choose."""

    score: float = Field(allow_inf_nan=False)
    description: str = Field(min_length=1)


class LlmScoreConfig(JudgeConfig):
    """A criterion with levels; their order does not matter, their scores do."""

    criterion: str = Field(min_length=1, max_length=8_000)
    levels: list[Level] = Field(min_length=2, max_length=100)
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    """A level's score, or a number between; None: the row is `scored`."""

    @field_validator("levels")
    @classmethod
    def _distinct(cls, levels: list[Level]) -> list[Level]:
        if len({level.score for level in levels}) != len(levels):
            raise ValueError("two levels have the same score")
        return levels

    @model_validator(mode="after")
    def _reachable(self) -> LlmScoreConfig:
        scores = [level.score for level in self.levels]
        if self.threshold is not None and not min(scores) <= self.threshold <= max(scores):
            raise ValueError(f"threshold {self.threshold:g} lies outside the levels' {min(scores):g}..{max(scores):g}")
        return self


class LlmScore(JudgeGrader[LlmScoreConfig]):
    """Score by levels. `native_score` is the chosen level's score, `score` its place between lowest and highest."""

    type = "llm-score"
    config_model = LlmScoreConfig
    version = PROMPT_VERSION
    taxonomy = Taxonomy(determinism="llm", cost="high", score_kind="llm")
    example: ClassVar[Mapping[str, Any]] = {
        "criterion": "Is the reply polite?",
        "levels": [
            {"score": 0, "description": "rude"},
            {"score": 1, "description": "neutral"},
            {"score": 2, "description": "warm"},
        ],
        "threshold": 1,
    }
    optional_fields = ("level", "score")

    @property
    def question(self) -> str:
        """The criterion and the levels."""
        levels = "\n".join(f"- level {_plain(level.score)}: {level.description}" for level in self.config.levels)
        return f"Criterion: {self.config.criterion}\n\nChoose exactly one of these levels:\n{levels}"

    @property
    def reply_fields(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """`level`, one of the offered numbers."""
        offered = [_plain(level.score) for level in self.config.levels]
        return {"level": ("the number of the level you choose", {"type": "number", "enum": offered})}

    def required_fields(self, reply: dict[str, Any]) -> Sequence[str]:
        """`score` is understood for `level`: a level is known by its score."""
        return ("score",) if "score" in reply and "level" not in reply else ("level",)

    def read_choice(self, reply: dict[str, Any]) -> Choice | Mistake:
        """One of the offered levels."""
        chosen = []
        for name in ("level", "score"):
            if name in reply:
                level = self._offered(reply[name])
                if isinstance(level, Mistake):
                    return level
                chosen.append(level)
        if any(level is not chosen[0] for level in chosen):
            return Mistake("contradiction", "the reply chooses two levels")
        level = chosen[0]
        scores = [one.score for one in self.config.levels]
        threshold = self.config.threshold
        return Choice(
            status=Status.SCORED if threshold is None else verdict_status(level.score >= threshold),
            score=(level.score - min(scores)) / (max(scores) - min(scores)),
            native_score=level.score,
            label=level.description,
        )

    def _offered(self, value: Any) -> Level | Mistake:
        if isinstance(value, str):
            return Mistake("number_as_text", "the level must be a number, not text")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return Mistake("wrong_type", "the level must be a number")
        if value != value or value in (float("inf"), float("-inf")):
            return Mistake("not_a_number", "the level must be a finite number")
        for level in self.config.levels:
            if level.score == value:
                return level
        offered = ", ".join(str(_plain(level.score)) for level in self.config.levels)
        return Mistake("off_menu_level", f"the level must be one of {offered}")


def _plain(number: float) -> int | float:
    return int(number) if number == int(number) else number
