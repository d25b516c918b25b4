"""`json-schema`: the final output is JSON and valid against a schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import orjson
from pydantic import Field, field_serializer, field_validator

from graders.errors import ConfigError, Problem
from graders.evidence import marked
from graders.grade_batch import GradeBatch, from_scores
from graders.grader import Grader
from graders.json_output import JsonOutputConfig, without_output
from graders.json_validation import CompiledSchema, Open, Violation, compile_schema, validate_all
from graders.json_validation.drafts import DraftName, named_by
from graders.json_validation.validating import DEPTH_LIMIT
from graders.json_values import JsonTooLarge, NotJson, decode_json
from graders.taxonomy import Taxonomy
from graders.text_config import LimitsConfig, match_limits
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, error, verdict
from schemas.text import bounded

_MAX_SHOWN_VALUE = 80


class JsonSchemaConfig(JsonOutputConfig):
    """A schema and by which rules it is read."""

    schema_: Any = Field(alias="schema")
    """The schema: an object, a boolean, or either as JSON text."""
    draft: DraftName | None = None
    """By whose rules; where it is not given, the draft that `$schema` names, else draft 7."""
    format: Literal["ignore", "assert"] = "ignore"
    """Whether `format` is checked or only says something."""
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    """Lower limits than the system's for each match of a `pattern`."""

    @field_validator("schema_", mode="before")
    @classmethod
    def _decoded(cls, value: Any) -> Any:
        if not isinstance(value, str):
            _refuse_what_json_has_not(value)
            return value
        try:
            return decode_json(value)
        except (NotJson, JsonTooLarge) as problem:
            raise ValueError(f"the schema is text, but {problem}") from None

    @field_serializer("schema_")
    def _storable(self, value: Any) -> Any:
        try:
            orjson.dumps(value)
        except TypeError:
            return json.dumps(value, sort_keys=True)
        return value


class JsonSchema(Grader[JsonSchemaConfig]):
    """Passes when the output parses as JSON (RFC 8259) and the schema accepts it. References are never fetched."""

    type = "json-schema"
    config_model = JsonSchemaConfig
    taxonomy = Taxonomy(determinism="complex-static", temporal_scope="point-in-time")
    example: ClassVar[Mapping[str, Any]] = {
        "schema": {
            "type": "object",
            "required": ["id", "severity"],
            "properties": {
                "id": {"type": "string", "pattern": "^BUG-[0-9]{4}$"},
                "severity": {"enum": ["low", "medium", "high"]},
            },
            "additionalProperties": False,
        }
    }

    def __init__(self, config: JsonSchemaConfig) -> None:
        super().__init__(config)
        named = named_by(config.schema_)
        self._draft: DraftName = config.draft or named or "7"
        try:
            self._schema: CompiledSchema = compile_schema(
                config.schema_,
                self._draft,
                assert_formats=config.format == "assert",
                limits=match_limits(config.limits),
            )
        except ConfigError as problems:
            raise ConfigError(_below_schema(problems.problems)) from None

    def warnings(self) -> Sequence[Problem]:
        """Unknown and ignored keywords, and a `$schema` that the configuration overrules."""
        found = _below_schema(self._schema.warnings)
        uri = self.config.schema_.get("$schema") if isinstance(self.config.schema_, dict) else None
        if uri is not None and named_by(self.config.schema_) != self._draft:
            message = f"the schema is read by draft {self._draft}, not by what $schema names"
            found.append(Problem(("schema", "$schema"), message, "give `draft`", warning=True))
        return found

    def explain(self) -> Sequence[str]:
        """The draft, and the tier of each pattern."""
        tiers = [f"pattern {i}: {p.tier}: {p.tier_reason}" for i, p in enumerate(self._schema.patterns)]
        return (f"draft {self._draft}", *tiers)

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Decode every output, then judge all of them together."""
        outcomes: list[Score | None] = []
        values: list[Any] = []
        for text in batch.column("output").to_pylist():
            value, score = self._decoded(text)
            outcomes.append(score)
            if score is None:
                values.append(value)
        judged = zip(values, validate_all(self._schema, values), strict=True)
        return from_scores([self._score(*next(judged)) if score is None else score for score in outcomes])

    def _decoded(self, text: str | None) -> tuple[Any, Score | None]:
        if text is None:
            return None, without_output(self.config.on_missing_output)
        try:
            return decode_json(text, self.config.json_fences), None
        except NotJson as problem:
            details = {"pointer": "", "keyword": "json"}
            return None, verdict(False, marked(False, f"output is {problem}"), details=details)
        except JsonTooLarge as problem:
            message = f"the output can't be read as JSON: {problem}"
            return None, error(ErrorType.SCHEMA_RESOURCE_LIMIT, message, details={"limit": "json_size"})

    def _score(self, value: Any, outcome: Violation | Open | None) -> Score:
        if outcome is None:
            return _VALID
        if isinstance(outcome, Violation):
            return self._refused(value, outcome)
        if outcome is DEPTH_LIMIT:
            message = "the schema's references lead too deep or too often"
            return error(ErrorType.SCHEMA_RESOURCE_LIMIT, message, details={"limit": outcome.limit})
        message = f"the match of a pattern in the schema was stopped by its limit {outcome.limit}"
        return error(ErrorType.REGEX_RESOURCE_LIMIT, message, details={"limit": outcome.limit})

    def _refused(self, value: Any, violation: Violation) -> Score:
        place = violation.pointer
        for step in reversed(violation.path):
            value = value[step]
        shown = bounded(json.dumps(value, ensure_ascii=False), _MAX_SHOWN_VALUE)
        where = f"at {bounded(place, 200)}" if place else "as a whole"
        sentence = f'output does not satisfy "{violation.keyword}" {where}: {shown}'
        return verdict(False, marked(False, sentence), details={"pointer": place, "keyword": violation.keyword})


_VALID = verdict(True, marked(True, "output is valid against the schema"))


def _refuse_what_json_has_not(value: Any) -> None:
    """Refuse values that YAML makes and JSON does not have: a date in the schema would equal no text of an output."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"the schema has the key {key!r}, which is no text; quote it")
            _refuse_what_json_has_not(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_what_json_has_not(item)
    elif value is not None and type(value) not in (str, bool, int, float):
        raise ValueError(f"the schema holds a {type(value).__name__}, which JSON does not have; quote it")
    elif type(value) is float and not math.isfinite(value):
        raise ValueError(f"the schema holds {value}, which JSON does not have")


def _below_schema(problems: Sequence[Problem]) -> list[Problem]:
    return [problem.below("schema") for problem in problems]
