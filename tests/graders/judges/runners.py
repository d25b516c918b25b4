"""Making runners and blocks for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from graders.configured import configure
from graders.grade_batch import GradeBatch
from graders.judges.runner import JudgeRunner
from graders.trajectory_batch import TrajectoryBatch
from schemas.routes import RouteConfig
from schemas.score import Score
from schemas.trajectory import Trajectory
from tests.graders.judges.examples import LLM_SCORE, TRAJECTORY

PRICES = {"input": 2, "cached_input": 1, "output": 10}


def route(base_url: str, **more: Any) -> RouteConfig:
    """A route without waits that a test would feel."""
    return RouteConfig.model_validate({"base_url": base_url, "model": "fake", "prices": PRICES, **more})


def trajectories(count: int, text: str = "answer") -> list[Trajectory]:
    """Different trajectories."""
    return [
        replace(TRAJECTORY, trajectory_uid=f"u{number}", trajectory_id=f"t{number}", output=f"{text} {number}")
        for number in range(count)
    ]


@contextmanager
def running(routes: Mapping[str, RouteConfig], **more: Any) -> Iterator[JudgeRunner]:
    """A runner that backs off for a hundredth of the usual time, closed at the end."""
    runner = JudgeRunner(routes, random=more.pop("random", lambda: 0.01), **more)
    try:
        yield runner
    finally:
        runner.close()


def graded(runner: JudgeRunner, rows: list[Trajectory], entry: Mapping[str, Any] = LLM_SCORE) -> list[Score]:
    """The scores of one block."""
    block: GradeBatch = runner.grade(configure(entry), TrajectoryBatch.from_trajectories(rows), {})
    return block.to_scores()
