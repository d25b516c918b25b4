"""Short ways to write records and outcomes in tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graders.configured import configure
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import Score
from schemas.trajectory import Message, Trajectory


def said(*texts: str | None, **more: Any) -> dict[str, Any]:
    """A record of assistant messages; None is a bare tool call."""
    return {"messages": [{"role": "assistant", "content": text} for text in texts], **more}


def outputs(*texts: str | None) -> list[Trajectory]:
    """Trajectories with these outputs."""
    return [Trajectory(output=text) for text in texts]


def transcripts(*rows: Sequence[str | None]) -> list[Trajectory]:
    """Trajectories with these assistant messages."""
    return [Trajectory(messages=tuple(Message("assistant", text) for text in texts)) for texts in rows]


def grade(trajectories: Sequence[Trajectory], **config: Any) -> list[Score]:
    """The outcomes of one canonical grader on a batch of trajectories."""
    return configure(config).grader.grade_batch(TrajectoryBatch.from_trajectories(trajectories)).to_scores()


def statuses(trajectories: Sequence[Trajectory], **config: Any) -> list[str]:
    """Their statuses alone."""
    return [score.status.value for score in grade(trajectories, **config)]
