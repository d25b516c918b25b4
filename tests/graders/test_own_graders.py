"""What a grader of one's own may do wrong, and what then becomes of its rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from graders.grade_batch import GradeBatch, from_scores
from graders.grader import Grader, GraderConfig, RowGrader
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, Status, verdict
from schemas.trajectory import Trajectory


class Misbehaving(RowGrader[GraderConfig]):
    """Does what the output says."""

    type = "misbehaving"
    config_model = GraderConfig

    def grade_row(self, trajectory: Trajectory) -> Score:
        answers: dict[str | None, Any] = {
            "nan": Score(Status.SCORED, score=math.nan),
            "infinite": verdict(True, native_score=math.inf),
            "none": None,
            "number": 0.5,
            "fine": verdict(True),
        }
        answer: Score = answers[trajectory.output]
        return answer


class CountingWords(Grader[GraderConfig]):
    """Looks at a whole batch at once."""

    type = "counting-words"
    config_model = GraderConfig

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        counts = [len((text or "").split()) for text in batch.column("output").to_pylist()]
        return from_scores([verdict(count > 1, native_score=float(count)) for count in counts])


@pytest.mark.parametrize(
    ("output", "error_type"),
    [
        ("nan", ErrorType.NON_FINITE_SCORE),
        ("infinite", ErrorType.NON_FINITE_SCORE),
        ("none", ErrorType.GRADER_EXCEPTION),
        ("number", ErrorType.GRADER_EXCEPTION),
        ("anything else", ErrorType.GRADER_EXCEPTION),
    ],
)
def test_a_fault_is_an_error_of_its_row_alone(output: str, error_type: ErrorType) -> None:
    batch = TrajectoryBatch.from_trajectories([Trajectory(output=text) for text in ("fine", output, "fine")])
    scores = Misbehaving(GraderConfig()).grade_batch(batch).to_scores()
    assert [score.status for score in scores] == [Status.PASS, Status.ERROR, Status.PASS]
    assert scores[1].error_type is error_type
    assert (scores[1].score, scores[1].native_score) == (None, None)


def test_a_grader_may_take_whole_batches() -> None:
    batch = TrajectoryBatch.from_trajectories([Trajectory(output="a b"), Trajectory(output="a"), Trajectory()])
    scores = CountingWords(GraderConfig()).grade_batch(batch).to_scores()
    assert [(score.passed, score.native_score) for score in scores] == [(True, 2.0), (False, 1.0), (False, 0.0)]
