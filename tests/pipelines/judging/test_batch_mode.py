"""`mode: batch`: submitted once, picked up by later executions, finished singly where the provider left something out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from graders.judges.batch_pending import BatchPending
from graders.judges.limits import limits_of
from graders.judges.runner import JudgeRunner
from pipelines.judging.ledger import SqliteLedger
from pipelines.judging.sqlite_cache import SqliteCache
from schemas.score import ErrorType, Status
from tests.graders.judges.fault_server import FaultServer, Response
from tests.graders.judges.runners import PRICES, graded, route, running, trajectories
from tests.pipelines.judging.batch_provider import BatchProvider

HALF_COST = Decimal("0.000180")


@contextmanager
def execution(folder: Path, server: FaultServer, **more: Any) -> Iterator[JudgeRunner]:
    """One execution of the run: what outlives it lies in the folder."""
    settings = route(
        server.url,
        mode="batch",
        batch={"max_requests": 4, "poll_seconds": 0.01},
        prices={**PRICES, "batch_factor": 0.5},
    ).model_copy(update=more)
    ledger = SqliteLedger(str(folder / "ledger.sqlite"), {"default": limits_of(settings)})
    cache = SqliteCache(str(folder / "replies.sqlite"))
    with running({"default": settings}, cache=cache, ledger=ledger, run_id="r_1") as runner:
        yield runner


def test_a_run_waits_is_picked_up_and_costs_half(tmp_path: Path) -> None:
    provider = BatchProvider()
    with FaultServer(provider) as server:
        for _ in range(3):
            with execution(tmp_path, server) as runner, pytest.raises(BatchPending) as pending:
                graded(runner, trajectories(10))
            assert len(pending.value.args) == 3
        assert len(provider.submitted) == 3
        assert set(provider.submitted.values()) == {1}
        provider.finish()
        with execution(tmp_path, server) as runner:
            rows = graded(runner, trajectories(10))
            totals = runner.ledger.totals()
        with execution(tmp_path, server) as runner:
            again = graded(runner, trajectories(10))
    assert Counter(row.status for row in rows) == {Status.PASS: 10}
    assert {(row.attempts, row.cost_usd, row.cached) for row in rows} == {(1, HALF_COST, False)}
    assert (totals.calls, totals.cost_usd, totals.unsettled_usd) == (10, 10 * HALF_COST, Decimal(0))
    assert {row.cached for row in again} == {True}
    assert provider.single_calls == 0
    marks = next(iter(provider.batches.values()))["metadata"]
    assert (marks["gradebeam_run"], marks["gradebeam_route"]) == ("r_1", "default")


@pytest.mark.parametrize("status", ["completed", "expired", "cancelled"])
def test_what_the_provider_left_out_is_asked_singly(tmp_path: Path, status: str) -> None:
    provider = BatchProvider()
    with FaultServer(provider) as server:
        with execution(tmp_path, server) as runner, pytest.raises(BatchPending):
            graded(runner, trajectories(8))
        provider.finish(status, keep=lambda number: number != 1)
        with execution(tmp_path, server) as runner:
            rows = graded(runner, trajectories(8))
    assert Counter(row.status for row in rows) == {Status.PASS: 8}
    assert provider.single_calls == 2
    assert set(provider.submitted.values()) == {1}


def test_a_run_may_wait_itself(tmp_path: Path) -> None:
    provider = BatchProvider()

    def answer(seen: Any) -> Response:
        if seen.path.startswith("/v1/batches/"):
            provider.finish()
        return provider(seen)

    with FaultServer(answer) as server:
        patient = route(server.url).batch.model_copy(update={"wait_seconds": 30.0, "poll_seconds": 0.01})
        with execution(tmp_path, server, batch=patient) as runner:
            rows = graded(runner, trajectories(3))
    assert Counter(row.status for row in rows) == {Status.PASS: 3}


def test_a_creation_whose_reply_is_lost_is_not_repeated(tmp_path: Path) -> None:
    provider = BatchProvider()
    provider.lose_next_creation = True
    with FaultServer(provider) as server, execution(tmp_path, server) as runner, pytest.raises(BatchPending):
        graded(runner, trajectories(3))
    assert set(provider.submitted.values()) == {1}


def test_an_endpoint_without_batches_is_an_error_not_an_expensive_surprise(tmp_path: Path) -> None:
    with FaultServer(lambda seen: Response(404, {})) as server, execution(tmp_path, server) as runner:
        rows = graded(runner, trajectories(3))
    assert {row.error_type for row in rows} == {ErrorType.JUDGE_UNAVAILABLE}
    assert {row.details["kind"] for row in rows if row.details} == {"batch_unavailable"}


def test_a_budget_without_room_for_the_batch_still_bounds_the_calls(tmp_path: Path) -> None:
    provider = BatchProvider()
    with FaultServer(provider) as server, execution(tmp_path, server, max_calls=2) as runner:
        rows = graded(runner, trajectories(3))
    assert (len(provider.batches), provider.single_calls) == (0, 2)
    assert Counter(row.error_type for row in rows) == {None: 2, ErrorType.JUDGE_BUDGET_EXHAUSTED: 1}


@pytest.mark.parametrize("body", [[], {}, "x", {"id": 5, "status": ["completed"]}, {"data": [7], "has_more": True}])
@pytest.mark.parametrize("where", ["upload", "creation", "poll", "list"])
def test_a_provider_that_answers_nonsense_is_an_error_of_the_rows(tmp_path: Path, where: str, body: Any) -> None:
    provider = BatchProvider()

    def answer(seen: Any) -> Response:
        path = seen.path.split("?")[0]
        kind = {("POST", "/v1/files"): "upload", ("POST", "/v1/batches"): "creation", ("GET", "/v1/batches"): "list"}
        if kind.get((seen.method, path), "poll" if path.startswith("/v1/batches/") else "") == where:
            return Response(body=body)
        return provider(seen)

    with FaultServer(answer) as server, execution(tmp_path, server, max_attempts=2) as runner:
        try:
            rows = graded(runner, trajectories(3))
        except BatchPending:
            rows = []
    assert {row.details["kind"] for row in rows if row.details} <= {"batch_unavailable"}
    assert rows or where == "list"
    assert all(count == 1 for count in provider.submitted.values())
