from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Message, ToolCall, ToolResult, Trajectory
from tests.graders.run_grader import call, calling, graded_one

SLOW = "a" * 60 + "!"
SLOW_PATTERN = r"^(a|aa)+$(?<=b)"


def run_of(*names: str) -> Trajectory:
    """Calls by these names, one step each."""
    messages: list[Message] = []
    calls = []
    for name in names:
        messages += [Message("assistant", None), Message("tool", "ok")]
        calls.append(ToolCall(name, "{}", message_index=len(messages) - 2))
    return Trajectory(messages=tuple(messages), tool_calls=tuple(calls))


@pytest.mark.parametrize(
    ("config", "trajectory", "status"),
    [
        ({"require": ["edit"]}, run_of("str_replace_edit"), "pass"),
        ({"require": ["^edit$"]}, run_of("str_replace_edit"), "fail"),
        ({"require": ["a", "b"]}, run_of("a"), "fail"),
        ({"require": ["a"]}, Trajectory(), "fail"),
        ({"forbid": ["bash"]}, Trajectory(), "pass"),
        ({"forbid": ["bash"]}, run_of("bash"), "fail"),
        ({"forbid": ["bash"]}, run_of("view"), "pass"),
        ({"require": ["view"], "forbid": ["bash"]}, run_of("view", "bash"), "fail"),
        ({"require": [{"name": "a", "min_count": 2}]}, run_of("a"), "fail"),
        ({"require": [{"name": "a", "min_count": 2}]}, run_of("a", "b", "a"), "pass"),
        ({"require": [{"name": "a", "final": True}]}, run_of("b", "a"), "pass"),
        ({"require": [{"name": "a", "final": True}]}, run_of("a", "b"), "fail"),
        ({"require": [{"name": "a", "at_step": 1}]}, run_of("b", "a"), "pass"),
        ({"require": [{"name": "a", "at_step": 0}]}, run_of("b", "a"), "fail"),
        ({"require": [{"name": "a", "before_step": 1}]}, run_of("a", "b"), "pass"),
        ({"require": [{"name": "a", "before_step": 1}]}, run_of("b", "a"), "fail"),
        ({"sequence": ["validate", "create"]}, run_of("create", "validate"), "fail"),
        ({"sequence": ["validate", "create"]}, run_of("validate", "x", "create"), "pass"),
        ({"sequence": ["a", "a"]}, run_of("a"), "fail"),
        ({"sequence": ["a", "a"]}, run_of("a", "a"), "pass"),
        ({"sequence": ["a", "b"]}, run_of("b", "a", "b"), "pass"),
        ({"parallel": ["a", "b"]}, calling(call("a"), call("b")), "pass"),
        ({"parallel": ["a", "b"]}, run_of("a", "b"), "fail"),
        ({"parallel": ["a", "."]}, calling(call("a")), "fail"),
        ({"parallel": [".", "a"]}, calling(call("a"), call("b")), "pass"),
    ],
)
def test_lists(config: dict[str, Any], trajectory: Trajectory, status: str) -> None:
    assert graded_one({"type": "tool-calls", **config}, trajectory).status.value == status


@pytest.mark.parametrize(
    ("matcher", "arguments", "matches"),
    [
        ({"command": "npm test"}, '{"command":"npm test -- -w"}', True),
        ({"command": "npm test"}, '{"cmd":"npm test"}', True),
        ({"command": "npm test"}, '{"path":"npm test"}', False),
        ({"path": r"\.env$"}, '{"file_path":"/app/.env"}', True),
        ({"path": r"\.env$"}, '{"path":"/app/.env.example"}', False),
        ({"args": {"city": "(?i)paris"}}, '{"city":"Paris"}', True),
        ({"args": {"city": "(?i)paris", "days": "^3$"}}, '{"city":"Paris","days":3}', True),
        ({"args": {"days": "^3$"}}, '{"days":30}', False),
        ({"args": {"tags": '"a","b"'}}, '{"tags":["a","b"]}', True),
        ({"args": {"city": "."}}, "{bad", False),
        ({"args": {"city": "."}}, "[1]", False),
        ({"args": {"city": "."}}, "", False),
        ({"pattern": '"city":\\s*"P'}, '{"city": "Paris"}', True),
        ({"pattern": "bad"}, "{bad", True),
    ],
)
def test_arguments(matcher: dict[str, Any], arguments: str, matches: bool) -> None:
    config = {"type": "tool-calls", "require": [{"name": "^t$", **matcher}]}
    outcome = graded_one(config, calling(call("t", arguments)))
    assert outcome.passed is matches
    assert (outcome.details == {"malformed_args": 1}) is (arguments == "{bad")


