"""Getting one reply from one route: admitted by the limits, retried where that helps, given up where it does not."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from graders.judges.breaker import OPEN_AFTER_SECONDS, AdaptiveLimit, Breaker
from graders.judges.choice import Failure
from graders.judges.client import ChatClient, Fault
from graders.judges.limits import Ask, Granted, Ledger, Refused, Settlement, nano_usd
from graders.judges.pricing import worst_usage
from graders.judges.request import JudgeReply, JudgeRequest, TokenUsage
from graders.judges.retries import backoff_seconds, exhausted_seconds, retry_after_seconds
from graders.judges.structured import FormatLadder, Mode
from schemas.score import ErrorType

#: A request that an endpoint answers with 500 so often is at fault itself.
SAME_INTERNAL_ERRORS = 3


@dataclass(slots=True)
class Spent:
    """What the calls of one judgment took; failed ones included."""

    attempts: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    unsettled: int = 0
    """Calls that may have been paid and told no usage."""
    unsettled_usd: Decimal = Decimal(0)
    """Their worst cost."""


@dataclass(slots=True)
class _Gone:
    """A call that was not made: the run's limits or the breaker forbid it."""

    failure: Failure


class RouteCaller:
    """One route of one process. Lives in the runner's event loop."""

    def __init__(
        self,
        name: str,
        client: ChatClient,
        ledger: Ledger,
        *,
        random: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
        open_after_seconds: float = OPEN_AFTER_SECONDS,
    ) -> None:
        self.name = name
        self.client = client
        self.route = client.route
        self.ladder = FormatLadder(self.route.structured_output)
        self.breaker = Breaker(clock, open_after_seconds=open_after_seconds)
        self.adaptive = AdaptiveLimit(self.route.max_concurrency)
        self.throttled_seconds = 0.0
        """Time that calls waited for a pace or a limit, since somebody last took it."""
        self._ledger = ledger
        client.heed = self._heed
        self._random = random
        self._clock = clock
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._admission = asyncio.Lock()

    async def reply(self, request: JudgeRequest, spent: Spent) -> JudgeReply | Failure:
        """One reply, with as many calls as it takes and the route allows. `spent` is added to."""
        deadline: float | None = None
        mode: Mode | None = None
        tries = faults = internal_errors = 0
        while True:
            outcome, mode = await self._attempt(request, mode, spent)
            deadline = self._clock() + self.route.retry_seconds if deadline is None else deadline
            if isinstance(outcome, JudgeReply):
                return outcome
            if isinstance(outcome, _Gone):
                return outcome.failure
            lower = self.ladder.below(mode) if outcome.kind in ("unsupported_format", "bad_request") else None
            if lower is not None:
                mode = lower
                continue
            internal_errors = internal_errors + 1 if outcome.kind == "internal_error" else 0
            faults += 0 if outcome.rate_limited else 1
            tries += 1
            wait = self._wait_seconds(outcome, tries)
            given_up = (
                not outcome.retry
                or faults >= self.route.max_attempts
                or internal_errors >= SAME_INTERNAL_ERRORS
                or self._clock() + wait > deadline
            )
            if given_up:
                return _failure(outcome, permanent=internal_errors >= SAME_INTERNAL_ERRORS)
            if self.breaker.was_opened:
                return self._dead()
            await self._pause(wait)

    async def _attempt(self, request: JudgeRequest, mode: Mode | None, spent: Spent) -> tuple[Any, Mode]:
        trying = mode is None and await self.ladder.claim()
        used = self.ladder.mode if mode is None or self.ladder.proven else mode
        try:
            outcome = await self._call(request, used, spent)
            if isinstance(outcome, JudgeReply):
                self.ladder.answered(used)
            elif trying and isinstance(outcome, Fault):
                lower = self.ladder.below(used) if outcome.kind in ("unsupported_format", "bad_request") else None
                while lower is not None:
                    used = lower
                    outcome = await self._call(request, used, spent)
                    if isinstance(outcome, JudgeReply):
                        self.ladder.answered(used)
                        break
                    refused = isinstance(outcome, Fault) and outcome.kind in ("unsupported_format", "bad_request")
                    lower = self.ladder.below(used) if refused else None
            return outcome, used
        finally:
            if trying:
                self.ladder.release()

    async def _call(self, request: JudgeRequest, mode: Mode, spent: Spent) -> JudgeReply | Fault | _Gone:
        worst = worst_usage(request, self.route)
        ask = Ask((worst.input_tokens or 0) + request.max_tokens, nano_usd(worst.cost_usd))
        refused = await self._enter(ask)
        if refused is not None:
            return _Gone(refused)
        started = self._clock()
        spent.attempts += 1
        settlement = Settlement(None, None)
        try:
            outcome = await self.client.complete(request, mode)
            settlement = self._settlement(outcome)
        finally:
            self._ledger.settle(self.name, ask, settlement)
            self._leave()
        if isinstance(outcome, JudgeReply):
            spent.usage = spent.usage.plus(outcome.usage)
            self.breaker.alive()
            self.adaptive.succeeded()
        else:
            self._learn(outcome, started)
        if settlement.cost_nano is None and self.route.prices is not None:
            spent.unsettled += 1
            spent.unsettled_usd += worst.cost_usd or 0
        return outcome

    def _settlement(self, outcome: JudgeReply | Fault) -> Settlement:
        if isinstance(outcome, Fault):
            return Settlement(None, None) if outcome.maybe_paid else Settlement(0, 0)
        usage = outcome.usage
        known = usage.input_tokens is not None and usage.output_tokens is not None
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0) if known else None
        cost = None if usage.cost_usd is None and self.route.prices is not None else nano_usd(usage.cost_usd)
        return Settlement(tokens, cost)

    def _heed(self, headers: Mapping[str, str]) -> None:
        """Stop in time, where the endpoint says that nothing is left of what it allows."""
        seconds = exhausted_seconds(headers, time.time())
        if seconds is not None:
            self._ledger.pause(self.name, seconds)

    def _learn(self, fault: Fault, started: float) -> None:
        if fault.headers is not None:
            asked = retry_after_seconds(fault.headers, time.time())
            if asked is not None and asked <= self.route.retry_seconds:
                self._ledger.pause(self.name, asked)
            elif asked is not None:
                self.breaker.refused(fault.kind)
        if fault.rate_limited or fault.status in (503, 529):
            self.adaptive.limited(started, self._clock())
        if fault.rate_limited:
            self.breaker.limited(fault.kind)
        elif fault.refusal_for_all:
            self.breaker.refused(fault.kind)
        elif fault.is_alive:
            self.breaker.alive()
        else:
            self.breaker.failed(fault.kind, started)
        if self.breaker.was_opened:
            self._wake_all()

    def _wait_seconds(self, fault: Fault, tries: int) -> float:
        asked = retry_after_seconds(fault.headers, time.time()) if fault.headers is not None else None
        jitter = backoff_seconds(tries, self._random())
        return jitter if asked is None else asked + min(jitter, 1.0)

    async def _enter(self, ask: Ask) -> Failure | None:
        """Wait for a place in this process and for the ledger's leave; a failure where there will be none."""
        while self._in_flight >= self.adaptive.limit:
            if self.breaker.was_opened:
                break
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        self._in_flight += 1
        try:
            refused = await self._ask_ledger(ask)
        except BaseException:
            self._leave()
            raise
        if refused is not None:
            self._leave()
        return refused

    async def _ask_ledger(self, ask: Ask) -> Failure | None:
        async with self._admission:
            while True:
                if self.breaker.blocks():
                    return self._dead()
                decision = self._ledger.admit(self.name, ask)
                if isinstance(decision, Granted):
                    return None
                if isinstance(decision, Refused):
                    return _over(decision.limit)
                started = self._clock()
                await self._pause(min(decision.seconds, 1.0))
                if decision.throttled:
                    self.throttled_seconds += self._clock() - started

    def _leave(self) -> None:
        self._in_flight -= 1
        free = self.adaptive.limit - self._in_flight
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1

    def _wake_all(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not on when the breaker opens."""
        end = self._clock() + seconds
        while (left := end - self._clock()) > 0 and not self.breaker.was_opened:
            await asyncio.sleep(min(left, 0.5))

    def _dead(self) -> Failure:
        limited = self.breaker.reason in ("rate_limited", "quota_exhausted")
        error_type = ErrorType.JUDGE_RATE_LIMITED if limited else ErrorType.JUDGE_UNAVAILABLE
        return Failure(
            error_type,
            "breaker_open",
            "the endpoint gives no answers; it was not asked any more",
            {"cause": self.breaker.reason},
        )


def _failure(fault: Fault, *, permanent: bool) -> Failure:
    details: dict[str, Any] = {}
    if fault.status is not None:
        details["http_status"] = fault.status
    if fault.code is not None:
        details["code"] = fault.code
    if permanent:
        details["permanent"] = True
    status = "" if fault.status is None or fault.status == 200 else f" (HTTP {fault.status})"
    return Failure(
        fault.error_type, fault.kind, f"the judge call failed: {fault.kind.replace('_', ' ')}{status}", details
    )


def _over(limit: str) -> Failure:
    if limit == "tokens_per_minute":
        return Failure(
            ErrorType.JUDGE_RATE_LIMITED, "call_above_tokens_per_minute", "one call is larger than tokens_per_minute"
        )
    return Failure(
        ErrorType.JUDGE_BUDGET_EXHAUSTED, limit, f"the run's or route's {limit} is reached", {"limit": limit}
    )
