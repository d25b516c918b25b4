"""The final output searched for a literal or a pattern: `output-contains`, `output-matches` and their negated forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from graders.evidence import shown_pattern, shown_text
from graders.grade_batch import GradeBatch
from graders.grader import ConfigClass, Grader
from graders.negation import AlwaysNegated, Negatable
from graders.taxonomy import Taxonomy
from graders.text_config import OutputConfig, PatternConfig, compiled
from graders.text_scope import Sentences, grade_outputs
from graders.text_search import PatternSearch, SubstringSearch
from graders.trajectory_batch import TrajectoryBatch


class OutputContainsConfig(Negatable, OutputConfig):
    """A literal to look for in the final output."""

    substring: str = Field(min_length=1)
    """What must be in the output (absent, when negated)."""
    case_sensitive: bool = True
    """Whether A differs from a; if not, both sides are lower-cased."""


class OutputNotContainsConfig(AlwaysNegated, OutputContainsConfig):
    """A literal that must be absent."""


class OutputMatchesConfig(Negatable, PatternConfig, OutputConfig):
    """A pattern to search for in the final output."""


class OutputNotMatchesConfig(AlwaysNegated, OutputMatchesConfig):
    """A pattern that must match nowhere."""


class OutputContains(Grader[OutputContainsConfig]):
    """Passes when the final output contains the literal. An empty output contains none."""

    type = "output-contains"
    config_model: ClassVar[ConfigClass] = OutputContainsConfig
    taxonomy = Taxonomy()
    example: ClassVar[Mapping[str, Any]] = {"substring": "refund"}

    def __init__(self, config: OutputContainsConfig) -> None:
        super().__init__(config)
        self._search = SubstringSearch(config.substring, config.case_sensitive)
        shown = shown_text(config.substring)
        self._said = Sentences(f"{shown} found in output", f"{shown} NOT found in output")

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Search all outputs at once."""
        return grade_outputs(
            batch,
            self._search,
            self._said,
            negate=self.config.negate,
            on_missing=self.config.on_missing_output,
            evidence=self.config.evidence,
        )


class OutputNotContains(OutputContains):
    """Passes when the final output does not contain the literal."""

    type = "output-not-contains"
    config_model = OutputNotContainsConfig
    example: ClassVar[Mapping[str, Any]] = {"substring": "as an AI model", "case_sensitive": False}


class OutputMatches(Grader[OutputMatchesConfig]):
    """Passes when the pattern is found anywhere in the final output."""

    type = "output-matches"
    config_model: ClassVar[ConfigClass] = OutputMatchesConfig
    taxonomy = Taxonomy(determinism="complex-static")
    example: ClassVar[Mapping[str, Any]] = {"pattern": r"(?i)ticket [0-9]+"}

    def __init__(self, config: OutputMatchesConfig) -> None:
        super().__init__(config)
        self.search = PatternSearch(compiled(config))
        shown = shown_pattern(config.pattern)
        self._said = Sentences(f"output matches pattern {shown}", f"output does not match pattern {shown}")

    def explain(self) -> tuple[str, ...]:
        """Which tier the pattern runs on."""
        return (f"{self.search.pattern.tier}: {self.search.pattern.tier_reason}",)

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Search all outputs at once."""
        return grade_outputs(
            batch,
            self.search,
            self._said,
            negate=self.config.negate,
            on_missing=self.config.on_missing_output,
            evidence=self.config.evidence,
        )


class OutputNotMatches(OutputMatches):
    """Passes when the pattern is found nowhere in the final output."""

    type = "output-not-matches"
    config_model = OutputNotMatchesConfig
    example: ClassVar[Mapping[str, Any]] = {"pattern": r"(?i)error|exception", "dialect": "ecma"}
