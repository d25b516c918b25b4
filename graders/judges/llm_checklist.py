"""`llm-checklist`: the judge says of every item whether it is met; `all` of them or `any` one must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from graders.judges.choice import Choice, Mistake
from graders.judges.judge_grader import JudgeConfig, JudgeGrader, verdict_status
from graders.judges.prompts import PROMPT_VERSION, object_schema
from graders.taxonomy import Taxonomy


class LlmChecklistConfig(JudgeConfig):
    """Items, each a requirement with a yes or no."""

    items: list[str] = Field(min_length=1, max_length=100)
    match: Literal["all", "any"] = "all"

    @field_validator("items")
    @classmethod
    def _distinct(cls, items: list[str]) -> list[str]:
        if any(not item.strip() for item in items):
            raise ValueError("an item is blank")
        if len(set(items)) != len(items):
            raise ValueError("two items are the same")
        return items


class LlmChecklist(JudgeGrader[LlmChecklistConfig]):
    """`native_score` is the number of items met, `score` their share; `details_json` has each item's answer."""

    type = "llm-checklist"
    config_model = LlmChecklistConfig
    version = PROMPT_VERSION
    taxonomy = Taxonomy(determinism="llm", cost="high", score_kind="llm")
    example: ClassVar[Mapping[str, Any]] = {"items": ["greets the customer", "cites the policy"], "match": "all"}

    @property
    def question(self) -> str:
        """The numbered items."""
        items = "\n".join(f"{number}. {item}" for number, item in enumerate(self.config.items, 1))
        return f"Decide for each of these items, on its own, whether the evidence meets it:\n{items}"

    @property
    def reply_fields(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """`items`, one object an item."""
        count = len(self.config.items)
        item = object_schema({"item": {"type": "integer", "minimum": 1, "maximum": count}, "met": {"type": "boolean"}})
        schema = {"type": "array", "items": item, "minItems": count, "maxItems": count}
        return {"items": (f'a list of {count} objects {{"item": its number, "met": true or false}}', schema)}

    def read_choice(self, reply: dict[str, Any]) -> Choice | Mistake:
        """An answer for every item and for no other."""
        met = self._answers(reply["items"])
        if isinstance(met, Mistake):
            return met
        passed = all(met) if self.config.match == "all" else any(met)
        return Choice(
            status=verdict_status(passed),
            score=sum(met) / len(met),
            native_score=float(sum(met)),
            details={"items": [{"item": item, "met": one} for item, one in zip(self.config.items, met, strict=True)]},
        )

    def _answers(self, given: Any) -> list[bool] | Mistake:
        count = len(self.config.items)
        if not isinstance(given, list):
            return Mistake("wrong_type", '"items" must be a list')
        if all(isinstance(one, bool) for one in given) and given:
            if len(given) < count:
                return Mistake("missing_item", f'"items" must have {count} answers, in order')
            return given if len(given) == count else Mistake("extra_item", f'"items" must have {count} answers')
        answers: dict[int, bool] = {}
        for one in given:
            if not isinstance(one, dict) or one.keys() != {"item", "met"}:
                return Mistake("wrong_type", '"items" must hold objects with "item" and "met" alone')
            number, met = one["item"], one["met"]
            if isinstance(number, bool) or not isinstance(number, int):
                kind = "number_as_text" if isinstance(number, str) else "wrong_type"
                return Mistake(kind, '"item" must be the number of an item')
            if not isinstance(met, bool):
                return Mistake("wrong_type", '"met" must be true or false')
            if not 1 <= number <= count:
                return Mistake("extra_item", f'"item" must be between 1 and {count}')
            if number in answers:
                kind = "contradiction" if answers[number] != met else "extra_item"
                return Mistake(kind, f"item {number} is answered twice")
            answers[number] = met
        for number in range(1, count + 1):
            if number not in answers:
                return Mistake("missing_item", f"item {number} is not answered")
        return [answers[number] for number in range(1, count + 1)]
