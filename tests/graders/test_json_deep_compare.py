from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one

NESTED = {"a": {"b": 1, "c": 2}, "d": [1, 2]}


@pytest.mark.parametrize(
    ("expected", "output", "score", "matches", "total"),
    [
        (NESTED, '{"a":{"b":1,"c":2},"d":[1,2],"more":1}', 1.0, 4, 4),
        (NESTED, '{"a":{"b":1}}', 0.25, 1, 4),
        (NESTED, "[]", 0.0, 0, 4),
        ([1, 2], "[2,1]", 0.0, 0, 2),
        ([1, 2], "[1,2,3]", 1.0, 2, 2),
        ({"x": {}}, '{"x":{}}', 1.0, 1, 1),
        ({"x": {}}, '{"x":{"y":1}}', 0.0, 0, 1),
        ({"x": []}, '{"x":null}', 0.0, 0, 1),
        ({"n": 1}, '{"n":1.0}', 1.0, 1, 1),
        ({"n": 1}, '{"n":true}', 0.0, 0, 1),
        ({"n": None}, "{}", 0.0, 0, 1),
        ({}, "{}", 1.0, 1, 1),
        ({}, "[]", 0.0, 0, 1),
    ],
)
def test_counts_leaves(expected: Any, output: str, score: float, matches: int, total: int) -> None:
    outcome = graded_one({"type": "json-deep-compare", "expected": expected}, Trajectory(output=output))
    assert outcome.score == pytest.approx(score)
    assert outcome.passed is (score == 1.0)
    assert outcome.details is not None
    assert (outcome.details["matches"], outcome.details["total"]) == (matches, total)


def test_names_the_differences() -> None:
    outcome = graded_one({"type": "json-deep-compare", "expected": NESTED}, Trajectory(output='{"a":{"b":2},"d":[1]}'))
    assert outcome.details is not None
    assert outcome.details["differences"] == [
        {"path": "a.b", "expected": "1", "actual": "2"},
        {"path": "a.c", "expected": "2", "actual": None},
        {"path": "d[1]", "expected": "2", "actual": None},
    ]


@pytest.mark.parametrize(("threshold", "passed"), [(0.25, True), (0.26, False), (0.0, True), (1.0, False)])
def test_the_threshold_is_inclusive(threshold: float, passed: bool) -> None:
    config = {"type": "json-deep-compare", "expected": NESTED, "threshold": threshold}
    assert graded_one(config, Trajectory(output='{"a":{"b":1}}')).passed is passed


@pytest.mark.parametrize(
    ("hits", "total", "native"), [(1, 3, 33.3), (2, 3, 66.7), (1, 16, 6.3), (1, 8, 12.5), (1, 400, 0.3)]
)
def test_aludel_rounds_halves_up_before_it_compares(hits: int, total: int, native: float) -> None:
    config = {
        "type": "json-deep-compare",
        "expected": [1] * total,
        "scale": 100,
        "round_digits": 1,
        "threshold": native,
    }
    output = "[" + ",".join(["1"] * hits + ["0"] * (total - hits)) + "]"
    outcome = graded_one(config, Trajectory(output=output))
    assert outcome.native_score == native
    assert outcome.passed is True
    assert outcome.score == pytest.approx(native / 100)


@pytest.mark.parametrize(
    ("options", "trajectory", "status"),
    [
        ({}, Trajectory(output='{"a":1}', reference='{"a":1}'), "pass"),
        ({}, Trajectory(output='{"a":1}'), "skipped"),
        ({"on_missing_reference": "error"}, Trajectory(output='{"a":1}'), "error"),
        ({}, Trajectory(output='{"a":1}', reference="prose"), "error"),
        ({"expected": {"a": 1}}, Trajectory(), "error"),
        ({"expected": {"a": 1}}, Trajectory(output="prose"), "fail"),
        ({"expected": {"a": None}, "missing_is_null": True}, Trajectory(output="{}"), "pass"),
    ],
)
def test_missing_sides(options: dict[str, Any], trajectory: Trajectory, status: str) -> None:
    assert graded_one({"type": "json-deep-compare", **options}, trajectory).status.value == status


@pytest.mark.parametrize("config", [{"threshold": 1.5}, {"threshold": 101.0, "scale": 100}, {"expected": 5}])
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "json-deep-compare", **config})
