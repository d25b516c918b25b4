"""`custom-metrics`: assertions over the numbers, truth values and texts that the log carries as `custom_metrics`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from graders.grader import GraderConfig, RowGrader
from graders.json_values import ABSENT, same
from graders.run_metrics import extra_of
from schemas.score import ErrorType, Score, error, verdict
from schemas.trajectory import Trajectory

Scalar = bool | int | float | str


class MetricAssertion(GraderConfig):
    """What one metric has to be; every condition given has to hold."""

    metric: str = Field(min_length=1)
    """The metric's name; dots lead into objects where no metric has the whole name."""
    equals: Scalar | None = None
    not_equals: Scalar | None = None
    min: float | None = None
    """Inclusive, as is `max`."""
    max: float | None = None
    above: float | None = None
    """Exclusive, as is `below`."""
    below: float | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> MetricAssertion:
        if not self.model_fields_set - {"metric"}:
            raise ValueError("give one of equals, not_equals, min, max, above and below")
        return self

    @model_serializer(mode="wrap")
    def _short(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Conditions that are not given are left out, so that an assertion reads as it was written."""
        values: dict[str, Any] = handler(self)
        return {name: value for name, value in values.items() if value is not None}


class CustomMetricsConfig(GraderConfig):
    """The assertions."""

    assertions: list[MetricAssertion] = Field(min_length=1)


class CustomMetrics(RowGrader[CustomMetricsConfig]):
    """Passes when every assertion holds. The score is the share that holds.

    A metric that the log lacks leaves its assertion open: an error, unless another assertion fails anyway.
    """

    type = "custom-metrics"
    config_model = CustomMetricsConfig
    example: ClassVar[Mapping[str, Any]] = {"assertions": [{"metric": "coverage", "min": 0.8}]}

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Check each assertion."""
        metrics = extra_of(trajectory.extra_json).get("custom_metrics")
        if isinstance(metrics, dict) and isinstance(metrics.get("values"), dict):
            metrics = metrics["values"]
        if not isinstance(metrics, dict):
            return error(ErrorType.MISSING_FIELD, "the log carries no custom metrics")
        failed, missing = [], []
        for assertion in self.config.assertions:
            value = _lookup(metrics, assertion.metric)
            if value is ABSENT or value is None:
                missing.append(assertion.metric)
            elif not _holds(assertion, value):
                failed.append(assertion.metric)
        details = {"failed": failed, "missing": missing}
        total = len(self.config.assertions)
        if missing and not failed:
            return error(ErrorType.MISSING_FIELD, f"the log lacks the metric {missing[0]}", details=details)
        if failed:
            score = None if missing else (total - len(failed)) / total
            return verdict(False, f"not as asserted: {', '.join(failed)}", score=score, details=details)
        return verdict(True, f"all {total} assertions hold")


def _lookup(metrics: Any, name: str) -> Any:
    if name in metrics:
        return metrics[name]
    for part in name.split("."):
        if not isinstance(metrics, dict) or part not in metrics:
            return ABSENT
        metrics = metrics[part]
    return metrics


def _holds(assertion: MetricAssertion, value: Any) -> bool:
    if assertion.equals is not None and not same(assertion.equals, value):
        return False
    if assertion.not_equals is not None and same(assertion.not_equals, value):
        return False
    bounds = (assertion.min, assertion.max, assertion.above, assertion.below)
    if all(bound is None for bound in bounds):
        return True
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    least, most, above, below = bounds
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )
