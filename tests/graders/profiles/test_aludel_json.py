from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from graders.evaluation import evaluate


@pytest.mark.parametrize(
    ("assertion", "output", "status"),
    [
        ({"field": "a.b", "expected": 1}, '{"a":{"b":1.0}}', "pass"),
        ({"field": "a", "expected": "x"}, '```json\n{"a":"x"}\n```', "pass"),
        ({"field": "a", "expected": None}, "{}", "pass"),
        ({"field": "a.b.c", "expected": None}, "{}", "pass"),
        ({"field": "a", "expected": {"n": 1}}, '{"a":{"n":1.0}}', "fail"),
        ({"field": "a[0]", "expected": 1}, '{"a[0]":1}', "pass"),
        ({"field": "a.0", "expected": 1}, '{"a":[1]}', "error"),
        ({"field": "a.b", "expected": 1}, '{"a":5}', "error"),
        ({"field": "a", "expected": 1}, "prose", "fail"),
    ],
)
def test_json_field(assertion: dict[str, Any], output: str, status: str) -> None:
    assert evaluate({"type": "json_field", **assertion}, {"output": output}, profile="aludel").status.value == status


def test_json_deep_compare_is_on_its_own_scale() -> None:
    grader = {"type": "json_deep_compare", "expected": [1, 2, 3], "threshold": 66.7}
    score = evaluate(grader, {"output": "[1, 2, 4]"}, profile="aludel")
    assert (score.passed, score.native_score) == (True, 66.7)
    assert configure(grader, profile="aludel").grader.threshold == 66.7


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "json_field", "expected": 1},
        {"type": "json_field", "field": " ", "expected": 1},
        {"type": "json_field", "field": "a"},
        {"type": "json_field", "field": "a", "expected": " "},
        {"type": "json_field", "field": "a", "expected": 1, "path": "b"},
        {"type": "json_deep_compare", "expected": "x"},
        {"type": "json_deep_compare"},
        {"type": "json_deep_compare", "expected": {}, "threshold": 101},
    ],
)
def test_refuses_what_aludel_would_not_save(assertion: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure(assertion, profile="aludel")
