"""Bounded calls over real HTTP: concurrency, budgets, a dead endpoint, rate limits."""

from __future__ import annotations

import socket
import time
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from graders.judges.limits import limits_of, run_limits
from graders.judges.memory_ledger import MemoryLedger
from schemas.score import ErrorType, Status
from tests.graders.judges.fault_server import GOOD, FaultServer, Response, completion
from tests.graders.judges.runners import graded, route, running, trajectories

COST = Decimal("0.000360")


def test_never_more_in_flight_than_the_limit() -> None:
    server = FaultServer(lambda seen: Response(body=completion(GOOD), delay=0.01))
    with server, running({"default": route(server.url, max_concurrency=5)}) as runner:
        rows = graded(runner, trajectories(60))
    assert Counter(row.status for row in rows) == {Status.PASS: 60}
    assert server.most_in_flight == 5


def test_the_calls_of_a_run_are_bounded_and_the_rest_says_so() -> None:
    with FaultServer() as server:
        limits = route(server.url, max_calls=7)
        with running({"default": limits}) as runner:
            rows = graded(runner, trajectories(20))
    assert server.calls == 7
    assert Counter(row.error_type for row in rows) == {None: 7, ErrorType.JUDGE_BUDGET_EXHAUSTED: 13}
    refused = next(row for row in rows if row.error_type is not None)
    assert refused.details == {"kind": "max_calls", "limit": "max_calls"}
    assert refused.attempts == 0


@pytest.mark.parametrize("where", ["route", "run"])
def test_the_dollars_of_a_run_are_bounded(where: str) -> None:
    budget = Decimal("0.02")
    with FaultServer() as server:
        limits = route(server.url, **({"max_cost_usd": str(budget)} if where == "route" else {}))
        ledger = MemoryLedger({"default": limits_of(limits)}, run_limits(None, budget if where == "run" else None))
        with running({"default": limits}, ledger=ledger) as runner:
            rows = graded(runner, trajectories(100))
            totals = ledger.totals()
    spent = sum((row.cost_usd or Decimal(0)) for row in rows)
    assert spent == totals.cost_usd == COST * server.calls
    assert budget * Decimal("0.3") < spent <= budget
    assert Counter(row.error_type for row in rows)[ErrorType.JUDGE_BUDGET_EXHAUSTED] == 100 - server.calls


def test_a_dead_endpoint_ends_the_run_in_seconds() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        started = time.monotonic()
        with running({"default": route(dead)}, open_after_seconds=0.3, random=lambda: 0.2) as runner:
            rows = graded(runner, trajectories(5_000))
    assert time.monotonic() - started < 30
    assert {row.error_type for row in rows} == {ErrorType.JUDGE_UNAVAILABLE}
    kinds = Counter(row.details["kind"] for row in rows if row.details)
    assert kinds["breaker_open"] > 4_900
    assert sum(row.attempts for row in rows) < 500


def test_a_wrong_key_is_asked_a_few_times_not_for_every_row() -> None:
    with FaultServer(lambda seen: Response(401, {})) as server, running({"default": route(server.url)}) as runner:
        rows = graded(runner, trajectories(500))
    assert {row.error_type for row in rows} == {ErrorType.JUDGE_UNAVAILABLE}
    assert server.calls <= 3 + 16


def test_rate_limiting_is_waited_out_and_not_counted_as_an_attempt_that_failed() -> None:
    starts: list[float] = []

    def answer(seen: Any) -> Response:
        starts.append(seen.at)
        return Response(429, {}, {"retry-after": "0.1"}) if len(starts) <= 8 else Response(body=completion(GOOD))

    with (
        FaultServer(answer) as server,
        running({"default": route(server.url, max_concurrency=1, max_attempts=2)}) as runner,
    ):
        (row,) = graded(runner, trajectories(1))
        assert runner.take_throttled_seconds() == 0.0
    assert (row.status, row.attempts) == (Status.PASS, 9)
    assert all(later - earlier >= 0.1 for earlier, later in pairwise(starts))


def test_a_pause_that_the_endpoint_asks_for_holds_for_all_calls() -> None:
    times: list[float] = []

    def answer(seen: Any) -> Response:
        times.append(seen.at)
        return Response(429, {}, {"retry-after": "0.5"}) if len(times) == 3 else Response(body=completion(GOOD))

    with FaultServer(answer) as server, running({"default": route(server.url, max_concurrency=1)}) as runner:
        rows = graded(runner, trajectories(6))
        throttled = runner.take_throttled_seconds()
    assert Counter(row.status for row in rows) == {Status.PASS: 6}
    assert times[3] - times[2] >= 0.45
    assert throttled > 0.2


def test_the_endpoints_own_count_is_heeded_before_it_refuses() -> None:
    left = iter(["2", "1", "0", "9", "9", "9"])

    def answer(seen: Any) -> Response:
        headers = {"x-ratelimit-remaining-requests": next(left), "x-ratelimit-reset-requests": "600ms"}
        return Response(body=completion(GOOD), headers=headers)

    with FaultServer(answer) as server, running({"default": route(server.url, max_concurrency=1)}) as runner:
        graded(runner, trajectories(5))
    gaps = [later.at - earlier.at for earlier, later in pairwise(server.seen)]
    assert gaps[2] >= 0.5
    assert server.calls == 5


def test_a_retry_after_beyond_the_runs_patience_stops_the_route() -> None:
    with (
        FaultServer(lambda seen: Response(429, {}, {"retry-after": "86400"})) as server,
        running({"default": route(server.url)}) as runner,
    ):
        rows = graded(runner, trajectories(200))
    assert {row.error_type for row in rows} == {ErrorType.JUDGE_RATE_LIMITED}
    assert server.calls <= 3 + 16


def test_requests_are_paced_without_a_burst() -> None:
    with FaultServer() as server, running({"default": route(server.url, requests_per_minute=1_200)}) as runner:
        graded(runner, trajectories(40))
    times = [seen.at for seen in server.seen]
    assert times[-1] - times[0] >= 39 * 0.05 * 0.95
