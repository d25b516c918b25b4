import json
from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one

METRICS = {"coverage": 0.8, "builds": True, "branch": "main", "nested": {"p95": 12}, "a.b": 1}


def asserted(*assertions: dict[str, Any], metrics: Any = METRICS) -> Any:
    config = {"type": "custom-metrics", "assertions": list(assertions)}
    return graded_one(config, Trajectory(extra_json=json.dumps({"custom_metrics": metrics})))


@pytest.mark.parametrize(
    ("assertion", "holds"),
    [
        ({"metric": "coverage", "min": 0.8}, True),
        ({"metric": "coverage", "above": 0.8}, False),
        ({"metric": "coverage", "max": 0.9, "min": 0.5}, True),
        ({"metric": "coverage", "below": 0.8}, False),
        ({"metric": "coverage", "equals": 0.8}, True),
        ({"metric": "coverage", "not_equals": 0.8}, False),
        ({"metric": "builds", "equals": True}, True),
        ({"metric": "builds", "equals": 1}, False),
        ({"metric": "builds", "min": 0.0}, False),
        ({"metric": "branch", "equals": "main"}, True),
        ({"metric": "branch", "min": 1.0}, False),
        ({"metric": "nested.p95", "max": 20.0}, True),
        ({"metric": "a.b", "equals": 1}, True),
    ],
)
def test_assertions(assertion: dict[str, Any], holds: bool) -> None:
    assert asserted(assertion).passed is holds
    assert asserted(assertion, metrics={"values": METRICS}).passed is holds


def test_the_score_is_the_share_that_holds() -> None:
    outcome = asserted({"metric": "coverage", "min": 0.9}, {"metric": "builds", "equals": True})
    assert (outcome.passed, outcome.score) == (False, 0.5)
    assert outcome.details == {"failed": ["coverage"], "missing": []}


def test_a_missing_metric_is_an_error_unless_another_fails() -> None:
    missing = {"metric": "speed", "min": 1.0}
    assert asserted(missing, {"metric": "builds", "equals": True}).error_type is ErrorType.MISSING_FIELD
    assert asserted(missing, {"metric": "builds", "equals": False}).passed is False
    assert asserted(missing, metrics=None).error_type is ErrorType.MISSING_FIELD
    assert asserted({"metric": "x.y", "min": 1.0}, metrics={"x": None}).error_type is ErrorType.MISSING_FIELD


@pytest.mark.parametrize("assertions", [[], [{"metric": "a"}], [{"min": 1.0}], [{"metric": "a", "least": 1}]])
def test_refuses_a_configuration(assertions: list[Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "custom-metrics", "assertions": assertions})
