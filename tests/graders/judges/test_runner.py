"""Calls over real HTTP: replies, faults, retries, equal questions, usage and cost."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from graders.judges.cache import RecentReplies
from schemas.score import ErrorType, Status
from tests.graders.judges.examples import LLM_SCORE
from tests.graders.judges.fault_server import GOOD, FaultPlan, FaultServer, Response, completion, faulty
from tests.graders.judges.runners import graded, route, running, trajectories

COST = Decimal("0.000360")  # 60 x $2 + 40 x $1 + 20 x $10 a million


def test_a_judgment_over_http() -> None:
    with FaultServer() as server, running({"default": route(server.url)}) as runner:
        (row,) = graded(runner, trajectories(1))
        totals = runner.ledger.totals()
    assert (row.status, row.native_score, row.attempts, row.cached) == (Status.PASS, 1.0, 1, False)
    assert (row.judge_route, row.judge_model, row.judge_response_id) == ("default", "fake-1", "chatcmpl-1")
    assert (row.input_tokens, row.output_tokens, row.cached_input_tokens, row.cost_usd) == (100, 20, 40, COST)
    assert (totals.calls, totals.cost_usd, totals.unsettled_usd) == (1, COST, Decimal(0))
    body = server.seen[0].body
    assert server.seen[0].path == "/v1/chat/completions"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("fake", 0.0, 500)
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reasoning", "level"]


def test_equal_questions_are_asked_once_and_the_copies_cost_nothing() -> None:
    rows = trajectories(3) + trajectories(3)
    server = FaultServer(lambda seen: Response(body=completion(GOOD), delay=0.02))
    with server, running({"default": route(server.url)}) as runner:
        scores = graded(runner, rows) + graded(runner, rows)
    assert server.calls == 3
    assert Counter(score.cached for score in scores) == {False: 3, True: 9}
    assert sum(score.cost_usd or 0 for score in scores) == 3 * COST
    assert sum(score.attempts for score in scores) == 3
    copy = next(score for score in scores if score.cached)
    assert copy.details is not None
    assert copy.details["first_usage"]["input_tokens"] == 100


def test_equal_questions_of_graders_with_other_thresholds_share_the_reply_not_the_verdict() -> None:
    with FaultServer() as server, running({"default": route(server.url)}) as runner:
        (passed,) = graded(runner, trajectories(1))
        (failed,) = graded(runner, trajectories(1), {**LLM_SCORE, "threshold": 2})
    assert server.calls == 1
    assert (passed.status, failed.status) == (Status.PASS, Status.FAIL)


def test_errors_are_not_cached_and_refresh_asks_again() -> None:
    cache = RecentReplies()
    replies = iter([Response(400, {}), Response(body=completion(GOOD)), Response(body=completion(GOOD))])
    with FaultServer(lambda seen: next(replies)) as server:
        routes = {"default": route(server.url, structured_output="prompt")}
        with running(routes, cache=cache) as runner:
            assert graded(runner, trajectories(1))[0].status is Status.ERROR
            assert graded(runner, trajectories(1))[0].status is Status.PASS
        with running(routes, cache=cache) as runner:
            assert graded(runner, trajectories(1))[0].cached
        with running(routes, cache=cache, refresh=True) as runner:
            assert not graded(runner, trajectories(1))[0].cached
    assert server.calls == 3


@pytest.mark.parametrize(
    ("response", "error_type", "kind", "calls"),
    [
        (
            Response(400, {"error": {"code": "context_length_exceeded"}}),
            "judge_context_overflow",
            "context_overflow",
            1,
        ),
        (
            Response(400, {"error": {"type": "exceed_context_size_error"}}),
            "judge_context_overflow",
            "context_overflow",
            1,
        ),
        (Response(400, {"error": {"code": "content_filter"}}), "judge_refused", "refusal", 1),
        (Response(401, {"error": {"message": "bad key sk-secret"}}), "judge_unavailable", "not_authorised", 1),
        (Response(404, {}), "judge_unavailable", "not_found", 1),
        (Response(429, {"error": {"code": "insufficient_quota"}}), "judge_rate_limited", "quota_exhausted", 1),
        (Response(500, {}), "judge_unavailable", "internal_error", 3),
        (Response(503, {}), "judge_unavailable", "server_error", 4),
        (Response(529, {}), "judge_unavailable", "server_error", 4),
        (Response(408, {}), "judge_unavailable", "server_error", 4),
        (Response(409, {}), "judge_unavailable", "server_error", 4),
        (Response(425, {}), "judge_unavailable", "server_error", 4),
        (Response(0), "judge_unavailable", "connection_lost", 4),
        (Response(delay=2.0), "judge_timeout", "timeout", 4),
        (Response(raw=b"{}"), "judge_invalid_response", "malformed_envelope", 4),
        (Response(raw=b'{"choices": []}'), "judge_invalid_response", "malformed_envelope", 4),
        (Response(raw=b"x" * 5_000_000), "judge_invalid_response", "reply_too_large", 1),
        (Response(body=completion(None, refusal="I can't")), "judge_refused", "refusal", 1),
        (Response(body=completion("", finish_reason="content_filter")), "judge_refused", "refusal", 1),
        (Response(body=completion('{"reas', finish_reason="length")), "judge_truncated", "truncated", 3),
        (Response(body=completion("")), "judge_invalid_response", "empty", 3),
        (Response(body=completion("prose")), "judge_invalid_response", "prose", 3),
        (Response(302, {}, {"location": "http://127.0.0.1:1/"}), "judge_unavailable", "redirect", 1),
        (Response(307, {}, {"location": "http://127.0.0.1:1/v1/x"}), "judge_unavailable", "redirect", 1),
    ],
)
def test_every_fault_has_its_kind(response: Response, error_type: str, kind: str, calls: int) -> None:
    with FaultServer(lambda seen: response) as server:
        limit = 0.3 if response.delay else 20.0
        settings = route(server.url, timeout_seconds=limit, max_attempts=4, structured_output="prompt")
        with running({"default": settings}) as runner:
            (row,) = graded(runner, trajectories(1))
    assert row.status is Status.ERROR
    assert row.error_type is not None
    assert row.details is not None
    assert (row.error_type.value, row.details["kind"], server.calls, row.attempts) == (error_type, kind, calls, calls)
    assert row.error_message is not None
    assert "secret" not in repr(row)


def test_usage_of_failed_judgments_is_recorded() -> None:
    server = FaultServer(lambda seen: Response(body=completion("prose")))
    with server, running({"default": route(server.url)}) as runner:
        (row,) = graded(runner, trajectories(1))
    assert (row.status, row.attempts, row.input_tokens, row.cost_usd) == (Status.ERROR, 3, 300, 3 * COST)


def test_calls_whose_price_nobody_knows_are_named_and_held_against_the_budget() -> None:
    replies = iter([Response(0), Response(body=completion(GOOD))])
    with FaultServer(lambda seen: next(replies)) as server, running({"default": route(server.url)}) as runner:
        (row,) = graded(runner, trajectories(1))
        totals = runner.ledger.totals()
    assert row.details is not None
    assert row.details["calls_of_unknown_cost"] == 1
    assert totals.unsettled_usd == Decimal(row.details["unknown_cost_at_most_usd"])
    assert (totals.calls, totals.cost_usd) == (2, COST)


def test_a_repair_is_a_conversation() -> None:
    def answer(seen: Any) -> Response:
        return Response(body=completion(GOOD if len(seen.body["messages"]) == 4 else {"reasoning": "x", "level": 9}))

    with FaultServer(answer) as server, running({"default": route(server.url)}) as runner:
        (row,) = graded(runner, trajectories(1))
    assert (row.status, row.attempts, row.input_tokens) == (Status.PASS, 2, 200)
    roles = [message["role"] for message in server.seen[1].body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("supported", ["json_schema", "json_object", "prompt"])
def test_the_reply_form_is_learned_once_a_route(supported: str) -> None:
    order = ["json_schema", "json_object", "prompt"]

    def answer(seen: Any) -> Response:
        used = seen.body.get("response_format", {"type": "prompt"})["type"]
        if order.index(used) < order.index(supported):
            return Response(400, {"error": {"message": "response_format is not supported"}}, delay=0.02)
        return Response(body=completion(GOOD))

    with FaultServer(answer) as server, running({"default": route(server.url)}) as runner:
        rows = graded(runner, trajectories(30))
    assert {row.status for row in rows} == {Status.PASS}
    assert server.calls == 30 + order.index(supported)
    assert sum(row.attempts for row in rows) == server.calls


def test_one_bad_request_does_not_unlearn_the_form() -> None:
    def answer(seen: Any) -> Response:
        bad = "answer 7" in seen.body["messages"][1]["content"]
        return Response(400, {}) if bad else Response(body=completion(GOOD))

    with FaultServer(answer) as server, running({"default": route(server.url, max_concurrency=1)}) as runner:
        rows = graded(runner, trajectories(10))
    assert [row.status is Status.PASS for row in rows] == [number != 7 for number in range(10)]
    assert all("response_format" in seen.body for seen in server.seen)
    assert server.calls == 10


def test_a_panel_over_http_leaves_the_failing_route_out() -> None:
    def answer(seen: Any) -> Response:
        score = {"a": 100, "b": 60}.get(seen.body["model"])
        return Response(401, {}) if score is None else Response(body=completion({"reasoning": "r", "score": score}))

    entry = {"type": "panel", "rubric": "x", "routes": ["a", "b", "c"]}
    with FaultServer(answer) as server, running({name: route(server.url, model=name) for name in "abc"}) as runner:
        (row,) = graded(runner, trajectories(1), entry)
    assert (row.status, row.native_score, row.attempts, row.input_tokens) == (Status.PASS, 80.0, 3, 200)
    assert row.details is not None
    assert (row.details["spread"], row.details["answered"]) == (40.0, 2)


def test_a_missing_key_is_an_error_of_the_row() -> None:
    with running({"default": route("http://127.0.0.1:1/v1", api_key_env="NO_SUCH_KEY")}, environ={}) as runner:
        (row,) = graded(runner, trajectories(1))
    assert row.error_type is ErrorType.JUDGE_UNAVAILABLE
    assert row.error_message == "the environment variable NO_SUCH_KEY is not set"


RATES = {
    "429_retry_after": 0.02, "429": 0.02, "500": 0.02, "503": 0.02, "drop_before": 0.02, "drop_in_body": 0.02,
    "slow_body": 0.002, "malformed_envelope": 0.02, "truncated_envelope": 0.02, "wrong_schema": 0.015, "prose": 0.013,
    "truncated_reply": 0.01,
}  # fmt: skip


def test_ten_thousand_judgments_at_twenty_percent_faults_are_all_accounted_for() -> None:
    assert sum(RATES.values()) == pytest.approx(0.2)
    plan = FaultPlan(RATES)
    server = FaultServer(plan)
    server.keep_requests = False
    with server, running({"default": route(server.url, timeout_seconds=2.0, max_concurrency=64)}) as runner:
        rows = graded(runner, trajectories(10_000))
        totals = runner.ledger.totals()
    verdicts = [row for row in rows if row.passed is not None]
    failed = [row for row in rows if row.passed is None]
    assert len(rows) == 10_000
    assert {row.status for row in failed} <= {Status.ERROR}
    assert all(row.error_type is not None and row.details and row.details["kind"] for row in failed)
    assert len(failed) < 20
    assert len(verdicts) == len(server.finished) == sum(server.finished.values())
    assert server.called_after_finish == 0
    assert sum(row.attempts for row in rows) == server.calls == totals.calls == sum(plan.counts.values())
    assert sum(row.input_tokens or 0 for row in rows) == 100 * server.billed
    assert sum(row.cost_usd or 0 for row in rows) == COST * server.billed == totals.cost_usd


def test_faulty_covers_every_kind() -> None:
    assert all(faulty(kind) for kind in [*RATES, "good"])
