"""`typed-judge`: a question with a typed answer: a yes-probability, one of several labels, or a place on a scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints, model_validator

from graders.judges.choice import Choice, Mistake
from graders.judges.judge_grader import JudgeConfig, JudgeGrader, verdict_status
from graders.judges.prompts import PROMPT_VERSION
from graders.judges.reply import number_in
from graders.taxonomy import Taxonomy
from schemas.score import Status

Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_CONFIDENCE = ("how sure you are, 0 to 1", {"type": "number", "minimum": 0, "maximum": 1})
_FIELDS = {
    "yes-probability": {"threshold"},
    "choice": {"choices", "expected", "min_confidence"},
    "ordinal": {"levels", "expected", "minimum", "maximum", "min_confidence"},
}


class TypedJudgeConfig(JudgeConfig):
    """A question and, by `kind`, what answers are offered and which of them pass.

    Without `expected`, `minimum` or `maximum` a choice or place passes nothing and fails nothing: the row is `scored`.
    """

    kind: Literal["yes-probability", "choice", "ordinal"]
    question: str = Field(min_length=1, max_length=2_000)
    threshold: float | None = Field(default=None, ge=0, le=1)
    """yes-probability: from which probability on it passes; 0.5 where nothing is said."""
    choices: dict[Label, str | None] | None = Field(default=None, min_length=2, max_length=255)
    """choice: label → what it means."""
    levels: list[Label] | None = Field(default=None, min_length=2, max_length=10)
    """ordinal: from rank 0 upwards."""
    expected: str | None = None
    minimum: str | None = None
    maximum: str | None = None
    min_confidence: float = Field(default=0.0, ge=0, le=1)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> TypedJudgeConfig:
        every = {name for names in _FIELDS.values() for name in names}
        for name in sorted((every - _FIELDS[self.kind]) & self.model_fields_set):
            raise ValueError(f'"{name}" does not belong to the kind {self.kind}')
        if self.kind == "yes-probability":
            return self
        what = "choices" if self.kind == "choice" else "levels"
        offered = self.choices if self.kind == "choice" else self.levels
        if offered is None:
            raise ValueError(f"the kind {self.kind} needs {what}")
        if len(set(offered)) != len(offered):
            raise ValueError("two levels are the same")
        bounds = [value for value in (self.expected, self.minimum, self.maximum) if value is not None]
        if len(bounds) > 1:
            raise ValueError("only one of expected, minimum and maximum may be given")
        if bounds and bounds[0] not in offered:
            raise ValueError(f'"{bounds[0]}" is none of the {what}')
        return self


class TypedJudge(JudgeGrader[TypedJudgeConfig]):
    """A typed answer. `label` is the chosen label or the nearest level.

    `native_score` is 0..100: the probability; the confidence in a right label, else 0; place / highest rank *
    confidence. `score` is 0..1 with higher better: for an ordinal `maximum` it falls with the place, for `expected`
    with the distance.
    """

    type = "typed-judge"
    config_model = TypedJudgeConfig
    version = PROMPT_VERSION
    taxonomy = Taxonomy(determinism="llm", cost="high", score_kind="llm", native_max=100.0)
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "choice",
        "question": "Which class is the reply?",
        "choices": {"safe": None, "pii": "names or numbers of private persons"},
        "expected": "safe",
        "min_confidence": 0.75,
    }

    @property
    def threshold(self) -> float | None:
        """On the native scale, where one number decides."""
        return 100.0 * self._yes_threshold if self.config.kind == "yes-probability" else None

    @property
    def _yes_threshold(self) -> float:
        return 0.5 if self.config.threshold is None else self.config.threshold

    @property
    def question(self) -> str:
        """The question and what is offered."""
        asked = f"Question: {self.config.question}"
        if self.config.kind == "yes-probability":
            return f"{asked}\n\nGive the probability that the answer is yes."
        if self.config.choices is not None:
            lines = [
                f"- {label}" if text is None else f"- {label}: {text}" for label, text in self.config.choices.items()
            ]
            return "\n".join([asked, "", "Choose exactly one of these labels:", *lines])
        lines = [f"- {rank}: {level}" for rank, level in enumerate(self.config.levels or ())]
        return "\n".join([asked, "", "Place it on this scale; values between two ranks are allowed:", *lines])

    @property
    def reply_fields(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """By kind: `probability`; `answer` and `confidence`; `value` and `confidence`."""
        if self.config.kind == "yes-probability":
            return {"probability": ("of yes, 0 to 1", {"type": "number", "minimum": 0, "maximum": 1})}
        if self.config.choices is not None:
            return {
                "answer": ("the label, as it is written above", {"type": "string", "enum": list(self.config.choices)}),
                "confidence": _CONFIDENCE,
            }
        top = len(self.config.levels or ()) - 1
        value = (f"a number from 0 to {top}", {"type": "number", "minimum": 0, "maximum": top})
        return {"value": value, "confidence": _CONFIDENCE}

    def read_choice(self, reply: dict[str, Any]) -> Choice | Mistake:
        """The typed answer, checked against what was offered."""
        if self.config.kind == "yes-probability":
            probability = number_in(reply["probability"], 0, 1, "probability")
            if isinstance(probability, Mistake):
                return probability
            passed = probability >= self._yes_threshold
            return Choice(verdict_status(passed), probability, 100 * probability)
        confidence = number_in(reply["confidence"], 0, 1, "confidence")
        if isinstance(confidence, Mistake):
            return confidence
        if self.config.choices is not None:
            return self._label(reply["answer"], confidence)
        return self._place(reply["value"], confidence)

    def _label(self, answer: Any, confidence: float) -> Choice | Mistake:
        if not isinstance(answer, str):
            return Mistake("wrong_type", '"answer" must be one of the labels')
        if answer not in (self.config.choices or ()):
            return Mistake("off_menu_level", '"answer" must be one of the labels, as it is written in the list')
        details = {"confidence": confidence}
        if self.config.expected is None:
            return Choice(Status.SCORED, confidence, 100 * confidence, answer, details=details)
        right = answer == self.config.expected
        score = confidence if right else 0.0
        passed = right and confidence >= self.config.min_confidence
        return Choice(verdict_status(passed), score, 100 * score, answer, details=details)

    def _place(self, given: Any, confidence: float) -> Choice | Mistake:
        levels = self.config.levels or []
        top = len(levels) - 1
        value = number_in(given, 0, top, "value")
        if isinstance(value, Mistake):
            return value
        nearest = int(value + 0.5)
        native = 100 * value / top * confidence
        details = {"value": value, "confidence": confidence}
        sure = confidence >= self.config.min_confidence
        if self.config.minimum is not None:
            passed, good = value >= levels.index(self.config.minimum), value / top
        elif self.config.maximum is not None:
            passed, good = value <= levels.index(self.config.maximum), 1 - value / top
        elif self.config.expected is not None:
            rank = levels.index(self.config.expected)
            passed, good = nearest == rank, 1 - abs(value - rank) / top
        else:
            return Choice(Status.SCORED, value / top * confidence, native, levels[nearest], details=details)
        return Choice(verdict_status(passed and sure), good * confidence, native, levels[nearest], details=details)
