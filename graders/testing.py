"""For test suites: assert that a record passes a grader.

>>> from graders.testing import assert_grade
>>> score = assert_grade({"output": "Refunded."}, {"type": "contains", "texts": ["refund"], "case_sensitive": False})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graders.evaluation import evaluate
from graders.judges.request import Judge
from graders.record import to_trajectory
from schemas.score import Score, Status
from schemas.text import bounded
from schemas.trajectory import Trajectory

#: Most code points of the graded output that a failure prints.
MAX_EXCERPT = 200
_MAX_LINE = 500


def assert_grade(
    record: Mapping[str, Any] | Trajectory,
    grader_config: Mapping[str, Any],
    *,
    profile: str | None = None,
    judge: Judge | None = None,
    expect: str = "pass",
) -> Score:
    """The outcome of a grader on a record, if it is the expected one.

    Args:
        record: as `graders.evaluate` takes it.
        grader_config: a grader object as in a suite.
        profile: whose vocabulary the object is written in.
        judge: for graders that ask an LLM.
        expect: the status that must come out: pass, fail, scored, error or skipped.

    Raises:
        AssertionError: another status came out. It tells what was found and where, and prints at most a bounded excerpt
            of the output.
        ConfigError: the grader object is wrong.
    """
    __tracebackhide__ = True
    wanted = Status(expect)
    trajectory = record if isinstance(record, Trajectory) else to_trajectory(record)
    score = evaluate(grader_config, trajectory, profile=profile, judge=judge)
    if score.status is not wanted:
        raise AssertionError(_told(score, wanted, trajectory))
    return score


def _told(score: Score, wanted: Status, trajectory: Trajectory) -> str:
    lines = [f"{score.grader_name}: {score.status.value}, not {wanted.value}"]
    lines += [bounded(text, _MAX_LINE) for text in (score.explanation, score.skip_reason) if text]
    if score.error_type is not None:
        lines.append(f"{score.error_type.value}: {bounded(score.error_message or '', _MAX_LINE)}")
    if score.score is not None:
        lines.append(f"score {score.score:g}")
    for place in score.evidence[:1]:
        where = "output" if place.message_index is None else f"messages[{place.message_index}]"
        lines.append(f"at {where} [{place.start}:{place.end}]: {bounded(place.quote, MAX_EXCERPT)!r}")
    if not score.evidence:
        output = "no output" if trajectory.output is None else repr(bounded(trajectory.output, MAX_EXCERPT))
        lines.append(f"output: {output}")
    return "\n".join(lines)
