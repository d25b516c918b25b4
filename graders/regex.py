"""`regex`: a pattern with flags searched for in the final output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from graders.evidence import shown_pattern
from graders.grade_batch import GradeBatch
from graders.grader import Grader
from graders.negation import Negatable
from graders.taxonomy import Taxonomy
from graders.text_config import OutputConfig, PatternConfig, compiled
from graders.text_scope import Sentences, grade_outputs
from graders.text_search import PatternSearch
from graders.trajectory_batch import TrajectoryBatch


class RegexConfig(Negatable, PatternConfig, OutputConfig):
    """A pattern, flags beside it, and whether it must match."""

    flags: str = ""
    """Letters of i (ignore case), m (^ and $ at line ends), s (. matches line ends); g and d of ecma do nothing."""


class Regex(Grader[RegexConfig]):
    """Passes when the pattern is found anywhere in the final output (nowhere, when negated)."""

    type = "regex"
    config_model = RegexConfig
    taxonomy = Taxonomy(determinism="complex-static")
    example: ClassVar[Mapping[str, Any]] = {"pattern": "^BUG-[0-9]{4}$", "dialect": "ecma"}

    def __init__(self, config: RegexConfig) -> None:
        super().__init__(config)
        self.search = PatternSearch(compiled(config, config.flags))
        shown = shown_pattern(config.pattern, config.flags)
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
