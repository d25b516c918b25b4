import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Event, Message, ToolCall, ToolResult, Trajectory, Usage
from tests.graders.run_grader import call, calling, graded, graded_one

ERROR = Event("error", text="boom")


def with_metrics(**metrics: Any) -> Trajectory:
    return Trajectory(extra_json=json.dumps({"metrics": metrics}))


@pytest.mark.parametrize(
    ("value", "most", "status", "score"),
    [
        (0, 0, "pass", 1.0),
        (1, 0, "fail", 0.0),
        (10, 10, "pass", 1.0),
        (11, 10, "fail", 0.9),
        (20, 10, "fail", 0.0),
        (99, 10, "fail", 0.0),
        (2, 1, "fail", 0.0),
    ],
)
def test_the_score_falls_linearly(value: int, most: int, status: str, score: float) -> None:
    outcome = graded_one({"type": "tool-call-count", "max": most}, with_metrics(toolCallCount=value))
    assert (outcome.status.value, outcome.native_score) == (status, value)
    assert outcome.score == pytest.approx(score)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_score_is_the_published_formula(value: int, most: int) -> None:
    outcome = graded_one({"type": "token-budget", "max": most}, with_metrics(totalTokens=value))
    assert outcome.passed is (value <= most)
    assert outcome.score == pytest.approx(1.0 if value <= most else max(0.0, 1 - (value - most) / max(most, 1)))


@pytest.mark.parametrize(
    ("config", "trajectory", "value"),
    [
        ({"type": "token-budget", "max": 9}, with_metrics(totalTokens=7), 7),
        ({"type": "token-budget", "max": 9}, with_metrics(tokenUsage={"totalTokens": 7}), 7),
        ({"type": "token-budget", "max": 9}, with_metrics(tokenUsage={"inputTokens": 3, "outputTokens": 4}), 7),
        ({"type": "token-budget", "max": 9}, Trajectory(usage=Usage(input_tokens=3, output_tokens=4)), 7),
        ({"type": "token-budget", "max": 9, "of": "output"}, Trajectory(usage=Usage(output_tokens=4)), 4),
        ({"type": "token-budget", "max": 9, "of": "reasoning"}, Trajectory(usage=Usage(reasoning_tokens=4)), 4),
        ({"type": "cost-budget", "max": 0.05}, Trajectory(usage=Usage(cost_usd=Decimal("0.05"))), 0.05),
        ({"type": "cost-budget", "max": 0.05}, with_metrics(costUsd=0.01), 0.01),
        ({"type": "wall-time", "max": "2m"}, with_metrics(wallTimeMs=125_000), 125_000),
        ({"type": "wall-time", "max": "2m"}, Trajectory(usage=Usage(latency_ms=5)), 5),
        ({"type": "tool-call-count", "max": 9}, calling(call("a"), call("b")), 2),
        ({"type": "tool-call-count", "max": 9}, Trajectory(messages=(Message("user", "hi"),)), 0),
        ({"type": "tool-call-count", "max": 9, "tools": ["^a"]}, calling(call("ab"), call("ba"), call("ac")), 2),
        ({"type": "turn-count", "max": 9}, Trajectory(turn_count=4), 4),
        ({"type": "turn-count", "max": 9}, with_metrics(turnCount=5), 5),
        ({"type": "turn-count", "max": 9}, Trajectory(messages=(Message("user", "a"), Message("user", "b"))), 2),
        ({"type": "turn-count", "max": 9}, Trajectory(messages=(Message("user", "a", flags=("injected",)),)), 0),
        ({"type": "step-count", "max": 9}, Trajectory(messages=(Message("assistant"), Message("assistant", "x"))), 2),
        ({"type": "step-count", "max": 9}, with_metrics(stepCount=3), 3),
        ({"type": "step-count", "max": 9}, Trajectory(tool_calls=(ToolCall("a"), ToolCall("a"))), 2),
        ({"type": "step-count", "max": 9, "tools": ["a"]}, calling(call("a"), call("a"), call("b")), 1),
        (
            {"type": "step-count", "max": 9, "tools": ["a"]},
            calling(call("a", message_index=3), call("a"), call("b")),
            2,
        ),
        ({"type": "error-count", "max": 9, "of": "events"}, Trajectory(events=(ERROR, Event("turn_end"))), 1),
        ({"type": "error-count", "max": 9, "of": "events"}, with_metrics(errorCount=2), 2),
        ({"type": "error-count", "max": 9}, with_metrics(errorCount=2), 2),
        (
            {"type": "error-count", "max": 9},
            Trajectory(events=(ERROR,), tool_results=(ToolResult("x", is_error=True), ToolResult("y", is_error=False))),
            2,
        ),
    ],
)
def test_measures(config: dict[str, Any], trajectory: Trajectory, value: float) -> None:
    assert graded_one(config, trajectory).native_score == pytest.approx(value)


