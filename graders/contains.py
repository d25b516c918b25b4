"""`contains` and `not-contains`: several literals in the final output, all or any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator

from graders.errors import Problem
from graders.evidence import evidence_column, marked, shown_text
from graders.grade_batch import GradeBatch
from graders.grader import ConfigClass, Grader
from graders.negation import AlwaysNegated, Negatable
from graders.outcome_columns import Outcomes, coded
from graders.taxonomy import Taxonomy
from graders.text_config import OutputConfig
from graders.text_positions import Mask
from graders.text_scope import NO_OUTPUT, missing_output
from graders.text_search import Found, SubstringSearch
from graders.trajectory_batch import MessageTexts, TrajectoryBatch
from schemas.score import MAX_EVIDENCE


class ContainsConfig(Negatable, OutputConfig):
    """Literals to look for in the final output."""

    texts: list[str] = Field(min_length=1, max_length=1000)
    """What to look for: one text or a list of them."""
    match: Literal["all", "any"] = "all"
    """Whether all texts must be there, or any of them (all absent or any absent, when negated)."""
    case_sensitive: bool = True
    """Whether A differs from a; if not, both sides are lower-cased."""

    @field_validator("texts", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("texts")
    @classmethod
    def _none_empty(cls, value: list[str]) -> list[str]:
        if "" in value:
            raise ValueError("an empty text is in every output")
        return value


class NotContainsConfig(AlwaysNegated, ContainsConfig):
    """Literals that must be absent."""


class Contains(Grader[ContainsConfig]):
    """Passes when the output contains all (or any) of the texts.

    Negated, each text must be absent instead, then `match` combines.
    """

    type = "contains"
    config_model: ClassVar[ConfigClass] = ContainsConfig
    taxonomy = Taxonomy()
    example: ClassVar[Mapping[str, Any]] = {"texts": ["support@example.com"], "match": "all"}

    def __init__(self, config: ContainsConfig) -> None:
        super().__init__(config)
        self._searches = [SubstringSearch(text, config.case_sensitive) for text in config.texts]

    def warnings(self) -> tuple[Problem, ...]:
        """An absence check that a single absent text satisfies is seldom meant."""
        if self.config.negate and self.config.match == "any" and len(self.config.texts) > 1:
            message = "with `any`, one absent text is enough; the other texts may all be in the output"
            return (Problem(("match",), message, "use `all` to require that every text is absent", warning=True),)
        return ()

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Search all outputs at once, text by text."""
        outcomes = Outcomes.of(len(batch))
        texts = batch.outputs
        finds = [search.find(texts, spans_wanted=self.config.evidence) for search in self._searches]
        hits = [found.hit for found in finds]
        satisfied = [~hit for hit in hits] if self.config.negate else hits
        wants_all = self.config.match == "all"
        passed: Mask = np.logical_and.reduce(satisfied) if wants_all else np.logical_or.reduce(satisfied)
        outcomes.decide(texts.rows, passed)
        said = np.zeros(len(batch), np.int16)
        sentences = self._sentences()
        said[texts.rows] = _sentence_codes(satisfied, passed, decided_by=not wants_all)
        if len(texts.rows) < len(batch):
            without = np.ones(len(batch), bool)
            without[texts.rows] = False
            missing_output(outcomes, without, self.config.on_missing_output)
            said[without] = len(sentences)
            sentences.append(marked(False, NO_OUTPUT))
        said[outcomes.undecidable] = -1
        columns: dict[str, pa.Array] = {"explanation": coded(said, sentences)}
        if self.config.evidence and (places := self._evidence(batch, texts, finds)) is not None:
            columns["evidence"] = places
        return outcomes.finished(columns)

    def _sentences(self) -> list[str]:
        """Sentence 0 and 1: all texts say no, all say yes.

        Then two for each text: it decided the fail, it decided the pass.
        """
        count, negate = len(self.config.texts), self.config.negate
        found = [f"{shown_text(text)} found in output" for text in self.config.texts]
        absent = [f"{shown_text(text)} NOT found in output" for text in self.config.texts]
        yes, no = (absent, found) if negate else (found, absent)
        if count == 1:
            return [marked(False, no[0]), marked(True, yes[0])]
        all_found, all_absent = f"all {count} texts found in output", f"none of {count} texts found in output"
        all_yes, all_no = (all_absent, all_found) if negate else (all_found, all_absent)
        single = [marked(verdict, (yes if verdict else no)[i]) for i in range(count) for verdict in (False, True)]
        return [marked(False, all_no), marked(True, all_yes), *single]

    def _evidence(self, batch: TrajectoryBatch, texts: MessageTexts, finds: list[Found]) -> pa.ListArray | None:
        budget = np.full(len(texts.rows), MAX_EVIDENCE)
        places = []
        for search, found in zip(self._searches, finds, strict=True):
            indices = np.flatnonzero(found.hit & (budget > 0))
            if len(indices):
                budget[indices] -= 1
                places.append(search.spans(texts, found, indices))
        return evidence_column(batch, texts, places)


def _sentence_codes(satisfied: list[Mask], passed: Mask, *, decided_by: bool) -> Any:
    """Which sentence each output gets: of the first text that decided the verdict, or of all where all together did."""
    if len(satisfied) == 1:
        return passed.astype(np.int16)
    codes = passed.astype(np.int16)
    open_rows = passed == decided_by
    for number, held in enumerate(satisfied):
        deciding = open_rows & (held == decided_by)
        codes[deciding] = 2 + 2 * number + int(decided_by)
        open_rows &= ~deciding
    return codes


class NotContains(Contains):
    """Passes when the output contains none of the texts (with `match: any`: when it lacks at least one)."""

    type = "not-contains"
    config_model = NotContainsConfig
    example: ClassVar[Mapping[str, Any]] = {"texts": ["guarantee", "refund"], "case_sensitive": False}
