from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one, status_on_output

FIELD = {"type": "json-field", "path": "a.b"}


@pytest.mark.parametrize(
    ("expected", "output", "status"),
    [
        (1, '{"a":{"b":1}}', "pass"),
        (1, '{"a":{"b":1.0}}', "pass"),
        (1, '{"a":{"b":true}}', "fail"),
        ("1", '{"a":{"b":1}}', "fail"),
        (None, '{"a":{"b":null}}', "pass"),
        (None, '{"a":{}}', "fail"),
        (1, '{"a":{}}', "fail"),
        ({"x": [1]}, '{"a":{"b":{"x":[1.0]}}}', "pass"),
        (1, "not json", "fail"),
        (1, "", "fail"),
        (1, "NaN", "fail"),
        (1, None, "error"),
        (1, '```json\n{"a":{"b":1}}\n```', "fail"),
        (9007199254740993, '{"a":{"b":9007199254740992}}', "fail"),
        (1, "[" * 100_000, "error"),
    ],
)
def test_expected(expected: Any, output: str | None, status: str) -> None:
    assert status_on_output({**FIELD, "expected": expected}, output) == status


@pytest.mark.parametrize(
    ("options", "output", "status"),
    [
        ({"exists": True}, '{"a":{"b":null}}', "pass"),
        ({"exists": True}, '{"a":{}}', "fail"),
        ({"exists": False}, '{"a":{}}', "pass"),
        ({"exists": False}, '{"a":{"b":0}}', "fail"),
        ({"minimum": 2}, '{"a":{"b":2}}', "pass"),
        ({"minimum": 2, "maximum": 3}, '{"a":{"b":3.5}}', "fail"),
        ({"minimum": 0}, '{"a":{"b":true}}', "fail"),
        ({"minimum": 0}, '{"a":{"b":"5"}}', "fail"),
        ({"minimum": 0}, '{"a":{}}', "fail"),
        ({"expected": None, "missing_is_null": True}, '{"a":{}}', "pass"),
        ({"expected": 1, "json_fences": "strip"}, '```json\n{"a":{"b":1}}\n```', "pass"),
        ({"expected": {"n": 1}, "container_comparison": "encoded"}, '{"a":{"b":{"n":1.0}}}', "fail"),
        ({"expected": 1, "on_missing_output": "skip"}, None, "skipped"),
        ({"expected": 1, "on_missing_output": "fail"}, None, "fail"),
        ({"expected": 1, "path_style": "keys"}, '{"a":[1]}', "error"),
        ({"expected": 1, "path_style": "keys"}, '{"a":"text"}', "error"),
        ({"expected": 1, "path_style": "keys"}, "{}", "fail"),
        ({"expected": 1, "path_style": "keys"}, '{"a":{"b":1}}', "pass"),
    ],
)
def test_options(options: dict[str, Any], output: str | None, status: str) -> None:
    assert status_on_output({**FIELD, **options}, output) == status


@pytest.mark.parametrize(
    ("match", "output", "status"),
    [
        ("any", '[{"s":"ok"},{"s":"bad"}]', "pass"),
        ("all", '[{"s":"ok"},{"s":"bad"}]', "fail"),
        ("all", '[{"s":"ok"},{"s":"ok"}]', "pass"),
        ("all", "[]", "fail"),
    ],
)
def test_several_values(match: str, output: str, status: str) -> None:
    config = {"type": "json-field", "path": "$[*].s", "expected": "ok", "match": match}
    assert status_on_output(config, output) == status


def test_tells_what_it_found() -> None:
    score = graded_one({**FIELD, "expected": "Mars"}, Trajectory(output='{"a":{"b":"Venus"}}'))
    assert score.explanation == 'a.b is "Venus", not "Mars"'
    assert score.details == {"actual": '"Venus"'}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"path": "a"}, ()),
        ({"path": "a", "expected": 1, "exists": True}, ()),
        ({"path": "a[", "expected": 1}, ("path",)),
        ({"expected": 1}, ("path",)),
        ({"path": "a", "minimum": 2, "maximum": 1}, ()),
        ({"path": "a", "expect": 1, "exists": True}, ("expect",)),
    ],
)
def test_refuses_a_configuration(config: dict[str, Any], path: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        configure({"type": "json-field", **config})
    assert caught.value.problems[0].path == path


def test_an_expected_null_is_not_an_absent_expectation() -> None:
    null = configure({**FIELD, "expected": None})
    assert null.config == {"path": "a.b", "expected": None}
    assert null.grader_hash != configure({**FIELD, "exists": True}).grader_hash
    again = configure({"type": "json-field", **null.config})
    assert again.grader_hash == null.grader_hash