@pytest.mark.parametrize(
    ("config", "trajectory"),
    [
        ({"type": "token-budget", "max": 9}, Trajectory(usage=Usage(input_tokens=3))),
        ({"type": "token-budget", "max": 9}, with_metrics(totalTokens=None)),
        ({"type": "token-budget", "max": 9}, with_metrics(totalTokens=True)),
        ({"type": "token-budget", "max": 9}, Trajectory(extra_json="broken")),
        ({"type": "cost-budget", "max": 9.0}, Trajectory()),
        ({"type": "wall-time", "max": "2m"}, Trajectory()),
        ({"type": "tool-call-count", "max": 9}, Trajectory()),
        ({"type": "step-count", "max": 9}, Trajectory(output="x")),
        ({"type": "turn-count", "max": 9}, Trajectory()),
        ({"type": "error-count", "max": 9}, Trajectory()),
        ({"type": "error-count", "max": 9, "of": "events"}, Trajectory()),
        ({"type": "error-count", "max": 9}, Trajectory(tool_results=(ToolResult("x"),), events=(ERROR,))),
    ],
)
def test_what_the_log_does_not_say_is_an_error(config: dict[str, Any], trajectory: Trajectory) -> None:
    outcome = graded_one(config, trajectory)
    assert outcome.error_type is ErrorType.MISSING_FIELD
    assert (outcome.score, outcome.native_score) == (None, None)


def test_known_errors_beyond_the_maximum_fail_whatever_is_unknown() -> None:
    trajectory = Trajectory(events=(ERROR, ERROR), tool_results=(ToolResult("x"),))
    outcome = graded_one({"type": "error-count", "max": 1}, trajectory)
    assert (outcome.status.value, outcome.native_score) == ("fail", 2)


def test_a_dollar_is_not_the_unit_of_cost() -> None:
    outcome = graded_one({"type": "cost-budget", "max": 0.1}, Trajectory(usage=Usage(cost_usd=Decimal("0.15"))))
    assert outcome.score == pytest.approx(0.5)


def test_wall_time_keeps_its_partial_score() -> None:
    assert graded_one({"type": "wall-time", "max": "2m"}, with_metrics(wallTimeMs=125_000)).score == pytest.approx(
        0.9583, abs=1e-4
    )


def test_a_batch_keeps_its_rows_apart() -> None:
    rows = [with_metrics(toolCallCount=1), Trajectory(), calling(call("a"), call("b"), call("c"))]
    outcomes = graded({"type": "tool-call-count", "max": 2}, *rows)
    assert [outcome.status.value for outcome in outcomes] == ["pass", "error", "fail"]
    assert outcomes[2].explanation == "3 tool calls, at most 2 allowed"


@pytest.mark.parametrize(
    "config",
    [
        {"type": "token-budget"},
        {"type": "token-budget", "max": -1},
        {"type": "token-budget", "max": 1.5},
        {"type": "wall-time", "max": 60},
        {"type": "wall-time", "max": "60"},
        {"type": "tool-call-count", "max": 1, "tools": ["("]},
        {"type": "tool-call-count", "max": 1, "tools": []},
    ],
)
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        configure(config)
    assert caught.value.problems[0].path


def test_a_bad_pattern_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        configure({"type": "step-count", "max": 1, "tools": ["a", "("]})
    assert caught.value.problems[0].path == ("tools", 1)


def test_a_stopped_pattern_is_an_error_unless_the_rest_exceeds_the_maximum() -> None:
    config = {"type": "tool-call-count", "max": 1, "tools": ["^x", r"^(a|aa)+$(?<=b)"]}
    slow = "a" * 60 + "!"
    outcomes = graded(config, calling(call(slow)), calling(call(slow), call("x"), call("x")), calling(call("x")))
    assert [outcome.status.value for outcome in outcomes] == ["error", "fail", "pass"]
    assert outcomes[0].error_type is ErrorType.REGEX_RESOURCE_LIMIT
