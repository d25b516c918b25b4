"""The published definitions on written cases. `s1` is a call of s with {"q": 1}; a bare name has no arguments."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import ToolCall, Trajectory
from tests.graders.run_grader import call, calling, graded_one


def arguments_of(word: str) -> dict[str, Any]:
    return {"q": int(word[1:])} if word[1:] else {}


def run_of(words: str) -> Trajectory:
    return calling(*(call(word[0], json.dumps(arguments_of(word))) for word in words.split()))


def expected_of(words: str) -> list[dict[str, Any]]:
    return [{"name": word[0], "arguments": arguments_of(word)} for word in words.split()]


def match(mode: str, expected: str, actual: str, **options: Any) -> Any:
    config = {"type": "trajectory-match", "mode": mode, "expected": expected_of(expected), **options}
    return graded_one(config, run_of(actual))


# expected, actual: exact, in-order, any-order, unordered, subset, superset
CASES = [
    ("", "", "111111"),
    ("", "a", "011001"),
    ("a", "", "000010"),
    ("a", "a", "111111"),
    ("a", "b", "000000"),
    ("a", "a b", "011001"),
    ("a", "b a", "011001"),
    ("a b", "a b", "111111"),
    ("a b", "b a", "001111"),
    ("a b", "a", "000010"),
    ("a b", "b", "000010"),
    ("a c", "a b c", "011001"),
    ("a c", "c b a", "001001"),
    ("a b d", "a b b c", "000000"),
    ("a a", "a a", "111111"),
    ("a a", "a", "000010"),
    ("a", "a a", "011001"),
    ("a a b", "a b a", "001111"),
    ("a b a", "a b a", "111111"),
    ("a b a", "a a b", "001111"),
    ("a b a", "b a a b a", "011001"),
    ("s1 s1", "s1 s1", "111111"),
    ("s1 s1", "s1", "000010"),
    ("s1 s2", "s2 s1", "001111"),
    ("s1 s2", "s1 s1", "000000"),
    ("s1", "s2", "000000"),
    ("s1", "s", "000000"),
    ("s", "s1", "000000"),
    ("s1 s2", "s1 x s2", "011001"),
    ("a b c", "c b a", "001111"),
    ("a b c", "a c", "000010"),
    ("a b c", "a x c", "000000"),
]


@pytest.mark.parametrize(("expected", "actual", "verdicts"), CASES)
def test_modes(expected: str, actual: str, verdicts: str) -> None:
    modes = ("exact", "in-order", "any-order", "unordered", "subset", "superset")
    given = "".join("1" if match(mode, expected, actual).passed else "0" for mode in modes)
    assert given == verdicts


@pytest.mark.parametrize(
    ("expected", "actual", "precision", "recall", "f1"),
    [
        ("s1 s1", "s1 s1", 1.0, 1.0, 1.0),
        ("s1 s1", "s1", 1.0, 0.5, 2 / 3),
        ("a b d", "a b b c", 2 / 4, 2 / 3, 4 / 7),
        ("a c", "a b c", 2 / 3, 1.0, 0.8),
        ("", "", 1.0, 1.0, 1.0),
        ("", "x", 0.0, 0.0, 0.0),
        ("x", "", 0.0, 0.0, 0.0),
        ("a b", "b a", 1.0, 1.0, 1.0),
        ("a", "a a a", 1 / 3, 1.0, 0.5),
        ("a a a", "a", 1.0, 1 / 3, 0.5),
    ],
)
def test_measures(expected: str, actual: str, precision: float, recall: float, f1: float) -> None:
    for mode, value in [("precision", precision), ("recall", recall), ("f1", f1)]:
        outcome = match(mode, expected, actual)
        assert outcome.status.value == "scored"
        assert outcome.score == outcome.native_score == pytest.approx(value)
        assert outcome.details[mode] == pytest.approx(value)


def test_a_measure_with_a_threshold_gives_a_verdict() -> None:
    assert match("recall", "a b", "a", threshold=0.5).passed is True
    assert match("recall", "a b", "a", threshold=0.51).passed is False


def test_subsets_need_a_matching_and_not_the_first_that_fits() -> None:
    outcome = match("exact", "s s1", "s1 s2", arguments="subset")
    assert outcome.passed is False
    for mode in ("any-order", "unordered", "subset", "superset"):
        assert match(mode, "s s1", "s1 s2", arguments="subset").passed is True
    assert match("f1", "s s1", "s1 s2", arguments="subset").score == 1.0


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ('{"q":1}', {"q": 1.0}, True),
        ('{"q":true}', {"q": 1}, False),
        ('{"id":9007199254740993}', {"id": 9007199254740992}, False),
        ('{"a":1,"b":2}', {"b": 2, "a": 1}, True),
        ('{"a":[1,2]}', {"a": [2, 1]}, False),
        ("", {}, True),
        ("null", {}, True),
        ("{}", {}, True),
        ("{bad", {}, False),
        ('"{\\"q\\":1}"', {"q": 1}, True),
        ('{"q":null}', {}, False),
        ('{"q":"caf\\u00e9"}', {"q": "cafe\u0301"}, False),
    ],
)
def test_arguments(left: str, right: dict[str, Any], equal: bool) -> None:
    config = {"type": "trajectory-match", "mode": "exact", "expected": [{"name": "s", "arguments": right}]}
    outcome = graded_one(config, calling(call("s", left)))
    assert outcome.passed is equal
    assert outcome.details is not None
    assert outcome.details.get("malformed_args") == (1 if left == "{bad" else None)


@pytest.mark.parametrize(
    ("options", "actual", "passed"),
    [
        ({"arguments": "exact"}, '{"q":1,"page":2}', False),
        ({"arguments": "subset"}, '{"q":1,"page":2}', True),
        ({"arguments": "subset"}, '{"page":2}', False),
        ({"arguments": "subset"}, "{bad", False),
        ({"arguments": "ignore"}, '{"page":2}', True),
        ({"arguments": "ignore"}, "{bad", True),
        ({"tool_arguments": {"s": "ignore"}}, '{"page":2}', True),
        ({"tool_arguments": {"t": "ignore"}}, '{"page":2}', False),
        ({"tool_arguments": {"s": ["q"]}}, '{"q":1,"page":2}', True),
        ({"tool_arguments": {"s": ["q"]}}, '{"q":2}', False),
        ({"tool_arguments": {"s": ["page"]}}, '{"q":2}', True),
        ({"tool_arguments": {"s": ["page"]}}, '{"page":2}', False),
        ({"arguments": "ignore", "tool_arguments": {"s": "exact"}}, '{"q":1}', True),
    ],
)
def test_argument_modes(options: dict[str, Any], actual: str, passed: bool) -> None:
    config = {"type": "trajectory-match", "mode": "any-order", "expected": expected_of("s1"), **options}
    assert graded_one(config, calling(call("s", actual))).passed is passed


def test_unicode_forms_are_one_if_asked() -> None:
    config = {
        "type": "trajectory-match",
        "mode": "exact",
        "expected": [{"name": "s", "arguments": {"q": "cafe\u0301"}}],
        "normalize_unicode": True,
    }
    assert graded_one(config, calling(call("s", '{"q":"café"}'))).passed is True


def test_single_tool() -> None:
    config = {"type": "trajectory-match", "mode": "single-tool", "tool": "b"}
    assert graded_one(config, run_of("a b")).passed is True
    assert graded_one(config, run_of("a")).passed is False
    assert graded_one({**config, "forbid": ["a"]}, run_of("a b")).passed is False


def test_forbidden_tools_fail_whatever_matches() -> None:
    assert match("any-order", "a", "a x", forbid=["x"]).passed is False
    assert match("any-order", "a", "a", forbid=["x"]).passed is True
    assert match("f1", "a", "a x", forbid=["x"], threshold=0.1).passed is False
    assert match("exact", "", "x", forbid=["x"]).passed is False


def test_tells_what_is_missing_and_what_is_extra() -> None:
    outcome = match("exact", "a b d", "a b b c")
    assert outcome.details["missing"] == {"d": 1}
    assert outcome.details["extra"] == {"b": 1, "c": 1}


REFERENCE_FORMS = [
    [{"name": "s", "arguments": {"q": 1}}],
    [{"name": "s", "args": {"q": 1}}],
    [{"tool_name": "s", "tool_input": {"q": 1}}],
    [{"name": "s", "arguments": '{"q": 1}'}],
    [{"id": "1", "type": "function", "function": {"name": "s", "arguments": '{"q":1}'}}],
]


@pytest.mark.parametrize("reference", REFERENCE_FORMS)
def test_reads_the_logs_own_reference(reference: Any) -> None:
    extra = json.dumps({"reference_tool_calls": reference})
    config = {"type": "trajectory-match", "mode": "exact"}
    assert graded_one(config, calling(call("s", '{"q":1}'), extra_json=extra)).passed is True
    assert graded_one(config, calling(call("s", '{"q":2}'), extra_json=extra)).passed is False


@pytest.mark.parametrize(
    ("extra", "options", "status"),
    [
        (None, {}, "skipped"),
        ("{}", {}, "skipped"),
        ("{}", {"on_missing_reference": "error"}, "error"),
        ("{}", {"on_missing_reference": "fail"}, "fail"),
        ('{"reference_tool_calls":[]}', {}, "pass"),
        ('{"reference_tool_calls":"s"}', {}, "error"),
        ('{"reference_tool_calls":[{"arguments":{}}]}', {}, "error"),
        ('{"reference_tool_calls":[{"name":"s","arguments":"{bad"}]}', {}, "error"),
    ],
)
def test_missing_references(extra: str | None, options: dict[str, Any], status: str) -> None:
    outcome = graded_one({"type": "trajectory-match", "mode": "exact", **options}, Trajectory(extra_json=extra))
    assert outcome.status.value == status


def test_too_many_pairs_are_an_error() -> None:
    calls = [ToolCall("s", f'{{"q":{number}}}') for number in range(600)]
    extra = json.dumps({"reference_tool_calls": [{"name": "s"}] * 600})
    config = {"type": "trajectory-match", "mode": "any-order", "arguments": "subset"}
    outcome = graded_one(config, calling(*calls, extra_json=extra))
    assert outcome.error_type is ErrorType.SCHEMA_RESOURCE_LIMIT


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"mode": "strict"},
        {"mode": "single-tool"},
        {"mode": "exact", "tool": "a"},
        {"mode": "single-tool", "tool": "a", "expected": []},
        {"mode": "exact", "threshold": 0.5},
        {"mode": "exact", "expected": [{"arguments": {}}]},
    ],
)
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "trajectory-match", **config})


WORDS = st.lists(st.sampled_from(["a", "b", "s", "s1", "s2"]), max_size=5).map(" ".join)


@settings(max_examples=40)
@given(WORDS, WORDS, st.sampled_from(["exact", "subset", "ignore"]))
def test_the_modes_imply_each_other(expected: str, actual: str, arguments: str) -> None:
    passed = {
        mode: match(mode, expected, actual, arguments=arguments).passed
        for mode in ("exact", "in-order", "any-order", "unordered", "subset", "superset")
    }
    measures = match("f1", expected, actual, arguments=arguments).details
    assert not passed["exact"] or (passed["in-order"] and passed["unordered"])
    assert not passed["in-order"] or passed["any-order"]
    assert passed["unordered"] is (passed["subset"] and passed["superset"])
    assert passed["superset"] is passed["any-order"]
    assert (measures["f1"] == 1.0) is passed["unordered"]
    assert passed["any-order"] is (measures["recall"] == 1.0 or not expected)
