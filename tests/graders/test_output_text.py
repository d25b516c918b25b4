from __future__ import annotations

import pickle
from typing import Any

import pytest

from graders import ConfigError, evaluate
from graders.configured import configure
from schemas.score import ErrorType
from tests.graders.records import grade, outputs, statuses

KINDS: dict[str, dict[str, Any]] = {
    "output-contains": {"substring": "a"},
    "output-not-contains": {"substring": "a"},
    "output-matches": {"pattern": "a"},
    "output-not-matches": {"pattern": "a"},
    "regex": {"pattern": "a"},
    "contains": {"texts": ["a"]},
    "not-contains": {"texts": ["a"]},
    "exact": {"value": "a"},
    "length": {"max": 3},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["error", "fail", "skip"])
def test_missing_output(kind: str, policy: str) -> None:
    scores = grade(outputs("a", None, "b"), type=kind, on_missing_output=policy, **KINDS[kind])
    missing = scores[1]
    assert missing.status.value == {"error": "error", "fail": "fail", "skip": "skipped"}[policy]
    assert missing.error_type is (ErrorType.MISSING_OUTPUT if policy == "error" else None)
    assert missing.skip_reason == ("the trajectory has no output" if policy == "skip" else None)
    assert missing.explanation == ("✘ the trajectory has no output" if policy == "fail" else None)
    assert missing.passed is (False if policy == "fail" else None)
    assert missing.evidence == ()
    assert None not in (scores[0].passed, scores[2].passed)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_output_is_an_error_by_default(kind: str) -> None:
    assert statuses(outputs(None), type=kind, **KINDS[kind]) == ["error"]


@pytest.mark.parametrize(
    ("kind", "found", "absent"),
    [
        ("output-contains", "✔ 'a' found in output", "✘ 'a' NOT found in output"),
        ("output-not-contains", "✘ 'a' found in output", "✔ 'a' NOT found in output"),
        ("output-matches", "✔ output matches pattern /a/", "✘ output does not match pattern /a/"),
        ("output-not-matches", "✘ output matches pattern /a/", "✔ output does not match pattern /a/"),
        ("regex", "✔ output matches pattern /a/", "✘ output does not match pattern /a/"),
    ],
)
def test_sentences(kind: str, found: str, absent: str) -> None:
    assert [score.explanation for score in grade(outputs("xa", "x"), type=kind, **KINDS[kind])] == [found, absent]


@pytest.mark.parametrize("kind", ["output-contains", "output-matches", "regex", "contains"])
def test_negation_flips_pass_and_fail_alone(kind: str) -> None:
    rows = outputs("a", "b", "", None)
    assert statuses(rows, type=kind, **KINDS[kind]) == ["pass", "fail", "fail", "error"]
    assert statuses(rows, type=kind, negate=True, **KINDS[kind]) == ["fail", "pass", "pass", "error"]


def test_limits_stay_errors_when_negated() -> None:
    for kind in ("output-matches", "output-not-matches"):
        (score,) = grade(outputs("a" * 11), type=kind, pattern="a", limits={"subject_bytes": 10})
        assert (score.status.value, score.error_type) == ("error", ErrorType.REGEX_RESOURCE_LIMIT)
        assert score.details == {"limit": "subject_size"}
        assert "aaa" not in (score.error_message or "")


def test_a_pattern_over_its_limit_is_an_error_of_every_row() -> None:
    scores = grade(outputs("a", "b"), type="output-not-matches", pattern="a" * 4097)
    assert [score.details for score in scores] == [{"limit": "pattern_size"}] * 2
    assert statuses(outputs("a" * 1000), type="output-matches", pattern="a" * 1000) == ["pass"]


def test_case_sensitivity() -> None:
    rows = outputs("Hello", "hello")
    assert statuses(rows, type="output-contains", substring="HELLO") == ["fail", "fail"]
    assert statuses(rows, type="output-contains", substring="HELLO", case_sensitive=False) == ["pass", "pass"]


