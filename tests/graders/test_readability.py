from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from graders.readability import TextCounts, counted, readability, syllables
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one

SIMPLE = "The cat sat on the mat. The dog ran to the door. We all had fun. It was a good day for us."
HARD = (
    "Notwithstanding considerable organisational heterogeneity, institutional accountability mechanisms "
    "systematically necessitate comprehensive interdepartmental communication, particularly regarding "
    "constitutionally mandated administrative responsibilities and multilateral environmental obligations."
)


@pytest.mark.parametrize(
    ("word", "count"),
    [("cat", 1), ("hello", 2), ("beautiful", 3), ("make", 1), ("table", 2), ("jumped", 1), ("wanted", 2), ("the", 1),
     ("rhythm", 1), ("idea", 2), ("makes", 1), ("hmm", 1), ("readability", 5)],
)  # fmt: skip
def test_syllables(word: str, count: int) -> None:
    assert syllables(word) == count


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("The cat sat.", TextCounts(9, 3, 1, 3)),
        ("One. Two! Three?", TextCounts(11, 3, 3, 3)),
        ("No end", TextCounts(5, 2, 1, 2)),
        ("It costs 3.50 today.", TextCounts(15, 5, 1, 6)),
        ("First\n\nSecond", TextCounts(11, 2, 2, 3)),
        ("One.\n\nTwo.\n\n", TextCounts(6, 2, 2, 2)),
        ("Wait... what?!", TextCounts(8, 2, 2, 2)),
        ("", TextCounts(0, 0, 1, 0)),
    ],
)
def test_counts(text: str, counts: TextCounts) -> None:
    assert counted(text) == counts


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("flesch-reading-ease", 206.835 - 1.015 * 10 - 84.6 * 1.5),
        ("flesch-kincaid-grade", 0.39 * 10 + 11.8 * 1.5 - 15.59),
        ("automated-readability", 4.71 * 4.5 + 0.5 * 10 - 21.43),
        ("coleman-liau", 5.88 * 4.5 - 29.6 * 0.1 - 15.8),
    ],
)
def test_formulas(metric: str, value: float) -> None:
    assert readability(TextCounts(450, 100, 10, 150), metric) == pytest.approx(value)


@pytest.mark.parametrize(
    ("options", "output", "status"),
    [
        ({"maximum": 5.0}, SIMPLE, "pass"),
        ({"maximum": 12.0}, HARD, "fail"),
        ({"metric": "flesch-reading-ease", "minimum": 80.0}, SIMPLE, "pass"),
        ({"metric": "flesch-reading-ease", "minimum": 80.0}, HARD, "fail"),
        ({"metric": "coleman-liau", "maximum": 8.0}, SIMPLE, "pass"),
        ({"metric": "automated-readability", "minimum": 12.0}, SIMPLE, "fail"),
        ({"maximum": 5.0}, "Too short.", "skipped"),
        ({"maximum": 5.0}, None, "error"),
    ],
)
def test_grading(options: dict[str, Any], output: str | None, status: str) -> None:
    assert (
        graded_one({"type": "readability", "min_words": 10, **options}, Trajectory(output=output)).status.value
        == status
    )


@pytest.mark.parametrize("options", [{}, {"minimum": 5.0, "maximum": 4.0}, {"metric": "smog", "maximum": 5.0}])
def test_refuses_a_configuration(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "readability", **options})
