"""Twenty trajectories judged by a real model behind a real server, end to end. What the model says is never asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipelines.cli.exit_codes import DONE
from pipelines.judging.process import close_runners
from schemas.score import ErrorType
from tests.graders.judges.runners import PRICES
from tests.pipelines.judging.model_server import MODEL, model_server
from tests.pipelines.runs import chat, run_suite, write_lines, write_suite
from tests.pipelines.runs import rows as committed_rows

MAX_TOKENS = 80
CALL = {"max_tokens": MAX_TOKENS, "evidence": ["output"]}
LEVELS = [{"score": 0, "description": "no"}, {"score": 1, "description": "yes"}]
JUDGES = [
    {"name": "polite", "type": "llm-score", "criterion": "Is it polite?", "levels": LEVELS, "threshold": 1, **CALL},
    {"name": "complete", "type": "llm-checklist", "items": ["is polite", "names a day"], **CALL},
]
WHEN = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "today", "tomorrow", "tonight", "soon",
    "later", "never", "at noon", "at six", "in May", "in June", "next week", "next month", "this year",
)  # fmt: skip


def _run(folder: Path, url: str, run_id: str) -> list[dict[str, Any]]:
    route = {"base_url": url, "model": MODEL, "max_concurrency": 2, "timeout_seconds": 300, "prices": PRICES}
    suite = write_suite(folder, ["log.jsonl"], JUDGES, routes={"local": route})
    assert run_suite(suite, folder / run_id, "--run-id", run_id) == DONE
    close_runners()
    return sorted(committed_rows(folder / run_id, "scores"), key=lambda row: (row["grader_name"], row["trajectory_id"]))


def test_a_real_model_judges_twenty_trajectories(tmp_path: Path) -> None:
    write_lines(tmp_path / "log.jsonl", [chat(n, f"Your parcel comes {when}.") for n, when in enumerate(WHEN)])
    with model_server() as url:
        rows = _run(tmp_path, url, "first")
    verdicts = [row for row in rows if row["passed"] is not None]
    assert len(rows) == 40
    assert len(verdicts) >= 30
    allowed = {None, ErrorType.JUDGE_TRUNCATED.value, ErrorType.JUDGE_INVALID_RESPONSE.value}
    assert {row["error_type"] for row in rows} <= allowed
    for row in rows:
        assert (row["judge_route"], row["judge_model"], row["cached"]) == ("local", MODEL, False)
        assert row["input_tokens"] > 100 * row["attempts"]
        assert 0 < row["output_tokens"] <= MAX_TOKENS * row["attempts"]
        assert row["cost_usd"] > 0
    for row in verdicts:
        assert row["explanation"]
        if row["grader_name"] == "polite":
            assert row["native_score"] in (0.0, 1.0)
        else:
            items = json.loads(row["details_json"])["items"]
            assert sum(item["met"] for item in items) == row["native_score"]
            assert (row["status"] == "pass") == all(item["met"] for item in items)
