"""Three-valued composition. Letters: p pass, f fail, e error, k skipped, s scored, - not due."""

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graders.configured import configure, configure_all
from graders.errors import ConfigError
from graders.grade_batch import STATUSES, GradeBatch, from_scores
from graders.grader import CompositeGrader
from graders.grading import grade
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, Status, error, skipped, verdict
from schemas.trajectory import Trajectory

OUTCOME = {
    "p": verdict(True),
    "f": verdict(False),
    "e": error(ErrorType.GRADER_EXCEPTION, "broken"),
    "k": skipped("not due"),
    "s": Score(Status.SCORED, score=0.9),
}
LETTER = {Status.PASS: "p", Status.FAIL: "f", Status.ERROR: "e", Status.SKIPPED: "k"}


def child(letter: str) -> GradeBatch:
    """One row with the outcome of a letter."""
    if letter == "-":
        return GradeBatch(np.zeros(0, np.int8), pa.array([], pa.float64()), rows=np.zeros(0, np.int64))
    return from_scores([OUTCOME[letter]])


def combined(config: dict[str, Any], letters: str) -> Score:
    names = [f"g{place}" for place in range(len(letters))]
    config = (
        {**config, "weights": dict(zip(names, config["weights"], strict=True))}
        if config["type"] == "weighted"
        else {**config, "graders": names}
    )
    grader = configure(config).grader
    assert isinstance(grader, CompositeGrader)
    (score,) = grader.combine(1, {name: child(letter) for name, letter in zip(names, letters, strict=True)}).to_scores()
    return score


def letter_of(config: dict[str, Any], letters: str) -> str:
    return LETTER[combined(config, letters).status]


ALL = {"pp": "p", "pf": "f", "ff": "f", "pe": "e", "fe": "f", "ee": "e", "pk": "p", "fk": "f", "ek": "e", "kk": "k"}
ANY = {"pp": "p", "pf": "p", "ff": "f", "pe": "p", "fe": "e", "ee": "e", "pk": "p", "fk": "f", "ek": "e", "kk": "k"}
MORE_OF_ALL = {
    "p-": "p",
    "f-": "f",
    "--": "k",
    "-k": "k",
    "ps": "e",
    "fs": "f",
    "ss": "e",
    "p": "p",
    "ppf": "f",
    "pek": "e",
}
MORE_OF_ANY = {
    "p-": "p",
    "f-": "f",
    "--": "k",
    "-k": "k",
    "ps": "p",
    "fs": "e",
    "ss": "e",
    "p": "p",
    "ffp": "p",
    "fek": "e",
}


@pytest.mark.parametrize(("letters", "outcome"), [*ALL.items(), *MORE_OF_ALL.items()])
def test_all_of(letters: str, outcome: str) -> None:
    assert letter_of({"type": "all-of"}, letters) == outcome
    assert letter_of({"type": "all-of"}, letters[::-1]) == outcome


@pytest.mark.parametrize(("letters", "outcome"), [*ANY.items(), *MORE_OF_ANY.items()])
def test_any_of(letters: str, outcome: str) -> None:
    assert letter_of({"type": "any-of"}, letters) == outcome
    assert letter_of({"type": "any-of"}, letters[::-1]) == outcome


@pytest.mark.parametrize(
    ("letters", "outcome"),
    [
        ("ppp", "p"),
        ("ppf", "p"),
        ("pff", "f"),
        ("ppe", "p"),
        ("pfe", "e"),
        ("ffe", "f"),
        ("pee", "e"),
        ("eee", "e"),
        ("ppk", "p"),
        ("pfk", "f"),
        ("pek", "e"),
        ("pkk", "k"),
        ("fkk", "k"),
        ("kkk", "k"),
        ("p--", "k"),
        ("pps", "p"),
        ("pfs", "e"),
    ],
)
def test_at_least_two(letters: str, outcome: str) -> None:
    assert letter_of({"type": "at-least", "count": 2}, letters) == outcome


@pytest.mark.parametrize("letters", ["".join(pair) for pair in product("pfeks-", repeat=3)])
def test_an_error_stands_just_where_it_could_change_the_outcome(letters: str) -> None:
    for config in ({"type": "all-of"}, {"type": "any-of"}, {"type": "at-least", "count": 2}):
        outcome = letter_of(config, letters)
        resolved = {
            letter_of(config, "".join(choice)) for choice in product(*("pf" if x in "es" else x for x in letters))
        }
        assert outcome == (resolved.pop() if len(resolved) == 1 else "e")


