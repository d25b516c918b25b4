"""What a run's judges would take: the input is read and the cheap graders run, but nothing is asked and nothing written."""

from __future__ import annotations

from collections.abc import Callable

from graders.grade_batch import GradeBatch
from graders.grading import due_rows, grade
from graders.judges import JudgeGrader
from graders.judges.estimate import Estimator
from pipelines.judging.process import open_cache
from pipelines.plan import RunPlan
from pipelines.reading.reader import BlockReader
from pipelines.reading.splitting import split


def estimate(plan: RunPlan) -> Estimator:
    """Judgments, tokens and dollars by judge, from the whole input.

    A judge's `when:` on another judge counts as met, for its outcome is not known. Logs whose trajectories lie spread over lines are
    estimated as far as their lines stand alone.
    """
    judges = plan.judges
    estimator = Estimator(judges.routes if judges is not None else {}, _cached(plan))
    reader = BlockReader(plan.suite.input, 0)
    for file in plan.inputs:
        for block in split(file, plan.suite.input):
            for loaded in reader.load(block):
                outcomes: dict[str, GradeBatch] = {}
                for grader in plan.graders:
                    if isinstance(grader.grader, JudgeGrader):
                        known = grader.common.when is None or grader.common.when.grader in (None, *outcomes)
                        rows = due_rows(grader, loaded.batch, outcomes) if known else None
                        due = loaded.batch if rows is None else loaded.batch.take(rows)
                        estimator.add(grader, due.rows)
                    elif grader.depends_on <= outcomes.keys():
                        outcomes[grader.name], _ = grade(grader, loaded.batch, outcomes)
    return estimator


def _cached(plan: RunPlan) -> Callable[[str], bool]:
    if plan.judges is None or plan.judges.refresh:
        return lambda key: False
    cache = open_cache(plan.judges)
    return lambda key: cache.get(key) is not None
