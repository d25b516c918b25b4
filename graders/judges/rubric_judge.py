"""`rubric-judge`: the judge gives a number on a scale by a rubric or one of seven templates; a threshold decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import Field, model_validator

from graders.judges.choice import Answer, Choice, Failure, Mistake
from graders.judges.evidence import EvidenceKind
from graders.judges.judge_grader import JudgeConfig, JudgeGrader, row_of, verdict_status
from graders.judges.prompts import PROMPT_VERSION
from graders.judges.reply import number_in
from graders.judges.templates import TEMPLATES, TemplateName
from graders.taxonomy import Taxonomy
from schemas.score import Score, Status
from schemas.trajectory import Trajectory


class RubricConfig(JudgeConfig):
    """Exactly one of `rubric` and `template`; a scale and a threshold on it."""

    rubric: str | None = Field(default=None, max_length=8_000)
    template: TemplateName | None = None
    scale_min: float = Field(default=0.0, allow_inf_nan=False)
    scale_max: float = Field(default=100.0, allow_inf_nan=False)
    whole_numbers: bool = False
    """Whether the score must be an integer."""
    score_field: str = Field(default="score", pattern=r"^[a-z][a-z0-9_]{0,39}$")
    """The reply's field that holds the score."""
    threshold: float | None = Field(default=80.0, allow_inf_nan=False)
    """On the scale; None: the row is `scored`."""

    @model_validator(mode="after")
    def _consistent(self) -> RubricConfig:
        if (self.rubric is None) == (self.template is None):
            raise ValueError("exactly one of rubric and template is needed")
        if self.rubric is not None and not self.rubric.strip():
            raise ValueError("rubric is blank")
        if self.scale_min >= self.scale_max:
            raise ValueError("scale_min must be below scale_max")
        if self.threshold is not None and not self.scale_min <= self.threshold <= self.scale_max:
            raise ValueError(f"threshold {self.threshold:g} lies outside {self.scale_min:g}..{self.scale_max:g}")
        if self.score_field == "reasoning":
            raise ValueError('score_field can\'t be "reasoning"')
        return self


RubricConfigT = TypeVar("RubricConfigT", bound=RubricConfig)


class RubricGrader(JudgeGrader[RubricConfigT]):
    """What `rubric-judge` and `panel` share: the question and the reading of one reply."""

    @property
    def rubric(self) -> str:
        """The rubric's text."""
        if self.config.template is not None:
            return TEMPLATES[self.config.template].rubric
        assert self.config.rubric is not None
        return self.config.rubric

    @property
    def evidence_kinds(self) -> Sequence[EvidenceKind]:
        """The suite's choice, else the template's, else input, output and what the configuration itself gives."""
        if self.config.evidence is not None:
            return self.config.evidence
        if self.config.template is not None:
            return TEMPLATES[self.config.template].evidence
        given: list[EvidenceKind] = []
        if self.config.reference is not None:
            given.append("reference")
        if self.config.context is not None:
            given.append("context")
        return (*self.default_evidence, *given)

    @property
    def question(self) -> str:
        """The rubric and the scale."""
        low, high = self.config.scale_min, self.config.scale_max
        kind = "an integer" if self.config.whole_numbers else "a number"
        text = f"Rubric: {self.rubric}\n\nGive {kind} from {low:g} (worst) to {high:g} (best)."
        if self.config.template is None or (low, high) == (0.0, 100.0):
            return text
        return f"{text} The rubric speaks of 0 to 100: carry its marks over to this scale."

    @property
    def reply_fields(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """The score."""
        low, high = self.config.scale_min, self.config.scale_max
        schema = {"type": "integer" if self.config.whole_numbers else "number", "minimum": low, "maximum": high}
        return {self.config.score_field: (f"your number, {low:g} to {high:g}", schema)}

    def read_choice(self, reply: dict[str, Any]) -> Choice | Mistake:
        """A number on the scale."""
        name = self.config.score_field
        low, high = self.config.scale_min, self.config.scale_max
        native = number_in(reply[name], low, high, name)
        if isinstance(native, Mistake):
            return native
        if self.config.whole_numbers and native != int(native):
            return Mistake("off_menu_level", f'"{name}" must be an integer')
        threshold = self.config.threshold
        return Choice(
            status=Status.SCORED if threshold is None else verdict_status(native >= threshold),
            score=(native - low) / (high - low),
            native_score=native,
        )

    @property
    def template_details(self) -> dict[str, Any]:
        """Which template in which version, for the row."""
        if self.config.template is None:
            return {}
        return {"template": self.config.template, "template_version": TEMPLATES[self.config.template].version}


class RubricJudge(RubricGrader[RubricConfig]):
    """Score by a rubric."""

    type = "rubric-judge"
    config_model = RubricConfig
    version = PROMPT_VERSION
    taxonomy = Taxonomy(determinism="llm", cost="high", score_kind="llm", native_max=100.0)
    example: ClassVar[Mapping[str, Any]] = {"template": "relevance", "threshold": 80}

    def verdict(self, trajectory: Trajectory, answers: Sequence[Answer]) -> Score:
        """The row, with the template that it was judged by."""
        answer = answers[0]
        details = {} if isinstance(answer.outcome, Failure) else answer.outcome.details
        return row_of(answer.outcome, answers, {**details, **self.template_details})
