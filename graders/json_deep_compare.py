"""`json-deep-compare`: how many leaves of an expected JSON document the output holds, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar, Literal

from pydantic import Field, field_serializer, model_validator

from graders.grader import RowGrader
from graders.json_output import JsonOutputConfig, json_output, without_reference
from graders.json_values import ABSENT, JsonTooLarge, NotJson, decode_json, encode, same, storable_json
from graders.taxonomy import Taxonomy
from schemas.score import ErrorType, Score, error, verdict
from schemas.text import bounded
from schemas.trajectory import Trajectory

_MOST_DIFFERENCES = 50
_LONGEST_SHOWN = 100


class JsonDeepCompareConfig(JsonOutputConfig):
    """The expected document and what share of its leaves is enough."""

    expected: dict[str, Any] | list[Any] | None = None
    """Absent: the trajectory's reference, decoded as JSON."""
    scale: Literal[1, 100] = 1
    """The native scale, in which `threshold` and `native_score` are."""
    threshold: float | None = None
    """Inclusive; absent means every leaf."""
    round_digits: int | None = Field(default=None, ge=0, le=15)
    """Round the native score to so many digits before it is compared (Aludel: 1)."""
    missing_is_null: bool = False
    """Whether a leaf that the output lacks counts as null."""
    on_missing_reference: Literal["error", "fail", "skip"] = "skip"

    @field_serializer("expected")
    def _storable(self, expected: Any) -> Any:
        return storable_json(expected)

    @model_validator(mode="after")
    def _threshold_on_scale(self) -> JsonDeepCompareConfig:
        if self.threshold is not None and not 0 <= self.threshold <= self.scale:
            raise ValueError(f"threshold must lie between 0 and {self.scale}")
        return self


class JsonDeepCompare(RowGrader[JsonDeepCompareConfig]):
    """Objects are compared by key, arrays by position; what the output has beyond the expected document is ignored.

    Leaves are scalars and empty objects or arrays of the expected document. The score is the share that agrees.
    """

    type = "json-deep-compare"
    config_model = JsonDeepCompareConfig
    taxonomy = Taxonomy(reference="reference-based")
    example: ClassVar[Mapping[str, Any]] = {"expected": {"status": "ok", "items": [{"sku": "A-1"}]}, "threshold": 0.5}

    def __init__(self, config: JsonDeepCompareConfig) -> None:
        super().__init__(config)
        # The scale is this configuration's, not the type's.
        self.taxonomy = replace(type(self).taxonomy, native_max=float(config.scale))  # type: ignore[misc]

    @property
    def threshold(self) -> float:
        """On the native scale."""
        return float(self.config.scale) if self.config.threshold is None else self.config.threshold

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Count the leaves that agree."""
        expected, outcome = self._expected(trajectory)
        if outcome is not None:
            return outcome
        actual, outcome = json_output(trajectory, self.config)
        if outcome is not None:
            return outcome
        matches = total = 0
        differences: list[dict[str, str | None]] = []
        for path, wanted, found in _leaves(expected, actual, ""):
            total += 1
            missing = found is ABSENT
            if missing and self.config.missing_is_null:
                found = None
            if found is not ABSENT and same(wanted, found):
                matches += 1
            elif len(differences) < _MOST_DIFFERENCES:
                differences.append(
                    {"path": path or "$", "expected": _shown(wanted), "actual": None if missing else _shown(found)}
                )
        native = self.config.scale * matches / total
        if self.config.round_digits is not None:
            native = _rounded(native, self.config.round_digits)
        return verdict(
            native >= self.threshold,
            f"{matches} of {total} leaves are as expected",
            score=native / self.config.scale,
            native_score=native,
            details={"matches": matches, "total": total, "differences": differences},
        )

    def _expected(self, trajectory: Trajectory) -> tuple[Any, Score | None]:
        if self.config.expected is not None:
            return self.config.expected, None
        if trajectory.reference is None:
            return None, without_reference(self.config.on_missing_reference)
        try:
            return decode_json(trajectory.reference, self.config.json_fences), None
        except (NotJson, JsonTooLarge):
            return None, error(ErrorType.MISSING_REFERENCE, "the reference is not JSON that can be read")


def _leaves(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Every leaf of `expected`: its path, its value, and what `actual` has there (`ABSENT` for nothing)."""
    if isinstance(expected, dict) and expected:
        inside = actual if isinstance(actual, dict) else {}
        for key, value in expected.items():
            yield from _leaves(value, inside.get(key, ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and expected:
        items = actual if isinstance(actual, list) else []
        for index, value in enumerate(expected):
            yield from _leaves(value, items[index] if index < len(items) else ABSENT, f"{path}[{index}]")
    else:
        yield path, expected, actual


def _rounded(value: float, digits: int) -> float:
    """Halves away from zero, as Elixir rounds."""
    return float(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))


def _shown(value: Any) -> str:
    return bounded(encode(value), _LONGEST_SHOWN)
