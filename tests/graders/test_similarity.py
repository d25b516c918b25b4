from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.configured import configure
from graders.errors import ConfigError
from graders.similarity import similarity, words
from schemas.score import ErrorType
from schemas.trajectory import Message, Trajectory
from tests.graders.run_grader import graded_one

CAT = "the cat sat on the mat"


@pytest.mark.parametrize(
    ("metric", "text", "reference", "value"),
    [
        ("levenshtein", "kitten", "sitting", 1 - 3 / 7),
        ("levenshtein", "", "", 1.0),
        ("levenshtein", "", "abc", 0.0),
        ("levenshtein", "caf\u00e9", "cafe", 0.75),
        ("token-f1", "the the cat", "the cat cat", 2 * 2 / 6),
        ("token-f1", "The cat!", "the, cat", 1.0),
        ("token-f1", "", "", 1.0),
        ("token-f1", "", "a", 0.0),
        ("token-f1", "a", "b", 0.0),
        ("rouge-l", "police killed the gunman", "police kill the gunman", 0.75),
        ("rouge-l", "the gunman police killed", "police killed the gunman", 0.5),
        ("rouge-l", CAT, CAT, 1.0),
        ("bleu", CAT, CAT, 1.0),
        ("bleu", "completely different words here", CAT, 0.0),
        ("chrf", CAT, CAT, 1.0),
        ("chrf", "xyz", "abc", 0.0),
        ("chrf++", CAT, CAT, 1.0),
        ("bleu", "", "", 1.0),
        ("bleu", "", CAT, 0.0),
    ],
)
def test_measures(metric: str, text: str, reference: str, value: float) -> None:
    assert similarity(text, reference, metric) == pytest.approx(value, abs=1e-9)


def test_bleu_and_chrf_lie_between() -> None:
    for metric in ("bleu", "chrf", "chrf++"):
        value = similarity("the cat sat on a mat", CAT, metric)
        assert value is not None
        assert 0.3 < value < 0.95


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from(["levenshtein", "token-f1", "rouge-l"]))
def test_measures_are_symmetric_shares(text: str, reference: str, metric: str) -> None:
    value = similarity(text, reference, metric)
    assert value is not None
    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(similarity(reference, text, metric))
    assert similarity(text, text, metric) == 1.0


def test_ideographs_are_words() -> None:
    assert words("東京 is Großstadt_1!") == ["東", "京", "is", "grossstadt_1"]


@pytest.mark.parametrize(
    ("options", "trajectory", "status", "score"),
    [
        ({"threshold": 0.5}, Trajectory(output="abc", reference="abd"), "pass", 2 / 3),
        ({"threshold": 0.9}, Trajectory(output="abc", reference="abd"), "fail", 2 / 3),
        ({}, Trajectory(output="abc", reference="abd"), "scored", 2 / 3),
        ({"reference": "abc"}, Trajectory(output="abc", reference="x"), "scored", 1.0),
        ({"ignore_case": True, "trim_whitespace": True}, Trajectory(output=" ABC\n", reference="abc"), "scored", 1.0),
        ({}, Trajectory(output="abc"), "skipped", None),
        ({"on_missing_reference": "error"}, Trajectory(output="abc"), "error", None),
        ({}, Trajectory(reference="abc"), "error", None),
    ],
)
def test_grading(options: dict[str, Any], trajectory: Trajectory, status: str, score: float | None) -> None:
    outcome = graded_one({"type": "similarity", "metric": "levenshtein", **options}, trajectory)
    assert outcome.status.value == status
    assert outcome.score == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("scope", "status", "score"),
    [
        ({"turns": "any"}, "scored", 1.0),
        ({"turns": "all"}, "scored", 0.0),
        ({"turns": "any", "threshold": 0.9}, "pass", 1.0),
        ({"turns": "all", "threshold": 0.9}, "fail", 0.0),
        ({"turns": "first"}, "scored", 0.0),
        ({"turns": "last"}, "scored", 1.0),
        ({"turn": 0}, "scored", 0.0),
        ({"turn": 2}, "error", None),
    ],
)
def test_turns(scope: dict[str, Any], status: str, score: float | None) -> None:
    messages = (
        Message("assistant", "xyz"),
        Message("user", "abc"),
        Message("assistant", None),
        Message("assistant", "injected", flags=("injected",)),
        Message("assistant", "abc"),
    )
    config = {"type": "similarity", "metric": "levenshtein", "reference": "abc", **scope}
    outcome = graded_one(config, Trajectory(messages=messages))
    assert (outcome.status.value, outcome.score) == (status, score)
    assert (outcome.error_type is ErrorType.TURN_OUT_OF_RANGE) is (status == "error")


@pytest.mark.parametrize(("on_empty", "status"), [("fail", "fail"), ("pass", "pass"), ("error", "error")])
def test_no_messages(on_empty: str, status: str) -> None:
    config = {"type": "similarity", "metric": "levenshtein", "reference": "a", "turns": "any", "on_empty": on_empty}
    assert graded_one(config, Trajectory(output="a")).status.value == status


def test_long_texts_are_an_error() -> None:
    for metric, size in [("levenshtein", 40_000), ("chrf", 30_000), ("bleu", 30_000)]:
        config = {"type": "similarity", "metric": metric}
        outcome = graded_one(config, Trajectory(output="a" * size, reference="b" * size))
        assert outcome.error_type is ErrorType.SCHEMA_RESOURCE_LIMIT


@pytest.mark.parametrize(
    "options",
    [{}, {"metric": "cosine"}, {"metric": "bleu", "threshold": 2.0}, {"metric": "bleu", "turn": 1, "turns": "all"}],
)
def test_refuses_a_configuration(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "similarity", **options})
