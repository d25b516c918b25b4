"""One grader on one record, without files and without a pipeline: the pipeline's code on a batch of one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graders.configured import ConfiguredGrader, configure
from graders.errors import ConfigError
from graders.grader import CompositeGrader, exception_score
from graders.judges.judge_grader import JudgeGrader
from graders.judges.request import Judge
from graders.record import to_trajectory
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import Score
from schemas.trajectory import Trajectory


def evaluate(
    grader_config: Mapping[str, Any],
    record: Mapping[str, Any] | Trajectory,
    *,
    profile: str | None = None,
    judge: Judge | None = None,
) -> Score:
    """The outcome of one grader on one record.

    Args:
        grader_config: a grader object as in a suite, `{"type": "regex", "pattern": "…"}`. Its `sample` and `when` do
            not apply here.
        record: a mapping with any of `messages`, `output`, `reference`, `events`, `metrics`, `metadata` (see
            `graders.record`), or a trajectory.
        profile: whose vocabulary the object is written in (`vally`, `aludel`, `dashboard`); the object's own `profile`
            comes first.
        judge: for graders that ask an LLM: called with each request, gives the reply's text or object, raises for a
            failed call.

    Raises:
        ConfigError: the grader object is wrong, needs a judge and got none, or combines other graders' outcomes.
        TypeError: the record is none.
    """
    return evaluate_configured(configure(grader_config, profile=profile), record, judge=judge)


def evaluate_configured(
    configured: ConfiguredGrader, record: Mapping[str, Any] | Trajectory, *, judge: Judge | None = None
) -> Score:
    """The same for a grader that is configured already, for use in a loop."""
    grader = configured.grader
    if isinstance(grader, CompositeGrader):
        raise ConfigError(f"{grader.type} combines other graders' outcomes: grade a suite instead", ("type",))
    trajectory = record if isinstance(record, Trajectory) else to_trajectory(record)
    started = time.perf_counter_ns()
    try:
        if not isinstance(grader, JudgeGrader):
            (score,) = grader.grade_batch(TrajectoryBatch.from_trajectories([trajectory])).to_scores()
        elif judge is None:
            raise ConfigError(
                f"{grader.type} asks an LLM: give `judge=`, a callable, or grade a suite with `routes`", ("type",)
            )
        else:
            score = grader.grade_row_with(trajectory, judge)
    except ConfigError:
        raise
    except Exception as exception:  # as in a run, a fault of the grader is an outcome
        score = exception_score(exception)
    if score.duration_us is None:
        score = replace(score, duration_us=(time.perf_counter_ns() - started) // 1_000)
    return replace(score, grader_name=configured.name, grader_type=configured.type, grader_hash=configured.grader_hash)
