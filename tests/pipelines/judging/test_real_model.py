"""Twenty trajectories judged by a real model behind a real server: replies in the schema, usage, the cache. Never what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graders.configured import ConfiguredGrader, configure
from graders.trajectory_batch import TrajectoryBatch
from pipelines.judging.plan import JudgePlan, close_runners, judge_plan, runner_for
from schemas.score import ErrorType, Score
from tests.graders.judges.examples import TRAJECTORY
from tests.graders.judges.runners import route
from tests.pipelines.judging.model_server import MODEL, model_server

LEVELS = [{"score": 0, "description": "no"}, {"score": 1, "description": "yes"}]
CALL = {"max_tokens": 80, "evidence": ["output"]}
SCORE = configure({"type": "llm-score", "criterion": "Is it polite?", "levels": LEVELS, "threshold": 1, **CALL})
CHECKLIST = configure({"type": "llm-checklist", "items": ["is polite", "names a day"], **CALL})
JUDGES = (SCORE, CHECKLIST)
WHEN = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "today", "tomorrow", "tonight", "soon",
    "later", "never", "at noon", "at six", "in May", "in June", "next week", "next month", "this year",
)  # fmt: skip
ROWS = [
    replace(TRAJECTORY, trajectory_uid=f"u{n}", trajectory_id=f"t{n}", output=f"Your parcel comes {when}.")
    for n, when in enumerate(WHEN)
]


def _judged(plan: JudgePlan, judges: tuple[ConfiguredGrader, ...]) -> list[Score]:
    block = TrajectoryBatch.from_trajectories(ROWS)
    rows = [row for judge in judges for row in runner_for(plan).grade(judge, block, {}).to_scores()]
    close_runners()
    return rows


def test_a_real_model_judges_twenty_trajectories(tmp_path: Path) -> None:
    with model_server() as url:
        settings = route(url, model=MODEL, max_concurrency=2, timeout_seconds=300, extra_body={"seed": 1})
        plan = judge_plan("r_1", str(tmp_path), JUDGES, {"local": settings})
        rows = _judged(plan, JUDGES)
        verdicts = [row for row in rows if row.passed is not None]
        again = _judged(plan, JUDGES)
    assert len(rows) == 40
    assert len(verdicts) >= 30
    allowed = {None, ErrorType.JUDGE_TRUNCATED, ErrorType.JUDGE_INVALID_RESPONSE}
    assert {row.error_type for row in rows} <= allowed
    for row in rows:
        assert row.judge_model == MODEL
        assert row.input_tokens is not None
        assert row.output_tokens is not None
        assert row.cost_usd is not None
        assert row.input_tokens > 100 * row.attempts
        assert 0 < row.output_tokens <= 80 * row.attempts
    assert all(row.explanation for row in verdicts)
    assert {row.native_score for row in verdicts[:1]} <= {0.0, 1.0}
    for first, second in zip(rows, again, strict=True):
        if first.passed is not None:
            assert (second.cached, second.status, second.native_score) == (True, first.status, first.native_score)