def test_results_belong_to_their_calls() -> None:
    calls = (call("a", id="1"), call("a", id="2"), call("b"), call("b"))
    results = (
        ToolResult("second", tool_call_id="2"),
        ToolResult("first", tool_call_id="1"),
        ToolResult("third", name="b"),
        ToolResult("fourth", name="b"),
    )
    trajectory = calling(*calls, tool_results=results)
    for name, result, final in [("a", "first", False), ("a", "second", False), ("b", "fourth", True)]:
        config = {"type": "tool-calls", "require": [{"name": name, "result": result, "final": final}]}
        assert graded_one(config, trajectory).passed is True
    config = {"type": "tool-calls", "require": [{"name": "b", "result": "third", "final": True}]}
    assert graded_one(config, trajectory).passed is False
    assert (
        graded_one({"type": "tool-calls", "require": [{"name": "a", "result": "."}]}, calling(call("a"))).passed
        is False
    )


@pytest.mark.parametrize(
    ("name", "arguments", "reads"),
    [
        ("get_weather", "{}", True),
        ("readFile", "{}", True),
        ("list-orders", "{}", True),
        ("search_replace", "{}", False),
        ("create_ticket", "{}", False),
        ("calculator", "{}", False),
        ("bash", '{"command":"ls -la | grep x && git status"}', True),
        ("bash", '{"command":"cat a > b"}', False),
        ("bash", '{"command":"rm -rf /"}', False),
        ("bash", '{"command":"find . -delete"}', False),
        ("bash", '{"command":"git push"}', False),
        ("bash", '{"command":"echo $(rm x)"}', False),
        ("bash", "{}", False),
    ],
)
def test_reading_and_writing(name: str, arguments: str, reads: bool) -> None:
    trajectory = calling(call(name, arguments))
    for option, matches in [("read_only", reads), ("write_only", not reads)]:
        config = {"type": "tool-calls", "require": [{"name": ".", option: True}]}
        assert graded_one(config, trajectory).passed is matches


@pytest.mark.parametrize(
    ("config", "names", "status"),
    [
        ({"require": [SLOW_PATTERN]}, [SLOW], "error"),
        ({"require": [SLOW_PATTERN, "missing"]}, [SLOW], "fail"),
        ({"forbid": [SLOW_PATTERN]}, [SLOW], "error"),
        ({"forbid": [SLOW_PATTERN, "x"]}, [SLOW, "x"], "fail"),
        ({"require": [{"name": f"{SLOW_PATTERN}|^x"}]}, [SLOW, "x"], "pass"),
        ({"sequence": ["x", SLOW_PATTERN]}, ["x", SLOW], "error"),
        ({"sequence": ["y", SLOW_PATTERN]}, ["x", SLOW], "fail"),
    ],
)
def test_a_stopped_pattern_leaves_open_just_what_it_could_change(
    config: dict[str, Any], names: list[str], status: str
) -> None:
    outcome = graded_one({"type": "tool-calls", **config}, run_of(*names))
    assert outcome.status.value == status
    assert (outcome.error_type is ErrorType.REGEX_RESOURCE_LIMIT) is (status == "error")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"require": []},
        {"require": ["("]},
        {"require": [{"command": "x"}]},
        {"require": [{"name": "a", "at_step": 2, "before_step": 2}]},
        {"require": [{"name": "a", "before_step": 0}]},
        {"require": [{"name": "a", "final": True, "min_count": 2}]},
        {"require": [{"name": "a", "read_only": True, "write_only": True}]},
        {"forbid": [{"name": "a", "min_count": 2}]},
        {"sequence": [{"name": "a", "result": "x"}]},
        {"sequence": [{"name": "a", "final": True}]},
        {"parallel": [{"name": "a", "at_step": 1}]},
        {"require": ["a"], "forbid": ["a"]},
        {"require": [{"name": "a", "argz": {}}]},
        {"require": [5]},
    ],
)
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "tool-calls", **config})


def test_names_the_bad_pattern() -> None:
    with pytest.raises(ConfigError) as caught:
        configure({"type": "tool-calls", "require": ["a", {"name": "b", "args": {"q": "["}}]})
    assert caught.value.problems[0].path == ("require", 1, "args", "q")
