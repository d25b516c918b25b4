"""Admission of calls, as pure functions on counted state: concurrency, pace, calls and dollars.

Pacing has no burst: with a limit of N a minute, calls are at least 60/(0.98 N) seconds apart (50 ms of lateness may be
caught up), so that no minute sees more than N. The 2 % are for the way between here and the endpoint. A call's tokens
and dollars are reserved at their worst before it is made and corrected when its usage is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Protocol

from schemas.routes import RouteConfig

PACE_MARGIN = 0.98
CATCH_UP_SECONDS = 0.05
#: How soon to look again where another call has to end first.
LOOK_AGAIN_SECONDS = 0.02
_NANO = Decimal(1_000_000_000)


def nano_usd(cost: Decimal | None) -> int:
    """Dollars as whole billionths, rounded up; 0 for None."""
    return 0 if cost is None else int((cost * _NANO).to_integral_value(ROUND_CEILING))


def usd(nano: int) -> Decimal:
    """Billionths as dollars."""
    return Decimal(nano) / _NANO


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a route or of the whole run; None is no limit."""

    max_concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_calls: int | None = None
    max_cost_nano: int | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """What one call may take at worst."""

    tokens: int
    cost_nano: int = 0
    calls: int = 1


@dataclass(frozen=True, slots=True)
class State:
    """What is counted for a route or for the run. Times are seconds of the ledger's clock."""

    next_request_at: float = 0.0
    next_tokens_at: float = 0.0
    largest_tokens: int = 0
    paused_until: float = 0.0
    in_flight: int = 0
    calls: int = 0
    reserved_nano: int = 0
    """Worst cost of calls in flight."""
    held_nano: int = 0
    """Worst cost of provider batches that are not finished: they may take a day."""
    spent_nano: int = 0
    unsettled_nano: int = 0
    """Worst cost of calls that may have been paid and whose usage nobody knows: counted against the budget."""


@dataclass(frozen=True, slots=True)
class Granted:
    """The call may be made now."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again after so many seconds."""

    seconds: float
    throttled: bool = False
    """Whether the pace or the endpoint's own limit is the reason."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call may not be made in this run."""

    limit: str
    """`max_calls`, `max_cost_usd` or `tokens_per_minute`."""


Decision = Granted | Wait | Refused


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an admitted call took in the end."""

    tokens: int | None = None
    """None: unknown; the reserved tokens stay counted."""
    cost_nano: int | None = 0
    """None: unknown; the reserved dollars stay counted as unsettled."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a run or route has taken so far, over all its processes and attempts."""

    calls: int
    cost_usd: Decimal
    unsettled_usd: Decimal


class Ledger(Protocol):
    """Keeps the counts; one a run. Shared by the processes of one machine where it is embedded."""

    def admit(self, route: str, ask: Ask) -> Decision:
        """Decide on one call and, where it is granted, count it."""

    def settle(self, route: str, ask: Ask, settlement: Settlement) -> None:
        """Count what an admitted call took."""

    def reserve(self, name: str, route: str, ask: Ask) -> bool:
        """Count the calls of a provider's batch before it is submitted, if the budgets leave room; True if they do.

        A reservation outlives this process. One that is held already under this name is left as it is.
        """

    def release(self, name: str, settlement: Settlement) -> None:
        """Count what a reserved batch took. One that is not held is left alone."""

    def pause(self, route: str, seconds: float) -> None:
        """Admit nothing on a route for so long (the endpoint asked for it)."""

    def totals(self, route: str | None = None) -> Totals:
        """The counts of a route, or of the run."""

    def close(self) -> None:
        """Leave the ledger; nothing may be asked of it any more."""


def limits_of(route: RouteConfig) -> Limits:
    """A route's limits."""
    return Limits(
        route.max_concurrency,
        route.requests_per_minute,
        route.tokens_per_minute,
        route.max_calls,
        None if route.max_cost_usd is None else nano_usd(route.max_cost_usd),
    )


def run_limits(max_calls: int | None, max_cost_usd: Decimal | float | None) -> Limits:
    """The run's own limits, over all routes."""
    cost = None if max_cost_usd is None else nano_usd(Decimal(str(max_cost_usd)))
    return Limits(max_calls=max_calls, max_cost_nano=cost)


