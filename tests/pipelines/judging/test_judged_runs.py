"""Whole runs with judges, from the command line's entry to the committed tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from graders.configured import configure
from graders.trajectory_batch import TrajectoryBatch
from pipelines.cli.exit_codes import BAD_USAGE, DONE, OVER_ALLOWANCE, WAITING_FOR_BATCH
from pipelines.commit.committing import committed_runs
from pipelines.judging.plan import judge_plan
from pipelines.judging.process import close_runners, runner_for
from tests.graders.judges.examples import LLM_SCORE
from tests.graders.judges.fault_server import GOOD, FaultPlan, FaultServer, Response, completion
from tests.graders.judges.runners import PRICES, route, trajectories
from tests.pipelines.judging.batch_provider import BatchProvider
from tests.pipelines.runs import chats, only_manifest, run_suite, table, write_lines, write_suite

COST = Decimal("0.000360")
TONE = {**LLM_SCORE, "name": "tone"}
SHORT = {"name": "short", "type": "length", "max": 6, "unit": "words"}


@pytest.fixture(autouse=True)
def _no_runner_is_left() -> Iterator[None]:
    yield
    close_runners()


def _run(
    folder: Path, server: FaultServer, *graders: dict[str, Any], options: tuple[str, ...] = (), **more: Any
) -> int:
    if not (folder / "log.jsonl").exists():
        write_lines(folder / "log.jsonl", chats(40))
    route = {"base_url": server.url, "model": "m", "prices": PRICES, **more.pop("route", {})}
    suite = write_suite(folder, ["log.jsonl"], graders or [TONE], routes={"cheap": route}, **more)
    return run_suite(suite, folder / "out", *options)


def _scores(folder: Path, run_id: str | None = None) -> list[dict[str, Any]]:
    runs = [run for run in committed_runs(str(folder / "out")) if run_id in (None, run.run_id)]
    return [row for run in runs for row in table(folder / "out", "scores", run).to_pylist()]


def test_a_run_whose_endpoint_errs_agrees_with_the_endpoints_counts(tmp_path: Path) -> None:
    with FaultServer(FaultPlan({"500": 0.05, "prose": 0.1, "429_retry_after": 0.05})) as server:
        assert _run(tmp_path, server, SHORT, {**TONE, "when": {"grader": "short", "status": "pass"}}) == DONE
    rows = [row for row in _scores(tmp_path) if row["grader_name"] == "tone"]
    short = Counter(row["status"] for row in _scores(tmp_path) if row["grader_name"] == "short")
    assert len(rows) == short["pass"]
    assert {row["status"] for row in rows} == {"pass"}
    assert sum(row["attempts"] for row in rows) == server.calls
    assert sum(row["cost_usd"] for row in rows) == server.billed * COST
    manifest = only_manifest(tmp_path / "out")
    assert (manifest.judge_calls, manifest.cost_usd) == (server.calls, server.billed * COST)


def test_a_run_out_of_budget_is_incomplete_and_says_how_much(tmp_path: Path) -> None:
    with FaultServer() as server:
        assert _run(tmp_path, server, limits={"max_calls": 15}, allow={"errors": 0.1}) == OVER_ALLOWANCE
    errors = Counter(row["error_type"] for row in _scores(tmp_path))
    assert (server.calls, errors) == (15, {None: 15, "judge_budget_exhausted": 25})


def test_what_an_outage_left_open_is_asked_again_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    working = False

    def answer(seen: Any) -> Response:
        shown = str(seen.body["messages"])
        asked.append(shown)
        return Response(400, {}) if not working and len(asked) % 4 == 0 else Response(body=completion(GOOD))

    with FaultServer(answer) as server:
        assert _run(tmp_path, server, allow={"errors": 0.1}) == OVER_ALLOWANCE
        said = capsys.readouterr().err
        assert "judges could not answer 10 times: the same command with --again" in said
        close_runners()
        working = True
        failed = {shown for number, shown in enumerate(asked, 1) if number % 4 == 0}
        asked.clear()
        assert _run(tmp_path, server, allow={"errors": 0.1}) == DONE
        assert (asked, "--again" in capsys.readouterr().err) == ([], True)
        assert _run(tmp_path, server, allow={"errors": 0.1}, options=("--again",)) == DONE
        assert (len(asked), set(asked)) == (10, failed)
        close_runners()
        assert _run(tmp_path, server, allow={"errors": 0.1}, options=("--again",)) == DONE
        assert len(asked) == 10
    first, second, third = sorted({row["run_id"] for row in _scores(tmp_path)})
    assert (second, third) == (f"{first}-2", f"{first}-3")
    assert Counter((row["status"], row["cached"]) for row in _scores(tmp_path, second)) == {
        ("pass", True): 30,
        ("pass", False): 10,
    }


def test_a_distributed_run_once_more_knows_the_answers_of_the_first(tmp_path: Path) -> None:
    with FaultServer() as server:
        settings = {"only": route(server.url)}
        judge = configure(LLM_SCORE)
        block = TrajectoryBatch.from_trajectories(trajectories(5))
        for run_id, earlier in (("r_1", []), ("r_1-2", ["r_1"]), ("r_1-3", ["r_1", "r_1-2"])):
            plan = judge_plan(run_id, str(tmp_path), [judge], settings, distributed=True, earlier=earlier)
            runner_for(plan).grade(judge, block, {})
            close_runners()
    assert server.calls == 5


def test_a_run_waits_for_its_batch_and_is_picked_up(tmp_path: Path) -> None:
    provider = BatchProvider()
    with FaultServer(provider) as server:
        for _ in range(2):
            assert _run(tmp_path, server, route={"mode": "batch"}) == WAITING_FOR_BATCH
            close_runners()
        provider.finish()
        assert _run(tmp_path, server, route={"mode": "batch"}) == DONE
    assert Counter(row["status"] for row in _scores(tmp_path)) == {"pass": 40}
    assert (set(provider.submitted.values()), provider.single_calls) == ({1}, 0)


def test_an_unknown_route_is_refused_before_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FaultServer() as server:
        assert _run(tmp_path, server, {**TONE, "route": "cheep"}) == BAD_USAGE
        assert 'did you mean "cheap"?' in capsys.readouterr().err
    assert server.calls == 0


def test_no_key_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret-1234")
    answers = iter([Response(401, {"error": {"message": "bad sk-very-secret-1234"}})] * 100)
    with FaultServer(lambda seen: next(answers)) as server:
        _run(tmp_path, server, route={"api_key_env": "JUDGE_KEY"})
    close_runners()
    assert server.seen[0].headers["authorization"] == "Bearer sk-very-secret-1234"
    stored = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert stored
    assert not any(b"sk-very-secret-1234" in path.read_bytes() for path in stored)
