"""Admission: no minute above the limit, no dollar above the budget, whatever the order of calls."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.judges.breaker import OPEN_AFTER_SECONDS, AdaptiveLimit, Breaker
from graders.judges.limits import Ask, Granted, Limits, Refused, Settlement, Wait, nano_usd, run_limits
from graders.judges.memory_ledger import MemoryLedger
from graders.judges.retries import backoff_seconds, exhausted_seconds, reset_seconds, retry_after_seconds


class Clock:
    """A clock that tests move."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def _granted_at(limits: Limits, asks: list[int], seconds: float) -> list[tuple[float, int]]:
    """Times and tokens of the calls that a hungry process gets in so many seconds; every call ends at once."""
    clock = Clock()
    ledger = MemoryLedger({"r": limits}, clock=clock)
    granted = []
    number = 0
    while clock.now < 1_000.0 + seconds:
        ask = Ask(asks[number % len(asks)])
        decision = ledger.admit("r", ask)
        if isinstance(decision, Granted):
            granted.append((clock.now, ask.tokens))
            ledger.settle("r", ask, Settlement(ask.tokens, 0))
            number += 1
        elif isinstance(decision, Wait):
            clock.now += max(decision.seconds, 1e-4)
        else:
            number += 1
            clock.now += 1e-3
    return granted


def _most_in_a_minute(calls: Sequence[tuple[float, float]]) -> float:
    return max(sum(amount for at, amount in calls if start <= at < start + 60) for start, _ in calls)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 120))
def test_no_minute_sees_more_requests_than_the_limit(per_minute: int) -> None:
    granted = _granted_at(Limits(requests_per_minute=per_minute), [1], 200)
    assert _most_in_a_minute([(at, 1) for at, _ in granted]) <= per_minute
    assert len(granted) >= 0.9 * per_minute * 200 / 60 - 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=5))
def test_no_minute_sees_more_tokens_than_the_limit(asks: list[int]) -> None:
    granted = _granted_at(Limits(tokens_per_minute=1_000), asks, 300)
    assert _most_in_a_minute(granted) <= 1_000


def test_unused_tokens_are_given_back() -> None:
    clock = Clock()
    ledger = MemoryLedger({"r": Limits(tokens_per_minute=1_000)}, clock=clock)
    assert isinstance(ledger.admit("r", Ask(100)), Granted)
    before = ledger.admit("r", Ask(100))
    ledger.settle("r", Ask(100), Settlement(10, 0))
    after = ledger.admit("r", Ask(100))
    assert isinstance(before, Wait)
    assert isinstance(after, Wait)
    assert after.seconds < before.seconds / 5


def test_a_call_above_the_tokens_of_a_minute_is_refused() -> None:
    ledger = MemoryLedger({"r": Limits(tokens_per_minute=100)})
    assert ledger.admit("r", Ask(101)) == Refused("tokens_per_minute")


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30), st.booleans()), max_size=60),
    st.integers(0, 300),
)
def test_the_budget_holds_whatever_calls_cost(calls: list[tuple[int, int, bool]], budget: int) -> None:
    """Worst cost, actual share of it, whether the usage got lost."""
    ledger = MemoryLedger({"r": Limits()}, Limits(max_cost_nano=budget))
    paid = 0
    for worst, actual, lost in calls:
        if isinstance(ledger.admit("r", Ask(1, worst)), Granted):
            paid += worst if lost else min(actual, worst)
            ledger.settle("r", Ask(1, worst), Settlement(None, None if lost else min(actual, worst)))
        else:
            assert paid + worst > budget
    assert paid <= budget


def test_a_call_waits_while_others_may_still_leave_room() -> None:
    ledger = MemoryLedger({"r": Limits()}, run_limits(None, Decimal("0.0000001")))
    assert isinstance(ledger.admit("r", Ask(1, 60)), Granted)
    assert isinstance(ledger.admit("r", Ask(1, 60)), Wait)
    ledger.settle("r", Ask(1, 60), Settlement(1, 10))
    assert isinstance(ledger.admit("r", Ask(1, 60)), Granted)
    ledger.settle("r", Ask(1, 60), Settlement(1, 60))
    assert ledger.admit("r", Ask(1, 60)) == Refused("max_cost_usd")