def test_evidence_names_the_message_that_holds_the_output() -> None:
    record = {
        "messages": [
            {"role": "assistant", "content": "wait"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "done ✓ ok"},
        ]
    }
    (place,) = evaluate({"type": "output-contains", "substring": "ok"}, record).evidence
    assert (place.message_index, place.start, place.end, place.quote) == (2, 7, 9, "ok")
    (elsewhere,) = evaluate({"type": "output-contains", "substring": "ok"}, {**record, "output": "not ok"}).evidence
    assert (elsewhere.message_index, elsewhere.start) == (None, 4)


def test_quotes_are_bounded() -> None:
    (place,) = grade(outputs("é" * 1000), type="regex", pattern="é+")[0].evidence
    assert (place.start, place.end) == (0, 1000)
    assert place.quote == "é" * 199 + "…"


def test_quotes_of_a_mixed_batch() -> None:
    rows = outputs("x" * 300, "nothing", "äx", "ax" * 150, "x")
    quotes = [[place.quote for place in score.evidence] for score in grade(rows, type="regex", pattern="x+")]
    assert quotes == [["x" * 199 + "…"], [], ["x"], ["x"], ["x"]]


def test_long_literals_are_found_too() -> None:
    needle = "lorem ipsum (.*) " * 30
    rows = outputs(f"ä{needle}!", needle[1:])
    scores = grade(rows, type="output-contains", substring=needle)
    assert [score.status.value for score in scores] == ["pass", "fail"]
    assert (scores[0].evidence[0].start, scores[0].evidence[0].end) == (1, 1 + len(needle))


@pytest.mark.parametrize("literal", [".*", "a\nb", "\\", "[", "a b", "\x00", "é", "😀", "$", "(?i)"])
def test_literals_are_taken_literally(literal: str) -> None:
    assert statuses(outputs(f"-{literal}-", "-"), type="output-contains", substring=literal) == ["pass", "fail"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"type": "output-contains", "substring": ""}, "substring: "),
        ({"type": "output-contains"}, "substring: this field is required"),
        ({"type": "output-contains", "substring": 5}, "substring: "),
        ({"type": "output-matches", "pattern": "("}, r"pattern: not a pattern of the python dialect.*at character"),
        ({"type": "output-matches", "pattern": "a++", "dialect": "ecma"}, "pattern: not a pattern of the ecma dialect"),
        ({"type": "output-matches", "pattern": "a", "dialect": "perl"}, "dialect: "),
        ({"type": "output-matches", "pattern": "a", "limits": {"cpu_ms": 101}}, "limits.cpu_ms: .*not raise"),
        ({"type": "output-matches", "pattern": "a", "limits": {"cpu": 1}}, "limits.cpu: unknown field"),
        ({"type": "output-matches", "patern": "a"}, 'patern: unknown field .*did you mean "pattern"'),
        ({"type": "regex", "pattern": "a", "flags": "x"}, "flags: unknown flag"),
        ({"type": "regex", "pattern": "a", "flags": "ii"}, "flags: a repeated flag"),
        ({"type": "regex", "pattern": "a", "flags": "u", "dialect": "ecma"}, "flags: not supported"),
    ],
)
def test_bad_configurations(config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configure(config)


@pytest.mark.parametrize(
    ("flags", "text", "wanted"),
    [("", "A\nb", "fail"), ("i", "A", "pass"), ("m", "x\na\ny", "pass"), ("s", "a", "pass"), ("im", "x\nA", "pass")],
)
def test_regex_flags(flags: str, text: str, wanted: str) -> None:
    assert statuses(outputs(text), type="regex", pattern="^a$", flags=flags) == [wanted]


def test_flags_are_shown_behind_the_pattern() -> None:
    (score,) = grade(outputs("A"), type="regex", pattern="a", flags="i")
    assert score.explanation == "✔ output matches pattern /a/i"


def test_explains_the_tier_of_its_pattern() -> None:
    (line,) = configure({"type": "regex", "pattern": "a"}).grader.explain()
    assert line.startswith("linear: ")


@pytest.mark.parametrize("kind", KINDS)
def test_graders_travel_as_their_configuration(kind: str) -> None:
    grader = configure({"type": kind, **KINDS[kind]}).grader
    again = pickle.loads(pickle.dumps(grader))
    assert (type(again), again.config) == (type(grader), grader.config)
