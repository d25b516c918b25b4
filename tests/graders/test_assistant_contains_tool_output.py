from typing import Any

import pytest

from graders.capturing import with_first_group_named
from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Message, ToolResult, Trajectory
from tests.graders.run_grader import call, graded_one


def run_of(result: str | None, reply: str, *, tool: str = "create_ticket", before: str | None = None) -> Trajectory:
    messages = (Message("assistant", before), Message("tool", result), Message("assistant", reply))
    calls = (call(tool, message_index=0, id="1"),)
    return Trajectory(messages=messages, tool_calls=calls, tool_results=(ToolResult(result, "1", message_index=1),))


@pytest.mark.parametrize(
    ("options", "trajectory", "status"),
    [
        ({}, run_of("id: T-17", "Your ticket is T-17."), "pass"),
        ({}, run_of("id: T-17", "Your ticket is T-18."), "fail"),
        ({}, run_of("no id", "T-17"), "fail"),
        ({}, run_of(None, "T-17"), "fail"),
        ({}, run_of("id: T-17", "done", before="I will make T-17"), "fail"),
        ({}, run_of("id: T-17", "T-17", tool="search"), "fail"),
        ({}, run_of("id: T-17", "t-17"), "fail"),
        ({"case_sensitive": False}, run_of("id: T-17", "t-17"), "pass"),
        ({"pattern": "id: (T-[0-9]+)"}, run_of("id: T-17", "T-17"), "pass"),
        ({"pattern": "(?:id|no): (?P<ticket>T-[0-9]+)(;?)"}, run_of("no: T-17;", "T-17"), "pass"),
        ({"pattern": "id: (T-[0-9]+)", "dialect": "ecma"}, run_of("id: T-17", "T-17"), "pass"),
        ({"pattern": "id: T-[0-9]+"}, run_of("id: T-17", "T-17"), "fail"),
    ],
)
def test_values(options: dict[str, Any], trajectory: Trajectory, status: str) -> None:
    config = {
        "type": "assistant-contains-tool-output",
        "tools": ["ticket"],
        "pattern": "T-[0-9]+",
        **options,
    }
    assert graded_one(config, trajectory).status.value == status


@pytest.mark.parametrize(("match", "passed"), [("any", True), ("all", False)])
def test_any_or_all_values(match: str, passed: bool) -> None:
    trajectory = Trajectory(
        messages=(Message("assistant", "Got T-2"),),
        tool_calls=(call("t", id="1"), call("t", id="2")),
        tool_results=(ToolResult("T-1", "1"), ToolResult("T-2", "2")),
    )
    config = {"type": "assistant-contains-tool-output", "tools": ["t"], "pattern": "T-.", "match": match}
    assert graded_one(config, trajectory).passed is passed


def test_a_stopped_pattern_is_an_error() -> None:
    config = {"type": "assistant-contains-tool-output", "tools": ["t"], "pattern": r"^(?:a|aa)+$(?<=b)"}
    outcome = graded_one(config, run_of("a" * 60 + "!", "x"))
    assert outcome.error_type is ErrorType.REGEX_RESOURCE_LIMIT


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("abc", None),
        (r"\(a\)", None),
        ("[(]a", None),
        ("[]()]a", None),
        ("(?:a)(?i:b)", None),
        ("a(b)c(d)", "a(?P<value>b)c(?:d)"),
        ("(?<x>a)(?P<y>b)", "(?P<value>a)(?:b)"),
        ("(?<=a)b", None),
        (r"[\]](a)", r"[\]](?P<value>a)"),
    ],
)
def test_names_the_first_group(pattern: str, named: str | None) -> None:
    assert with_first_group_named(pattern) == named


@pytest.mark.parametrize("options", [{"tools": []}, {"tools": ["("]}, {"pattern": "("}, {"pattern": r"(a)\1"}])
def test_refuses_a_configuration(options: dict[str, Any]) -> None:
    config = {"type": "assistant-contains-tool-output", "tools": ["t"], "pattern": "a"}
    with pytest.raises(ConfigError):
        configure({**config, **options})
