from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Trajectory
from tests.graders.run_grader import call, calling, graded, graded_one

SEARCH = {
    "type": "object",
    "required": ["query"],
    "properties": {"query": {"type": "string", "pattern": "^[a-z ]+$"}, "limit": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
CONFIG = {"type": "tool-args", "tools": {"search": SEARCH, "now": True}}


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ('{"query":"refund policy"}', True),
        ('{"query":"refund","limit":3}', True),
        ('{"query":"refund","limit":3.0}', True),
        ('{"query":"refund","limit":0}', False),
        ('{"query":"refund","limit":true}', False),
        ('{"query":"Refund"}', False),
        ('{"query":"refund","page":1}', False),
        ("{}", False),
        ("", False),
        ("{bad", False),
        ('"{\\"query\\":\\"refund\\"}"', True),
        ("[]", False),
    ],
)
def test_schemas(arguments: str, passed: bool) -> None:
    assert graded_one(CONFIG, calling(call("search", arguments))).passed is passed


def test_the_score_is_the_share_of_valid_calls() -> None:
    outcome = graded_one(CONFIG, calling(call("search", '{"query":"x"}'), call("search", '{"query":5}'), call("now")))
    assert outcome.score == pytest.approx(2 / 3)
    assert outcome.details == {
        "invalid": [{"call": 1, "tool": "search", "problem": "type at /query", "pointer": "/query"}]
    }


@pytest.mark.parametrize(
    ("options", "trajectory", "status"),
    [
        ({}, calling(call("other")), "skipped"),
        ({}, Trajectory(), "skipped"),
        ({"on_no_calls": "pass"}, Trajectory(), "pass"),
        ({"on_no_calls": "fail"}, Trajectory(), "fail"),
        ({"other_tools": "fail"}, calling(call("other")), "fail"),
        ({"other_tools": "fail"}, calling(call("now")), "pass"),
    ],
)
def test_other_tools(options: dict[str, Any], trajectory: Trajectory, status: str) -> None:
    assert graded_one({**CONFIG, **options}, trajectory).status.value == status


def test_rows_keep_their_own_calls() -> None:
    good, bad = call("search", '{"query":"x"}'), call("search", "{}")
    outcomes = graded(CONFIG, calling(good), calling(), calling(bad, good), calling(good, good))
    assert [outcome.status.value for outcome in outcomes] == ["pass", "skipped", "fail", "pass"]


def test_a_stopped_pattern_is_an_error_unless_another_call_is_invalid() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string", "pattern": r"^(a|aa)+$(?<=b)"}}}
    config = {"type": "tool-args", "tools": {"s": schema}}
    slow = call("s", '{"q":"' + "a" * 60 + '"}')
    assert graded_one(config, calling(slow)).error_type is ErrorType.REGEX_RESOURCE_LIMIT
    assert graded_one(config, calling(slow, call("s", '{"q":5}'))).passed is False


def test_a_bad_schema_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        configure({"type": "tool-args", "tools": {"a": True, "b": {"properties": {"x": {"type": "strng"}}}}})
    assert caught.value.problems[0].path[:2] == ("tools", "b")


@pytest.mark.parametrize("config", [{}, {"tools": {}}, {"tools": {"a": 5}}, {"tools": {"a": True}, "draft": "3"}])
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "tool-args", **config})