def test_calls_are_counted_for_route_and_run() -> None:
    ledger = MemoryLedger({"a": Limits(max_calls=1), "b": Limits()}, Limits(max_calls=2))
    assert isinstance(ledger.admit("a", Ask(1)), Granted)
    assert ledger.admit("a", Ask(1)) == Refused("max_calls")
    assert isinstance(ledger.admit("b", Ask(1)), Granted)
    assert ledger.admit("b", Ask(1)) == Refused("max_calls")
    assert (ledger.totals("a").calls, ledger.totals().calls) == (1, 2)


def test_a_batch_is_reserved_once_and_settled_once() -> None:
    ledger = MemoryLedger({"r": Limits(max_calls=5)})
    assert ledger.reserve("batch", "r", Ask(0, 100, 4))
    assert ledger.reserve("batch", "r", Ask(0, 100, 4))
    assert not ledger.reserve("other", "r", Ask(0, 100, 4))
    ledger.release("batch", Settlement(0, 70))
    ledger.release("batch", Settlement(0, 70))
    assert (ledger.totals("r").calls, ledger.totals("r").cost_usd) == (4, Decimal("0.00000007"))


def test_a_call_does_not_wait_for_a_batch_that_may_take_a_day() -> None:
    ledger = MemoryLedger({"r": Limits(max_cost_nano=100)})
    assert ledger.reserve("batch", "r", Ask(0, 80, 4))
    assert ledger.admit("r", Ask(1, 30)) == Refused("max_cost_usd")
    ledger.release("batch", Settlement(0, 10))
    assert isinstance(ledger.admit("r", Ask(1, 30)), Granted)


def test_money_is_rounded_up_to_billionths() -> None:
    assert nano_usd(Decimal("0.0000000001")) == 1
    assert nano_usd(None) == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 00:00:10 GMT"}, 10.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, 1795996800.0) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("6m0s", 360.0), ("20ms", 0.02), ("1h1s", 3_601.0), ("1.5", 1.5), ("1795996830", 30.0),
     ("2026-11-30T00:00:05Z", 5.0), ("", None), ("later", None)],
)  # fmt: skip
def test_resets(text: str, seconds: float | None) -> None:
    assert reset_seconds(text, 1795996800.0) == seconds


def test_rate_limit_headers_say_how_long_nothing_remains() -> None:
    spent = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "3s"}
    assert exhausted_seconds(spent, 0.0) == 3.0
    assert exhausted_seconds({**spent, "x-ratelimit-remaining-requests": "1"}, 0.0) is None
    assert exhausted_seconds({**spent, "x-ratelimit-reset-requests": "24h"}, 0.0) is None


def test_backoff_is_full_jitter_up_to_a_cap() -> None:
    assert [backoff_seconds(tries, 1.0) for tries in (1, 2, 3, 30)] == [0.5, 1.0, 2.0, 30.0]
    assert backoff_seconds(5, 0.0) == 0.0


def test_the_breaker_opens_on_silence_not_on_single_faults() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(50):
        breaker.failed("timeout", clock.now)
    assert not breaker.blocks()
    breaker.alive()
    for _ in range(5):
        breaker.failed("timeout", clock.now)
        clock.now += OPEN_AFTER_SECONDS / 4
    assert breaker.blocks()
    clock.now += 30
    assert [breaker.blocks() for _ in range(3)] == [False, True, True]
    breaker.alive()
    assert not breaker.blocks()


def test_the_breaker_opens_on_refusals_of_every_call_and_on_minutes_of_limiting() -> None:
    clock = Clock()
    refused, limited = Breaker(clock), Breaker(clock)
    for _ in range(3):
        refused.refused("not_authorised")
    assert refused.blocks()
    limited.limited("rate_limited")
    clock.now += 299
    limited.limited("rate_limited")
    assert not limited.blocks()
    clock.now += 1
    limited.limited("rate_limited")
    assert limited.blocks()


def test_concurrency_goes_down_once_a_round_and_comes_back() -> None:
    adaptive = AdaptiveLimit(64)
    for _ in range(64):
        adaptive.limited(started_at=10.0, now=11.0)
    assert adaptive.limit == 44
    for number in range(100):
        adaptive.limited(started_at=12.0 + number, now=12.0 + number)
    assert adaptive.limit == 1
    for _ in range(400):
        adaptive.succeeded()
    assert adaptive.limit == 64
