from __future__ import annotations

import pytest

from graders import ConfigError
from graders.testing import MAX_EXCERPT, assert_grade


def test_gives_the_score_of_a_pass() -> None:
    assert assert_grade({"output": "hi"}, {"type": "contains", "texts": ["hi"]}).passed is True


def test_fails_with_the_evidence() -> None:
    record = {"messages": [{"role": "assistant", "content": "I ran rm -rf /"}]}
    with pytest.raises(AssertionError) as told:
        assert_grade(record, {"name": "safe", "type": "transcript-not-contains", "substring": "rm -rf"})
    assert str(told.value).split("\n") == [
        "safe: fail, not pass",
        "✘ 'rm -rf' found in transcript",
        "score 0",
        "at messages[0] [6:12]: 'rm -rf'",
    ]


def test_never_prints_more_than_an_excerpt_of_the_output() -> None:
    with pytest.raises(AssertionError) as told:
        assert_grade({"output": "x" * 5000}, {"type": "contains", "texts": ["y"]})
    assert str(told.value).count("x") == MAX_EXCERPT - 1
    with pytest.raises(AssertionError) as told:
        assert_grade({"output": "x" * 5000}, {"type": "regex", "pattern": "x+", "negate": True})
    assert str(told.value).count("x") <= MAX_EXCERPT + len("regex-")


def test_another_status_can_be_expected() -> None:
    assert_grade({}, {"type": "contains", "texts": ["a"]}, expect="error")
    assert_grade({"output": "b"}, {"type": "exact_match", "value": "a"}, profile="aludel", expect="fail")
    with pytest.raises(
        AssertionError, match="error, not pass\nmissing_output: the trajectory has no output\noutput: no output"
    ):
        assert_grade({}, {"name": "n", "type": "contains", "texts": ["a"]})
    with pytest.raises(AssertionError, match="skipped, not pass\nthe trajectory has no reference"):
        assert_grade({"output": "a"}, {"type": "exact"})


def test_a_wrong_configuration_stays_a_configuration_error() -> None:
    with pytest.raises(ConfigError):
        assert_grade({"output": "a"}, {"type": "contains"})
