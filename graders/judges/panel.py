"""`panel`: the same rubric put to several routes; a failed judge is left out, the spread of the others is reported."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from graders.judges.choice import Answer, Choice, Failure
from graders.judges.judge_grader import DEFAULT_ROUTE, row_of, verdict_status
from graders.judges.prompts import PROMPT_VERSION
from graders.judges.rubric_judge import RubricConfig, RubricGrader
from graders.taxonomy import Taxonomy
from schemas.score import Score, Status
from schemas.trajectory import Trajectory

MAX_REASONING = 400
_COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
}


class PanelConfig(RubricConfig):
    """Routes (the same one several times asks it for several votes) and how their scores become one."""

    routes: list[str] = Field(min_length=1, max_length=20)
    aggregation: Literal["mean", "median", "min", "majority"] = "mean"
    """`majority`: more than half of the answering judges pass; its score is their share."""
    min_judges: int = Field(default=1, ge=1)
    """With fewer answering judges the row is an error."""

    @model_validator(mode="after")
    def _one_way_of_naming_routes(self) -> PanelConfig:
        if self.route != DEFAULT_ROUTE:
            raise ValueError("a panel names its routes in routes, not in route")
        if self.min_judges > len(self.routes):
            raise ValueError(f"min_judges is {self.min_judges}, but there are {len(self.routes)} routes")
        if self.aggregation == "majority" and self.threshold is None:
            raise ValueError("majority needs a threshold")
        return self


class Panel(RubricGrader[PanelConfig]):
    """Several judges, one row. `details_json` has each judge's score or error, and the spread."""

    type = "panel"
    config_model = PanelConfig
    version = PROMPT_VERSION
    taxonomy = Taxonomy(determinism="llm", cost="high", score_kind="llm", native_max=100.0)
    example: ClassVar[Mapping[str, Any]] = {
        "template": "relevance",
        "routes": ["small", "large"],
        "aggregation": "median",
    }

    @property
    def routes(self) -> Sequence[str]:
        """One question a route."""
        return self.config.routes

    def verdict(self, trajectory: Trajectory, answers: Sequence[Answer]) -> Score:
        """The row of the judges that answered; an error where too few did."""
        choices = [answer.outcome for answer in answers if isinstance(answer.outcome, Choice)]
        details: dict[str, Any] = {"judges": [_judge_details(answer) for answer in answers], **self.template_details}
        if len(choices) < self.config.min_judges:
            failures = [answer.outcome for answer in answers if isinstance(answer.outcome, Failure)]
            message = f"{len(choices)} of {len(answers)} judges answered: {failures[0].message}"
            return row_of(Failure(failures[0].error_type, failures[0].kind, message), answers, details)
        natives = [choice.native_score for choice in choices if choice.native_score is not None]
        details["spread"] = max(natives) - min(natives)
        details["answered"] = len(choices)
        return row_of(self._together(choices, natives), answers, details)

    def _together(self, choices: Sequence[Choice], natives: Sequence[float]) -> Choice:
        low, high, threshold = self.config.scale_min, self.config.scale_max, self.config.threshold
        reasoning = "\n".join(choice.reasoning[:MAX_REASONING] for choice in choices if choice.reasoning) or None
        if self.config.aggregation == "majority":
            share = sum(choice.status is Status.PASS for choice in choices) / len(choices)
            return Choice(verdict_status(share > 0.5), share, statistics.fmean(natives), reasoning=reasoning)
        native = float(_COMBINE[self.config.aggregation](natives))
        status = Status.SCORED if threshold is None else verdict_status(native >= threshold)
        return Choice(status, (native - low) / (high - low), native, reasoning=reasoning)


def _judge_details(answer: Answer) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "route": answer.request.route,
        "repeat": answer.request.repeat,
        "attempts": answer.attempts,
    }
    outcome = answer.outcome
    if isinstance(outcome, Failure):
        shown.update(error_type=outcome.error_type.value, kind=outcome.kind, message=outcome.message)
    else:
        shown.update(status=outcome.status.value, native_score=outcome.native_score)
    shown.update(cached=answer.cached, model=answer.model, response_id=answer.response_id, **answer.notes)
    return {key: value for key, value in shown.items() if value is not None}
