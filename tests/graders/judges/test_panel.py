"""A panel aggregates the judges that answered."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.score import ErrorType, Status
from tests.graders.judges.examples import TRAJECTORY, judge_grader

PANEL = {"type": "panel", "rubric": "Must be correct.", "routes": ["a", "b", "c"]}


def _row(entry: dict[str, Any], scores: list[float | None]) -> Any:
    given = iter(scores)

    def judge(request: Any) -> dict[str, Any]:
        score = next(given)
        if score is None:
            raise TimeoutError
        return {"reasoning": f"{request.route}{request.repeat}", "score": score}

    return judge_grader(entry).grade_row_with(TRAJECTORY, judge)


@pytest.mark.parametrize(
    ("aggregation", "scores", "status", "native"),
    [
        ("mean", [100, 80, 60], "pass", 80.0),
        ("mean", [100, 80, 59], "fail", 239 / 3),
        ("median", [0, 80, 100], "pass", 80.0),
        ("min", [100, 100, 79], "fail", 79.0),
        ("majority", [80, 80, 0], "pass", 160 / 3),
        ("majority", [80, 0, None], "fail", 40.0),
        ("mean", [100, None, 60], "pass", 80.0),
    ],
)
def test_aggregation(aggregation: str, scores: list[float | None], status: str, native: float) -> None:
    row = _row({**PANEL, "aggregation": aggregation}, scores)
    assert row.status.value == status
    assert row.native_score == pytest.approx(native)
    known = [score for score in scores if score is not None]
    assert row.details["spread"] == max(known) - min(known)
    assert row.details["answered"] == len(known)
    assert [judge["route"] for judge in row.details["judges"]] == ["a", "b", "c"]
    assert row.judge_route == "a,b,c"


def test_too_few_answers_are_an_error() -> None:
    assert _row(PANEL, [None, None, None]).error_type is ErrorType.JUDGE_TIMEOUT
    assert _row({**PANEL, "min_judges": 3}, [100, 100, None]).status is Status.ERROR


def test_equal_routes_are_asked_for_votes_of_their_own() -> None:
    requests = judge_grader({**PANEL, "routes": ["a", "a", "b"]}).requests(TRAJECTORY)
    assert [(request.route, request.repeat) for request in requests] == [("a", 0), ("a", 1), ("b", 0)]
    assert len({request.cache_key for request in requests[:2]}) == 2
