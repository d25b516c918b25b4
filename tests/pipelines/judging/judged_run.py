"""A process that judges, for tests that kill it: `python -m tests.pipelines.judging.judged_run URL FOLDER COUNT KIND [FIELDS]`.

Prints one line of JSON: counts of its rows, or of the batches that it waits for.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from decimal import Decimal

from graders.configured import configure
from graders.judges.batch_desk import BatchPending
from graders.trajectory_batch import TrajectoryBatch
from pipelines.judging.plan import judge_plan
from pipelines.judging.process import close_runners, runner_for
from tests.graders.judges.examples import LLM_SCORE
from tests.graders.judges.runners import route, trajectories


def main(url: str, folder: str, count: str, kind: str, fields: str = "{}", text: str = "answer") -> None:
    """Judge so many trajectories with what earlier executions left in the folder."""
    judge = configure(LLM_SCORE)
    plan = judge_plan(
        "r_1",
        folder,
        [judge],
        {"only": route(url, **json.loads(fields))},
        distributed=kind == "distributed",
        processes=1 if kind == "distributed" else None,
    )
    block = TrajectoryBatch.from_trajectories(trajectories(int(count), text))
    try:
        rows = runner_for(plan).grade(judge, block, {}).to_scores()
    except BatchPending as pending:
        close_runners()
        print(json.dumps({"pending": len(pending.args)}))
        return
    close_runners()
    cost = sum((row.cost_usd or Decimal(0)) for row in rows)
    counts = Counter(row.status.value for row in rows)
    asked = sum(row.attempts for row in rows)
    print(json.dumps({**counts, "attempts": asked, "cached": sum(row.cached for row in rows), "cost": str(cost)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
