"""A trajectory's overall verdict from the outcomes of its graders, and trials of one task.

The one place where an error outranks a fail: a trajectory whose check could not be made has no verdict, whatever else
is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.score import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one grader says of the trajectory, with its place in the suite."""

    status: Status
    score: float | None = None
    weight: float = 1.0
    required: bool = False


@dataclass(frozen=True, slots=True)
class TrajectoryVerdict:
    """`status` is pass, fail, error or skipped; `score` the weighted mean of the graders' scores that there are."""

    status: Status
    score: float | None


def trajectory_verdict(outcomes: Iterable[Outcome], threshold: float | None = None) -> TrajectoryVerdict:
    """The verdict of one trajectory.

    1. A grader of weight 0 that is not required is advisory: it counts for nothing. Skipped graders drop out.
    2. Any error left is an error.
    3. A required grader that fails is a fail, whatever the mean.
    4. With a threshold: pass when the weighted mean of the scores reaches it; the graders' own verdicts do not count.
       Without one: fail when any grader fails. Graders that only score don't decide then; where there are no others,
       skipped.
    """
    counting = [one for one in outcomes if (one.weight > 0 or one.required) and one.status is not Status.SKIPPED]
    if any(one.status is Status.ERROR for one in counting):
        return TrajectoryVerdict(Status.ERROR, None)
    scores = [(one.score, one.weight) for one in counting if one.score is not None]
    total = sum(weight for _, weight in scores)
    mean = sum(score * weight for score, weight in scores) / total if total > 0 else None
    verdicts = [one for one in counting if one.status in (Status.PASS, Status.FAIL)]
    if any(one.required and one.status is Status.FAIL for one in verdicts):
        return TrajectoryVerdict(Status.FAIL, mean)
    if threshold is not None:
        if mean is None:
            return TrajectoryVerdict(Status.SKIPPED if not verdicts else _all_pass(verdicts), None)
        return TrajectoryVerdict(Status.PASS if reaches(mean, threshold) else Status.FAIL, mean)
    if not verdicts:
        return TrajectoryVerdict(Status.SKIPPED, mean)
    return TrajectoryVerdict(_all_pass(verdicts), mean)


def reaches(mean: float, threshold: float) -> bool:
    """Whether a mean reaches an inclusive threshold, forgiving the last bits that another order of summing changes."""
    return mean >= threshold - 1e-12


def _all_pass(verdicts: Sequence[Outcome]) -> Status:
    return Status.FAIL if any(one.status is Status.FAIL for one in verdicts) else Status.PASS


#: The same rules for a SQL engine over the tables `scores` and `graders`; `$threshold` may be null.
TRAJECTORY_VERDICT_SQL = """
WITH counting AS (
  SELECT s.run_id, s.trajectory_uid, s.status, s.score, g.weight, g.required
  FROM scores s JOIN graders g USING (run_id, grader_name)
  WHERE (g.weight > 0 OR g.required) AND s.status <> 'skipped'
), summed AS (
  SELECT run_id, trajectory_uid,
    count(*) FILTER (WHERE status = 'error') AS errors,
    count(*) FILTER (WHERE status = 'fail') AS fails,
    count(*) FILTER (WHERE status IN ('pass', 'fail')) AS verdicts,
    count(*) FILTER (WHERE required AND status = 'fail') AS required_fails,
    sum(score * weight) FILTER (WHERE score IS NOT NULL)
      / nullif(sum(weight) FILTER (WHERE score IS NOT NULL), 0) AS mean
  FROM counting GROUP BY run_id, trajectory_uid
)
SELECT t.run_id, t.trajectory_uid,
  CASE
    WHEN m.errors IS NULL THEN 'skipped'
    WHEN m.errors > 0 THEN 'error'
    WHEN m.required_fails > 0 THEN 'fail'
    WHEN CAST($threshold AS DOUBLE) IS NOT NULL AND m.mean IS NOT NULL
      THEN CASE WHEN m.mean >= CAST($threshold AS DOUBLE) - 1e-12 THEN 'pass' ELSE 'fail' END
    WHEN m.verdicts = 0 THEN 'skipped'
    WHEN m.fails > 0 THEN 'fail'
    ELSE 'pass'
  END AS verdict,
  CASE WHEN m.errors = 0 THEN m.mean END AS score
FROM (SELECT DISTINCT run_id, trajectory_uid FROM scores) t
LEFT JOIN summed m USING (run_id, trajectory_uid)
""".strip()
