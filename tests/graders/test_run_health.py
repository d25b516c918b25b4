import pytest

from graders.configured import configure
from schemas.score import ErrorType
from schemas.trajectory import Event, Trajectory
from tests.graders.run_grader import graded_one

END, ERROR = Event("turn_end"), Event("error")


@pytest.mark.parametrize(
    ("type_name", "meaning", "trajectory", "status"),
    [
        ("completed", "documented", Trajectory(output="x", events=(END,)), "pass"),
        ("completed", "documented", Trajectory(output="x"), "fail"),
        ("completed", "documented", Trajectory(output="", events=(END,)), "fail"),
        ("completed", "documented", Trajectory(events=(END,)), "fail"),
        ("completed", "documented", Trajectory(output="x", events=(ERROR, END)), "fail"),
        ("completed", "outcome", Trajectory(output="x", outcome="ok"), "pass"),
        ("completed", "outcome", Trajectory(output="", outcome="ok"), "fail"),
        ("completed", "outcome", Trajectory(output="x", outcome="limit"), "fail"),
        ("completed", "outcome", Trajectory(output="x"), "error"),
        ("exit-success", "documented", Trajectory(output="x", outcome="error"), "pass"),
        ("exit-success", "documented", Trajectory(output=""), "fail"),
        ("exit-success", "documented", Trajectory(), "fail"),
        ("exit-success", "outcome", Trajectory(output="x", outcome="error"), "fail"),
        ("exit-success", "outcome", Trajectory(output="x", outcome="ok"), "pass"),
    ],
)
def test_meanings(type_name: str, meaning: str, trajectory: Trajectory, status: str) -> None:
    outcome = graded_one({"type": type_name, "meaning": meaning}, trajectory)
    assert outcome.status.value == status
    assert (outcome.error_type is ErrorType.MISSING_FIELD) is (status == "error")


def test_the_documented_meaning_warns() -> None:
    (warning,) = configure({"type": "completed"}).warnings
    assert warning.warning
    assert "turn_end" in warning.message
    assert configure({"type": "completed", "meaning": "outcome"}).warnings == ()
