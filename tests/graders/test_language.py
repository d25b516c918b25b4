from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one

ENGLISH = "Your refund is on its way and should reach your account within two days."
FRENCH = "Votre remboursement est en cours et devrait arriver sur votre compte dans deux jours."
GERMAN = "Ihre Rückerstattung ist unterwegs und sollte in zwei Tagen auf Ihrem Konto sein."
JAPANESE = "返金の手続きが完了しました。二日以内に口座に入金されます。"


@pytest.mark.parametrize(
    ("expected", "output", "status", "label"),
    [
        (["en"], ENGLISH, "pass", "en"),
        (["en"], FRENCH, "fail", "fr"),
        (["de", "fr"], GERMAN, "pass", "de"),
        (["ja"], JAPANESE, "pass", "ja"),
        (["en"], "12345", "skipped", None),
        (["en"], "", "skipped", None),
        (["fr"], f"{FRENCH}\n```python\nfor value in values:\n    print(value, file=handle)\n```", "pass", "fr"),
    ],
)
def test_languages(expected: list[str], output: str, status: str, label: str | None) -> None:
    outcome = graded_one({"type": "language", "expected": expected}, Trajectory(output=output))
    assert (outcome.status.value, outcome.label) == (status, label)


@pytest.mark.parametrize(
    ("question", "output", "status"),
    [(FRENCH, GERMAN, "fail"), (FRENCH, FRENCH, "pass"), ("ok", FRENCH, "skipped"), (None, FRENCH, "error")],
)
def test_the_answer_is_in_the_language_of_the_question(question: str | None, output: str, status: str) -> None:
    outcome = graded_one({"type": "language", "same_as_input": True}, Trajectory(input=question, output=output))
    assert outcome.status.value == status


def test_candidates_make_short_texts_surer() -> None:
    short = Trajectory(output="Guten Morgen")
    config = {"type": "language", "expected": ["de"], "candidates": ["de", "en"]}
    assert graded_one(config, short).passed is True
    assert graded_one({**config, "candidates": ["de", "ja"], "expected": ["ja"]}, short).passed is False


@pytest.mark.parametrize(("policy", "status"), [("skip", "skipped"), ("fail", "fail"), ("error", "error")])
def test_what_cant_be_told(policy: str, status: str) -> None:
    outcome = graded_one({"type": "language", "expected": ["en"], "on_uncertain": policy}, Trajectory(output="42"))
    assert outcome.status.value == status
    assert (outcome.error_type is ErrorType.MISSING_FIELD) is (status == "error")


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({}, ()),
        ({"expected": ["en"], "same_as_input": True}, ()),
        ({"expected": ["english"]}, ("expected", 0)),
        ({"expected": ["en"], "candidates": ["en", "xx"]}, ("candidates", 1)),
        ({"expected": ["en"], "candidates": ["de", "fr"]}, ("candidates",)),
    ],
)
def test_refuses_a_configuration(config: dict[str, Any], path: tuple[str | int, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        configure({"type": "language", **config})
    assert caught.value.problems[0].path == path
