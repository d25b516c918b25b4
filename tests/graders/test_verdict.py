import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.verdict import TRAJECTORY_VERDICT_SQL, Outcome, TrajectoryVerdict, trajectory_verdict
from schemas.score import Status

PASS, FAIL, ERROR = Outcome(Status.PASS, 1.0), Outcome(Status.FAIL, 0.0), Outcome(Status.ERROR)
SKIPPED, SCORED = Outcome(Status.SKIPPED), Outcome(Status.SCORED, 0.9)


def weighing(outcome: Outcome, weight: float, required: bool = False) -> Outcome:
    return Outcome(outcome.status, outcome.score, weight, required)


@pytest.mark.parametrize(
    ("outcomes", "threshold", "status", "score"),
    [
        ([], None, "skipped", None),
        ([SKIPPED, SKIPPED], None, "skipped", None),
        ([PASS, PASS], None, "pass", 1.0),
        ([PASS, FAIL], None, "fail", 0.5),
        ([PASS, SKIPPED], None, "pass", 1.0),
        ([FAIL, ERROR], None, "error", None),
        ([PASS, ERROR], 0.1, "error", None),
        ([weighing(FAIL, 1, required=True), ERROR], None, "error", None),
        ([PASS, SCORED], None, "pass", 0.95),
        ([SCORED], None, "skipped", 0.9),
        ([SCORED], 0.9, "pass", 0.9),
        ([SCORED], 0.91, "fail", 0.9),
        ([PASS, FAIL], 0.5, "pass", 0.5),
        ([PASS, FAIL], 0.51, "fail", 0.5),
        ([weighing(PASS, 1.0), weighing(FAIL, 0.5)], 0.7, "fail", 2 / 3),
        ([weighing(PASS, 9.0), weighing(FAIL, 1.0, required=True)], 0.5, "fail", 0.9),
        ([weighing(PASS, 1.0, required=True), weighing(FAIL, 1.0)], 0.5, "pass", 0.5),
        ([PASS, weighing(ERROR, 0.0)], None, "pass", 1.0),
        ([PASS, weighing(FAIL, 0.0)], None, "pass", 1.0),
        ([PASS, weighing(FAIL, 0.0, required=True)], 0.5, "fail", 1.0),
        ([PASS, weighing(ERROR, 0.0, required=True)], 0.5, "error", None),
        ([weighing(PASS, 0.0, required=True)], 0.5, "pass", None),
    ],
)
def test_rules(outcomes: list[Outcome], threshold: float | None, status: str, score: float | None) -> None:
    verdict = trajectory_verdict(outcomes, threshold)
    assert verdict.status.value == status
    assert verdict.score == (None if score is None else pytest.approx(score))


OUTCOMES = st.builds(
    weighing,
    st.sampled_from([PASS, FAIL, ERROR, SKIPPED, SCORED, Outcome(Status.FAIL, 0.4)]),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(OUTCOMES, min_size=4, max_size=4), min_size=1, max_size=8),
    st.none() | st.sampled_from([0.0, 0.5, 0.9]),
)
def test_sql_says_the_same(weighed: list[list[Outcome]], threshold: float | None) -> None:
    first = weighed[0]
    rows = [
        [Outcome(one.status, one.score, first[place].weight, first[place].required) for place, one in enumerate(row)]
        for row in weighed
    ]
    graders = pa.table(
        {
            "run_id": ["r"] * 4,
            "grader_name": [f"g{place}" for place in range(4)],
            "weight": [one.weight for one in first],
            "required": [one.required for one in first],
        }
    )
    flat = [(f"t{number}", place, one) for number, row in enumerate(rows) for place, one in enumerate(row)]
    scores = pa.table(
        {
            "run_id": ["r"] * len(flat),
            "trajectory_uid": [uid for uid, _, _ in flat],
            "grader_name": [f"g{place}" for _, place, _ in flat],
            "status": [one.status.value for _, _, one in flat],
            "score": pa.array([one.score for _, _, one in flat], pa.float64()),
        }
    )
    with duckdb.connect() as connection:
        connection.register("scores", scores)
        connection.register("graders", graders)
        found = connection.execute(TRAJECTORY_VERDICT_SQL, {"threshold": threshold}).fetchall()
    assert len(found) == len(rows)
    for _, uid, status, score in found:
        expected: TrajectoryVerdict = trajectory_verdict(rows[int(uid[1:])], threshold)
        assert status == expected.status.value
        assert score == (None if expected.score is None else pytest.approx(expected.score))
