"""Grading trajectories with one grader object, as a run does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graders.configured import configure
from graders.grading import grade
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import Score
from schemas.trajectory import Message, ToolCall, Trajectory


def graded(config: Mapping[str, Any], *trajectories: Trajectory) -> list[Score]:
    """The outcomes of one grader over a batch."""
    return graded_batch(config, TrajectoryBatch.from_trajectories(trajectories))


def graded_batch(config: Mapping[str, Any], batch: TrajectoryBatch) -> list[Score]:
    """The outcomes of one grader over a batch that is made already."""
    return grade(configure(config), batch, {})[0].to_scores()


def graded_one(config: Mapping[str, Any], trajectory: Trajectory) -> Score:
    """The outcome of one grader on one trajectory."""
    (score,) = graded(config, trajectory)
    return score


def status_on_output(config: Mapping[str, Any], output: str | None, reference: str | None = None) -> str:
    """The status that a grader gives an output."""
    return graded_one(config, Trajectory(output=output, reference=reference)).status.value


def calling(*calls: ToolCall, **more: Any) -> Trajectory:
    """A trajectory that makes these calls, all in one assistant message unless they say otherwise."""
    messages = more.pop("messages", (Message("user", "go"), Message("assistant", None)))
    return Trajectory(messages=messages, tool_calls=calls, **more)


def call(name: str, arguments: str = "", message_index: int | None = 1, id: str | None = None) -> ToolCall:
    """A tool call with arguments as JSON text."""
    return ToolCall(name, arguments, id, message_index)
