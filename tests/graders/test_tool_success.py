from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.trajectory import ToolResult, Trajectory
from tests.graders.run_grader import call, calling, graded_one

OK, BAD, UNSAID = (ToolResult("r", is_error=value) for value in (False, True, None))


@pytest.mark.parametrize(
    ("options", "results", "status", "score"),
    [
        ({}, (OK, OK), "pass", 1.0),
        ({}, (OK, BAD), "fail", 0.5),
        ({"max_error_rate": 0.5}, (OK, BAD), "pass", 0.5),
        ({"max_error_rate": 0.3}, (OK, OK, BAD), "fail", 2 / 3),
        ({"max_error_rate": 1 / 3}, (OK, OK, BAD), "pass", 2 / 3),
        ({}, (OK, UNSAID), "error", None),
        ({}, (BAD, UNSAID), "fail", None),
        ({"max_error_rate": 0.5}, (OK, UNSAID), "pass", None),
        ({"unknown": "success"}, (OK, UNSAID), "pass", 1.0),
        ({"unknown": "failure"}, (OK, UNSAID), "fail", 0.5),
        ({}, (), "skipped", None),
        ({"on_no_results": "pass"}, (), "pass", 1.0),
        ({"on_no_results": "fail"}, (), "fail", 0.0),
        ({"on_no_results": "error"}, (), "error", None),
    ],
)
def test_rates(options: dict[str, Any], results: tuple[ToolResult, ...], status: str, score: float | None) -> None:
    outcome = graded_one({"type": "tool-success", **options}, Trajectory(tool_results=results))
    assert outcome.status.value == status
    assert outcome.score == (None if score is None else pytest.approx(score))


def test_counts_calls_without_a_result_if_asked() -> None:
    trajectory = calling(call("a", id="1"), call("b", id="2"), tool_results=(ToolResult("r", "1", is_error=False),))
    assert graded_one({"type": "tool-success"}, trajectory).passed is True
    outcome = graded_one({"type": "tool-success", "unanswered": "failure"}, trajectory)
    assert (outcome.passed, outcome.score) == (False, 0.5)
    assert outcome.details == {"failed": 0, "succeeded": 1, "unknown": 0, "unanswered": 1}


def test_watches_chosen_tools() -> None:
    trajectory = calling(
        call("a", id="1"),
        call("b", id="2"),
        tool_results=(ToolResult("r", "1", is_error=False), ToolResult("r", "2", is_error=True)),
    )
    assert graded_one({"type": "tool-success", "tools": ["^a$"]}, trajectory).passed is True
    assert graded_one({"type": "tool-success", "tools": ["^b$"]}, trajectory).passed is False
    assert graded_one({"type": "tool-success", "tools": ["^c$"]}, trajectory).status.value == "skipped"


@pytest.mark.parametrize("options", [{"max_error_rate": 2.0}, {"tools": ["("]}, {"unknown": "maybe"}])
def test_refuses_a_configuration(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "tool-success", **options})
