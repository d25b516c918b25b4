"""The base of graders that judge texts in Python: the output, or assistant messages chosen by `turn` or `turns`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Literal, TypeVar

from pydantic import Field, model_validator

from graders.grade_batch import GradeBatch, from_scores
from graders.grader import GraderConfig, RowGrader, timed_score
from graders.json_output import without_output
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Evidence, Score, Status, error, verdict
from schemas.trajectory import Trajectory

NO_MESSAGES = "no assistant messages in transcript to check"


class ScopedTextConfig(GraderConfig):
    """Which text is judged. Without `turn` and `turns` it is the final output."""

    turn: int | None = Field(default=None, ge=0)
    """One assistant message with text, from 0."""
    turns: Literal["any", "all", "first", "last"] | None = None
    """Assistant messages with text: any or all of them have to pass, or the first or last one."""
    on_missing_output: Literal["error", "fail", "skip"] = "error"
    """The outcome where the trajectory has no output at all (an empty text is an output)."""
    on_empty: Literal["pass", "fail", "error"] = "fail"
    """The outcome where `turn` or `turns` is given and there are no assistant messages."""

    @model_validator(mode="after")
    def _one_scope(self) -> ScopedTextConfig:
        if self.turn is not None and self.turns is not None:
            raise ValueError("turn and turns exclude each other")
        return self


ScopedConfigT = TypeVar("ScopedConfigT", bound=ScopedTextConfig)


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text and the message that it is; None for an output that is no message's text."""

    text: str
    message_index: int | None

    def evidence(self, start: int, end: int, quote: str) -> Evidence:
        """A place in this text."""
        return Evidence(self.message_index, start, end, quote)


class ScopedTextGrader(RowGrader[ScopedConfigT], Generic[ScopedConfigT]):
    """A check of one text at a time."""

    @abstractmethod
    def grade_text(self, placed: PlacedText, trajectory: Trajectory) -> Score:
        """The outcome for one text."""

    def prepare(self, texts: Sequence[str]) -> None:
        """Do once for all texts of a batch what is cheaper so."""

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Prepare all texts of the batch, then grade row by row."""
        scopes = [self._scope(row) for row in batch.rows]
        self.prepare([placed.text for scope in scopes if not isinstance(scope, Score) for placed in scope])
        graded = [timed_score(partial(self._judged, scope), row) for row, scope in zip(batch.rows, scopes, strict=True)]
        return from_scores(graded)

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Judge the texts that the configuration chooses."""
        scope = self._scope(trajectory)
        if not isinstance(scope, Score):
            self.prepare([placed.text for placed in scope])
        return self._judged(scope, trajectory)

    def _judged(self, scope: list[PlacedText] | Score, trajectory: Trajectory) -> Score:
        if isinstance(scope, Score):
            return scope
        if len(scope) == 1:
            return self.grade_text(scope[0], trajectory)
        scores = [self.grade_text(placed, trajectory) for placed in scope]
        return combined(scores, all_needed=self.config.turns == "all")

    def _scope(self, trajectory: Trajectory) -> list[PlacedText] | Score:
        config = self.config
        if config.turn is None and config.turns is None:
            if trajectory.output is None:
                return without_output(config.on_missing_output)
            return [PlacedText(trajectory.output, _message_of_output(trajectory))]
        spoken = [
            PlacedText(message.text, index)
            for index, message in enumerate(trajectory.messages)
            if message.role == "assistant" and message.text is not None and message.own_words
        ]
        if not spoken:
            if config.on_empty == "error":
                return error(ErrorType.MISSING_FIELD, NO_MESSAGES)
            return verdict(config.on_empty == "pass", NO_MESSAGES)
        if config.turn is not None:
            if config.turn >= len(spoken):
                message = f"turn {config.turn} asked for, but the transcript has fewer assistant messages"
                return error(ErrorType.TURN_OUT_OF_RANGE, message)
            return [spoken[config.turn]]
        if config.turns in ("first", "last"):
            return [spoken[0 if config.turns == "first" else -1]]
        return spoken


def combined(scores: Sequence[Score], *, all_needed: bool) -> Score:
    """The outcome of several texts: three-valued, as composites; without verdicts the worst or best score."""
    applying = [score for score in scores if score.status is not Status.SKIPPED]
    if not applying:
        return scores[0]
    deciding, resulting = (Status.FAIL, Status.PASS) if all_needed else (Status.PASS, Status.FAIL)
    for status in (deciding, Status.ERROR, resulting):
        found = [score for score in applying if score.status is status]
        if found:
            chosen = found[0]
            evidence = tuple(item for score in found for item in score.evidence)
            return replace(chosen, evidence=evidence)
    pick = min if all_needed else max
    return pick(applying, key=lambda score: score.score if score.score is not None else 0.0)


def _message_of_output(trajectory: Trajectory) -> int | None:
    """The last assistant message, where it is the output word by word."""
    for index in range(len(trajectory.messages) - 1, -1, -1):
        message = trajectory.messages[index]
        if message.role == "assistant" and message.text is not None:
            return index if message.text == trajectory.output else None
    return None
