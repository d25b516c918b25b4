"""Every assistant message searched by itself: `transcript-contains`, `transcript-matches` and their negated forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import Field, model_validator

from graders.evidence import shown_pattern, shown_text
from graders.grade_batch import GradeBatch
from graders.grader import ConfigClass, Grader
from graders.negation import AlwaysNegated, Negatable
from graders.taxonomy import Taxonomy
from graders.text_config import PatternConfig, TextConfig, compiled
from graders.text_scope import OnEmpty, Sentences, Turns, grade_transcripts
from graders.text_search import PatternSearch, Search, SubstringSearch
from graders.trajectory_batch import TrajectoryBatch


class TranscriptConfig(Negatable, TextConfig):
    """Which assistant messages count. A message without text (a bare tool call) is none; an empty text is one."""

    turn: int | None = Field(default=None, ge=0, le=1_000_000)
    """Look only at this assistant message, counted from 0; beyond the last one is an error."""
    turns: Turns = "any"
    """Without `turn`: whether any or every message must hold it, or only the first or last is looked at."""
    on_empty: OnEmpty = "fail"
    """The outcome where there is no assistant message to look at, negated or not."""

    @model_validator(mode="after")
    def _one_choice(self) -> TranscriptConfig:
        if self.turn is not None and "turns" in self.model_fields_set:
            raise ValueError("`turn` chooses one message and `turns` says how many: give one of them")
        return self


class TranscriptContainsConfig(TranscriptConfig):
    """A literal to look for in assistant messages."""

    substring: str = Field(min_length=1)
    """What must be in a message (in none, when negated)."""
    case_sensitive: bool = True
    """Whether A differs from a; if not, both sides are lower-cased."""


class TranscriptNotContainsConfig(AlwaysNegated, TranscriptContainsConfig):
    """A literal that must be absent."""


class TranscriptMatchesConfig(PatternConfig, TranscriptConfig):
    """A pattern to search for in assistant messages."""


class TranscriptNotMatchesConfig(AlwaysNegated, TranscriptMatchesConfig):
    """A pattern that must match nowhere."""


ConfigT = TypeVar("ConfigT", bound=TranscriptConfig)


class TranscriptGrader(Grader[ConfigT]):
    """A search of assistant messages, one by one and never joined."""

    search: Search
    said: Sentences

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Search all messages of the batch at once."""
        config: Any = self.config
        return grade_transcripts(
            batch,
            self.search,
            self.said,
            negate=config.negate,
            turn=config.turn,
            turns=config.turns,
            on_empty=config.on_empty,
            evidence=config.evidence,
        )


class TranscriptContains(TranscriptGrader[TranscriptContainsConfig]):
    """Passes when an assistant message contains the literal."""

    type = "transcript-contains"
    config_model: ClassVar[ConfigClass] = TranscriptContainsConfig
    taxonomy = Taxonomy()
    example: ClassVar[Mapping[str, Any]] = {"substring": "let me check", "case_sensitive": False}

    def __init__(self, config: TranscriptContainsConfig) -> None:
        super().__init__(config)
        self.search = SubstringSearch(config.substring, config.case_sensitive)
        shown = shown_text(config.substring)
        self.said = Sentences(f"{shown} found in transcript", f"{shown} NOT found in transcript")


class TranscriptNotContains(TranscriptContains):
    """Passes when no assistant message contains the literal; fails where there is no assistant message."""

    type = "transcript-not-contains"
    config_model = TranscriptNotContainsConfig
    example: ClassVar[Mapping[str, Any]] = {"substring": "rm -rf"}


class TranscriptMatches(TranscriptGrader[TranscriptMatchesConfig]):
    """Passes when the pattern is found in an assistant message."""

    type = "transcript-matches"
    config_model: ClassVar[ConfigClass] = TranscriptMatchesConfig
    taxonomy = Taxonomy(determinism="static")
    example: ClassVar[Mapping[str, Any]] = {"pattern": "(?i)i (can't|cannot|will not)"}

    def __init__(self, config: TranscriptMatchesConfig) -> None:
        super().__init__(config)
        pattern = compiled(config)
        self.search = PatternSearch(pattern)
        self._tier = f"{pattern.tier}: {pattern.tier_reason}"
        shown = shown_pattern(config.pattern)
        self.said = Sentences(f"transcript matches pattern {shown}", f"transcript does not match pattern {shown}")

    def explain(self) -> tuple[str, ...]:
        """Which tier the pattern runs on."""
        return (self._tier,)


class TranscriptNotMatches(TranscriptMatches):
    """Passes when the pattern is found in no assistant message; fails where there is no assistant message."""

    type = "transcript-not-matches"
    config_model = TranscriptNotMatchesConfig
    example: ClassVar[Mapping[str, Any]] = {"pattern": "(?i)error|exception"}
