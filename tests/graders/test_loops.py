from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.configured import configure
from graders.errors import ConfigError
from graders.loops import longest_repetition
from schemas.score import ErrorType
from schemas.trajectory import Message, ToolResult, Trajectory
from tests.graders.run_grader import call, calling, graded_one


def run_of(letters: str) -> Trajectory:
    return calling(*(call(letter) for letter in letters))


@pytest.mark.parametrize(
    ("letters", "period", "repetitions"),
    [
        ("", 1, 0),
        ("a", 1, 1),
        ("aaa", 1, 3),
        ("abab", 1, 1),
        ("abab", 2, 2),
        ("ababa", 2, 2),
        ("xababab", 2, 3),
        ("aaaa", 2, 4),
        ("abcabcabc", 3, 3),
        ("abcabcabc", 2, 1),
        ("abcdefghijabcdefghij", 10, 2),
        ("aabbb", 1, 3),
        ("abba", 2, 2),
    ],
)
def test_repetitions(letters: str, period: int, repetitions: int) -> None:
    assert longest_repetition(letters, period)[0] == repetitions


def repetitions_by_trying(text: str, max_period: int) -> int:
    best = min(len(text), 1)
    for start in range(len(text)):
        for period in range(1, max_period + 1):
            cycle = text[start : start + period]
            times = 1
            while len(cycle) == period and text[start + times * period :].startswith(cycle):
                times += 1
            if len(cycle) == period:
                best = max(best, times)
    return best


@given(st.text("ab", max_size=14), st.integers(1, 10))
def test_no_repetition_is_longer(text: str, max_period: int) -> None:
    assert longest_repetition(text, max_period)[0] == repetitions_by_trying(text, max_period)


@pytest.mark.parametrize(
    ("letters", "options", "status", "score"),
    [
        ("aab", {"max": 2}, "pass", 1.0),
        ("aaab", {"max": 2}, "fail", 0.5),
        ("aaaaa", {"max": 2}, "fail", 0.0),
        ("ababab", {"max": 2}, "pass", 1.0),
        ("ababab", {"max": 2, "max_cycle_period": 2}, "fail", 0.5),
        ("ababab", {"max": 2, "tools": ["a"]}, "fail", 0.5),
    ],
)
def test_max_repeat(letters: str, options: dict[str, Any], status: str, score: float) -> None:
    outcome = graded_one({"type": "max-repeat", **options}, run_of(letters))
    assert outcome.status.value == status
    assert outcome.score == pytest.approx(score)


@pytest.mark.parametrize(
    ("letters", "options", "passed", "label"),
    [
        ("aaa", {"max_acceptable_retries": 2}, True, "no loop"),
        ("aaaa", {"max_acceptable_retries": 2}, False, "loop"),
        ("aaaa", {"max_acceptable_retries": 2, "should_loop": True}, True, "loop"),
        ("a", {"max_acceptable_retries": 0, "should_loop": True}, False, "no loop"),
        ("aa", {"max_acceptable_retries": 0}, False, "loop"),
        ("abab", {"max_acceptable_retries": 0, "max_cycle_period": 2}, False, "loop"),
    ],
)
def test_loop_outcome(letters: str, options: dict[str, Any], passed: bool, label: str) -> None:
    outcome = graded_one({"type": "loop-outcome", **options}, run_of(letters))
    assert (outcome.passed, outcome.label) == (passed, label)


@pytest.mark.parametrize(("match", "repetitions"), [("name-args", 2), ("name", 3), ("observation", 2)])
def test_what_is_the_same(match: str, repetitions: int) -> None:
    trajectory = calling(
        call("a", '{"q":1,"p":2}', id="1"),
        call("a", '{"p":2,"q":1.0}', id="2"),
        call("a", '{"q":2}', id="3"),
        tool_results=(ToolResult("x", "1"), ToolResult("same", "2"), ToolResult("same", "3")),
    )
    outcome = graded_one({"type": "max-repeat", "max": 9, "match": match}, trajectory)
    assert outcome.native_score == repetitions


def test_calls_without_results_are_not_the_same_observation() -> None:
    outcome = graded_one({"type": "max-repeat", "max": 9, "match": "observation"}, run_of("aaa"))
    assert outcome.native_score == 1


def test_nothing_recorded_is_an_error_and_no_calls_are_none() -> None:
    config = {"type": "max-repeat", "max": 1}
    assert graded_one(config, Trajectory(output="x")).error_type is ErrorType.MISSING_FIELD
    assert graded_one(config, Trajectory(messages=(Message("user", "x"),))).passed is True


def test_a_stopped_pattern_is_an_error() -> None:
    config = {"type": "max-repeat", "max": 1, "tools": [r"^(a|aa)+$(?<=b)"]}
    assert graded_one(config, calling(call("a" * 60 + "!"))).error_type is ErrorType.REGEX_RESOURCE_LIMIT


@pytest.mark.parametrize("options", [{}, {"max": 0}, {"max": 1, "max_cycle_period": 11}, {"max": 1, "match": "x"}])
def test_refuses_a_configuration(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "max-repeat", **options})