def decide(route: State, run: State, limits: Limits, whole: Limits, ask: Ask, now: float) -> Decision:
    """Whether a call may be made now. `admitted` counts it."""
    for state, bound in ((route, limits), (run, whole)):
        if bound.max_calls is not None and state.calls + ask.calls > bound.max_calls:
            return Refused("max_calls")
        if bound.max_cost_nano is not None:
            known = state.spent_nano + state.unsettled_nano + state.held_nano + ask.cost_nano
            if known > bound.max_cost_nano:
                return Refused("max_cost_usd")
            if known + state.reserved_nano > bound.max_cost_nano:
                return Wait(LOOK_AGAIN_SECONDS)
    if limits.tokens_per_minute is not None and ask.tokens > limits.tokens_per_minute:
        return Refused("tokens_per_minute")
    tokens_at = route.next_tokens_at
    if limits.tokens_per_minute is not None and 0 < route.largest_tokens < ask.tokens:
        tokens_at += token_seconds(limits.tokens_per_minute, ask.tokens, ask.tokens)  # earlier gaps left no room for it
    paced_at = max(route.paused_until, route.next_request_at, tokens_at)
    if paced_at > now:
        return Wait(paced_at - now, throttled=True)
    if limits.max_concurrency is not None and route.in_flight >= limits.max_concurrency:
        return Wait(LOOK_AGAIN_SECONDS)
    return Granted()


def admitted(route: State, run: State, limits: Limits, ask: Ask, now: float) -> tuple[State, State]:
    """The states after a granted call."""
    next_request_at, next_tokens_at, largest = route.next_request_at, route.next_tokens_at, route.largest_tokens
    if limits.requests_per_minute is not None:
        spacing = 60.0 / (PACE_MARGIN * limits.requests_per_minute)
        next_request_at = max(next_request_at, now - CATCH_UP_SECONDS) + spacing
    if limits.tokens_per_minute is not None:
        largest = max(largest, ask.tokens)
        gap = token_seconds(limits.tokens_per_minute, largest, ask.tokens)
        next_tokens_at = max(next_tokens_at, now) + gap
    route = replace(
        route,
        next_request_at=next_request_at,
        next_tokens_at=next_tokens_at,
        largest_tokens=largest,
        in_flight=route.in_flight + 1,
        calls=route.calls + ask.calls,
        reserved_nano=route.reserved_nano + ask.cost_nano,
    )
    run = replace(run, calls=run.calls + ask.calls, reserved_nano=run.reserved_nano + ask.cost_nano)
    return route, run


def reserved(route: State, run: State, limits: Limits, whole: Limits, ask: Ask) -> tuple[State, State] | None:
    """The states with a batch's calls reserved, whatever pace and concurrency; None where a budget leaves no room."""
    for state, bound in ((route, limits), (run, whole)):
        if bound.max_calls is not None and state.calls + ask.calls > bound.max_calls:
            return None
        taken = state.spent_nano + state.unsettled_nano + state.held_nano + state.reserved_nano + ask.cost_nano
        if bound.max_cost_nano is not None and taken > bound.max_cost_nano:
            return None
    return _reserved(route, ask), _reserved(run, ask)


def released(route: State, run: State, ask: Ask, settlement: Settlement) -> tuple[State, State]:
    """The states after a reserved batch has ended."""
    return _released(route, ask, settlement), _released(run, ask, settlement)


def settled(
    route: State, run: State, limits: Limits, ask: Ask, settlement: Settlement, now: float
) -> tuple[State, State]:
    """The states after an admitted call has ended."""
    if limits.tokens_per_minute is not None and settlement.tokens is not None and settlement.tokens < ask.tokens:
        reserved_gap = token_seconds(limits.tokens_per_minute, route.largest_tokens, ask.tokens)
        used_gap = token_seconds(limits.tokens_per_minute, route.largest_tokens, settlement.tokens)
        route = replace(route, next_tokens_at=max(route.next_tokens_at - reserved_gap + used_gap, now))
    route = replace(_paid(route, ask, settlement), in_flight=max(route.in_flight - 1, 0))
    return route, _paid(run, ask, settlement)


def token_seconds(per_minute: float, largest: int, tokens: int) -> float:
    """Seconds that a call's tokens take of a limit, so that a minute that also holds the largest call keeps it."""
    rate = PACE_MARGIN * per_minute - largest
    alone = 60.0 / PACE_MARGIN
    return min(60.0 * tokens / rate, alone) if rate > 0 else alone


def _reserved(state: State, ask: Ask) -> State:
    return replace(state, calls=state.calls + ask.calls, held_nano=state.held_nano + ask.cost_nano)


def _released(state: State, ask: Ask, settlement: Settlement) -> State:
    held = replace(state, held_nano=state.held_nano - ask.cost_nano, reserved_nano=state.reserved_nano + ask.cost_nano)
    return _paid(held, ask, settlement)


def _paid(state: State, ask: Ask, settlement: Settlement) -> State:
    unknown = settlement.cost_nano is None
    return replace(
        state,
        reserved_nano=max(state.reserved_nano - ask.cost_nano, 0),
        spent_nano=state.spent_nano + (settlement.cost_nano or 0),
        unsettled_nano=state.unsettled_nano + (ask.cost_nano if unknown else 0),
    )