@pytest.mark.parametrize(("letters", "outcome"), [("pp", "f"), ("pf", "p"), ("pe", "e"), ("kk", "k")])
def test_negation_turns_verdicts_alone(letters: str, outcome: str) -> None:
    assert letter_of({"type": "all-of", "negate": True}, letters) == outcome


@pytest.mark.parametrize(
    ("weights", "letters", "threshold", "outcome", "score"),
    [
        ([1.0, 1.0], "pf", 0.5, "p", 0.5),
        ([1.0, 1.0], "pf", 0.51, "f", 0.5),
        ([1.0, 0.5], "pf", 0.7, "f", 2 / 3),
        ([3.0, 1.0], "pk", 1.0, "p", 1.0),
        ([3.0, 1.0], "fk", 0.1, "f", 0.0),
        ([1.0, 1.0], "pe", 0.5, "e", None),
        ([1.0, 1.0], "ps", 0.5, "e", None),
        ([1.0, 1.0], "kk", 0.0, "k", None),
        ([1.0, 1.0], "--", 0.0, "k", None),
        ([0.1, 0.1, 0.1], "ppp", 1.0, "p", 1.0),
    ],
)
def test_weighted(weights: list[float], letters: str, threshold: float, outcome: str, score: float | None) -> None:
    result = combined({"type": "weighted", "weights": weights, "threshold": threshold}, letters)
    assert LETTER[result.status] == outcome
    assert result.score == (None if score is None else pytest.approx(score))


def test_tells_why() -> None:
    assert combined({"type": "all-of"}, "ps").error_message == (
        "a child gives a score without a threshold, so it neither passes nor fails: give it a threshold"
    )
    assert combined({"type": "all-of"}, "pe").error_message == "a child could not be graded"
    assert combined({"type": "all-of"}, "kk").skip_reason == "none of the children applies"
    assert combined({"type": "at-least", "count": 2}, "pkk").skip_reason == "fewer children apply than have to pass"
    assert combined({"type": "at-least", "count": 2}, "pfp").explanation == "2 of 3 children pass, 2 needed"
    assert combined({"type": "all-of"}, "pf").score == 0.0


def test_rows_of_a_batch_meet_their_own_children() -> None:
    suite = [
        {"name": "both", "type": "all-of", "graders": ["a", "b"]},
        {"name": "a", "type": "one-of", "values": ["x", "y"]},
        {"name": "b", "type": "one-of", "values": ["x", "z"], "when": {"grader": "a", "status": "pass"}},
    ]
    batch = TrajectoryBatch.from_trajectories([Trajectory(output=text) for text in ("x", "y", "z", None)])
    outcomes: dict[str, GradeBatch] = {}
    for one in configure_all(suite):
        outcomes[one.name], _ = grade(one, batch, outcomes)
    assert list(outcomes) == ["a", "b", "both"]
    assert [STATUSES[code].value for code in outcomes["both"].status] == ["pass", "fail", "fail", "error"]


@pytest.mark.parametrize(
    "config",
    [
        {"type": "all-of", "graders": []},
        {"type": "all-of", "graders": ["a", "a"]},
        {"type": "at-least", "graders": ["a"], "count": 2},
        {"type": "at-least", "graders": ["a"], "count": 0},
        {"type": "weighted", "weights": {}, "threshold": 0.5},
        {"type": "weighted", "weights": {"a": 0.0}, "threshold": 0.5},
        {"type": "weighted", "weights": {"a": -1.0}, "threshold": 0.5},
        {"type": "weighted", "weights": {"a": 1.0}},
        {"type": "weighted", "weights": {"a": 1.0}, "threshold": 2.0},
    ],
)
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure(config)


def test_a_child_that_gives_a_number_is_refused_when_the_suite_loads() -> None:
    number = {"name": "near", "type": "similarity", "metric": "levenshtein", "reference": "x"}
    with pytest.raises(ConfigError, match="gives a number without a threshold"):
        configure_all([{"name": "all", "type": "all-of", "graders": ["near"]}, number])
    assert (
        len(configure_all([{"name": "all", "type": "all-of", "graders": ["near"]}, {**number, "threshold": 0.5}])) == 2
    )
