"""`json-field`: one field of a JSON output, by path, compared with an expected value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from graders.errors import ConfigError
from graders.grader import RowGrader
from graders.json_output import JsonOutputConfig, json_output
from graders.json_path import InvalidPath, JsonPath, PathLimit, parse_path
from graders.json_values import ABSENT, encode, same, same_encoded, storable_json
from schemas.score import ErrorType, Score, error, verdict
from schemas.text import bounded
from schemas.trajectory import Trajectory

_LONGEST_SHOWN = 200


class JsonFieldConfig(JsonOutputConfig):
    """Where to look and what to find there: exactly one of `expected`, `exists`, or `minimum` and/or `maximum`."""

    path: str = Field(min_length=1)
    """`a.b[0]`, or JSONPath from `$`; with `path_style: keys` just keys between dots."""
    path_style: Literal["path", "keys"] = "path"
    """`keys`: every part is an object's key; looking for one in an array or a scalar is an error (as in Aludel)."""
    expected: Any = None
    """Any JSON value, null included."""
    exists: bool | None = None
    """Whether the field has to be there (null is there)."""
    minimum: float | None = None
    maximum: float | None = None
    missing_is_null: bool = False
    """Whether a path that leads nowhere counts as null."""
    container_comparison: Literal["typed", "encoded"] = "typed"
    """`encoded` compares arrays and objects by their re-encoded text: 1 and 1.0 differ inside."""
    match: Literal["any", "all"] = "any"
    """Of the values that a JSONPath leads to, how many have to agree. `all` of none fails."""

    @property
    def has_expected(self) -> bool:
        """Whether `expected` was given, if only as null."""
        return "expected" in self.model_fields_set

    @model_validator(mode="after")
    def _one_question(self) -> JsonFieldConfig:
        bounds = self.minimum is not None or self.maximum is not None
        if [self.has_expected, self.exists is not None, bounds].count(True) != 1:
            raise ValueError("give exactly one of expected, exists, or minimum and maximum")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("minimum is above maximum: nothing can pass")
        return self

    @model_serializer(mode="wrap")
    def _keep_expected_null(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An expected null is not the same configuration as no expectation, so it stays when defaults are left out."""
        values: dict[str, Any] = handler(self)
        if self.has_expected:
            values["expected"] = storable_json(self.expected)
        else:
            values.pop("expected", None)
        return values


class JsonField(RowGrader[JsonFieldConfig]):
    """Passes when the field holds what is expected, compared with its type."""

    type = "json-field"
    config_model = JsonFieldConfig
    example: ClassVar[Mapping[str, Any]] = {"path": "order.items[0].sku", "expected": "A-1"}

    def __init__(self, config: JsonFieldConfig) -> None:
        super().__init__(config)
        self._keys = tuple(config.path.split("."))
        self._path: JsonPath | None = None
        if config.path_style == "path":
            try:
                self._path = parse_path(config.path)
            except InvalidPath as problem:
                raise ConfigError(str(problem), ("path",)) from None

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Decode, follow the path, compare."""
        document, outcome = json_output(trajectory, self.config)
        if outcome is not None:
            return outcome
        if self._path is None:
            found, outcome = _by_keys(document, self._keys)
            if outcome is not None:
                return outcome
        else:
            try:
                found = self._path.find(document)
            except PathLimit as problem:
                return error(ErrorType.SCHEMA_RESOURCE_LIMIT, str(problem))
        if not found:
            return self._missing()
        agreeing = [self._agrees(value) for value in found]
        passed = any(agreeing) if self.config.match == "any" else all(agreeing)
        shown = _shown(found[0] if len(found) == 1 else found)
        return verdict(
            passed,
            f"{self.config.path} is {shown}" + ("" if passed else f", not {self._wanted()}"),
            details={"actual": shown},
        )

    def _missing(self) -> Score:
        if self.config.exists is not None:
            return verdict(not self.config.exists, f"{self.config.path} is missing")
        if self.config.missing_is_null and self.config.has_expected:
            return verdict(self.config.expected is None, f"{self.config.path} is missing, which counts as null")
        return verdict(False, f"{self.config.path} is missing")

    def _agrees(self, value: Any) -> bool:
        config = self.config
        if config.exists is not None:
            return config.exists
        if config.has_expected:
            return (same if config.container_comparison == "typed" else same_encoded)(config.expected, value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return (config.minimum is None or value >= config.minimum) and (
            config.maximum is None or value <= config.maximum
        )

    def _wanted(self) -> str:
        config = self.config
        if config.exists is not None:
            return "to be there" if config.exists else "absent"
        if config.has_expected:
            return _shown(config.expected)
        bounds = [("at least", config.minimum), ("at most", config.maximum)]
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


def _by_keys(document: Any, keys: tuple[str, ...]) -> tuple[list[Any], Score | None]:
    value = document
    for key in keys:
        if value is None or value is ABSENT:
            return [], None
        if not isinstance(value, dict):
            kind = "an array" if isinstance(value, list) else "a scalar"
            return [], error(ErrorType.MISSING_FIELD, f"the path looks for a key in {kind}")
        value = value.get(key, ABSENT)
    return ([] if value is ABSENT else [value]), None


def _shown(value: Any) -> str:
    return bounded(encode(value), _LONGEST_SHOWN)
