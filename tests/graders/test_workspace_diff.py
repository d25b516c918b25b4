import json
from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one

DIFF = "--- a/x.py\n+++ b/x.py\n-old\n+new TODO\n"


def with_diff(diff: Any) -> Trajectory:
    return Trajectory(extra_json=json.dumps({"diff": diff}))


@pytest.mark.parametrize(
    ("config", "diff", "status"),
    [
        ({"type": "diff-contains", "value": "TODO"}, DIFF, "pass"),
        ({"type": "diff-contains", "value": "todo"}, DIFF, "fail"),
        ({"type": "diff-contains", "value": "todo", "case_sensitive": False}, DIFF, "pass"),
        ({"type": "diff-contains", "value": "TODO", "negate": True}, DIFF, "fail"),
        ({"type": "diff-contains", "pattern": r"(?m)^\+.*TODO$"}, DIFF, "pass"),
        ({"type": "diff-contains", "pattern": "^nothing"}, DIFF, "fail"),
        ({"type": "diff-contains", "value": "b", "turn": 1}, ["a", "b"], "pass"),
        ({"type": "diff-contains", "value": "a", "turn": 1}, ["a", "b"], "fail"),
        ({"type": "diff-contains", "value": "b"}, ["a", "b"], "pass"),
        ({"type": "diff-empty"}, "", "pass"),
        ({"type": "diff-empty"}, " \n", "pass"),
        ({"type": "diff-empty"}, DIFF, "fail"),
        ({"type": "diff-empty", "negate": True}, DIFF, "pass"),
        ({"type": "diff-empty", "turn": 0}, ["", "x"], "pass"),
    ],
)
def test_diffs(config: dict[str, Any], diff: Any, status: str) -> None:
    assert graded_one(config, with_diff(diff)).status.value == status


@pytest.mark.parametrize(
    ("config", "trajectory", "kind"),
    [
        ({}, Trajectory(), ErrorType.MISSING_FIELD),
        ({}, with_diff(None), ErrorType.MISSING_FIELD),
        ({}, with_diff({"a": 1}), ErrorType.MISSING_FIELD),
        ({"turn": 0}, with_diff("x"), ErrorType.MISSING_FIELD),
        ({"turn": 2}, with_diff(["a"]), ErrorType.TURN_OUT_OF_RANGE),
    ],
)
def test_a_missing_diff_is_an_error_also_when_negated(
    config: dict[str, Any], trajectory: Trajectory, kind: ErrorType
) -> None:
    for negate in (False, True):
        for extra in ({"type": "diff-empty"}, {"type": "diff-contains", "value": "x"}):
            assert graded_one({**extra, **config, "negate": negate}, trajectory).error_type is kind


def test_a_stopped_pattern_is_an_error_also_when_negated() -> None:
    config = {"type": "diff-contains", "pattern": r"^(a|aa)+$(?<=b)", "negate": True}
    assert graded_one(config, with_diff("a" * 60 + "!")).error_type is ErrorType.REGEX_RESOURCE_LIMIT


@pytest.mark.parametrize("config", [{}, {"pattern": "a", "value": "b"}, {"pattern": "("}, {"value": "a", "turn": -1}])
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "diff-contains", **config})
