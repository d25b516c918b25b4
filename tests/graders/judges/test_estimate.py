"""A dry run says what would be asked, without asking."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from graders.configured import configure
from graders.judges.estimate import Estimator
from graders.judges.pricing import cost_of, worst_input_tokens
from graders.judges.request import route_key
from tests.graders.judges.examples import LLM_SCORE, TRAJECTORY, judge_grader
from tests.graders.judges.runners import route, trajectories

ROUTE = route("http://127.0.0.1:1/v1")


def test_judgments_tokens_and_dollars_of_what_is_not_known_yet() -> None:
    judge = configure({**LLM_SCORE, "name": "tone", "max_tokens": 100})
    rows = [*trajectories(4), trajectories(1)[0], replace(TRAJECTORY, output=None)]
    request = judge.grader.requests(rows[3])[0]  # type: ignore[attr-defined]
    kept = {route_key(request, ROUTE.identity)}
    estimator = Estimator({"cheap": ROUTE}, kept.__contains__)
    estimator.add(judge, rows)
    one = estimator.by_grader["tone"]
    assert (one.judgments, one.requests, one.cached) == (5, 5, 2)
    assert one.max_output_tokens == 300
    assert 3 * 150 < one.input_tokens < 3 * 600
    assert one.cost_usd == cost_of(ROUTE.prices, one.input_tokens, 300, None)
    assert one.worst_cost_usd is not None
    assert one.cost_usd is not None
    assert one.worst_cost_usd > one.cost_usd
    assert estimator.total == one


def test_a_panel_asks_each_route_and_unknown_prices_stay_unknown() -> None:
    panel = configure({"type": "panel", "name": "p", "rubric": "x", "routes": ["a", "b"]})
    estimator = Estimator({"a": ROUTE, "b": ROUTE.model_copy(update={"prices": None, "model": "other"})})
    estimator.add(panel, trajectories(2))
    assert (estimator.total.judgments, estimator.total.requests, estimator.total.cost_usd) == (2, 4, None)


def test_costs_are_exact() -> None:
    assert cost_of(ROUTE.prices, 1_000_000, 1_000_000, 400_000) == Decimal("11.6")
    assert cost_of(ROUTE.prices, None, 5, None) is None
    assert cost_of(None, 1, 1, None) is None


def test_the_worst_case_is_never_below_the_bytes_of_the_prompt() -> None:
    request = judge_grader(LLM_SCORE).requests(replace(TRAJECTORY, output="é" * 500))[0]
    assert worst_input_tokens(request) > sum(len(message.content.encode()) for message in request.messages)
