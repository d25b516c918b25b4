"""The ledger of one process: limits that nobody else shares."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from graders.judges.limits import (
    Ask,
    Decision,
    Granted,
    Limits,
    Settlement,
    State,
    Totals,
    admitted,
    decide,
    released,
    reserved,
    settled,
    usd,
)


class MemoryLedger:
    """Counts in memory; safe for threads. `limits` by route, `whole` for the run."""

    def __init__(
        self, limits: Mapping[str, Limits], whole: Limits | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = dict(limits)
        self._whole = whole or Limits()
        self._clock = clock
        self._routes: defaultdict[str, State] = defaultdict(State)
        self._run = State()
        self._batches: dict[str, tuple[str, Ask]] = {}
        self._lock = threading.Lock()

    def admit(self, route: str, ask: Ask) -> Decision:
        """Decide on one call and, where it is granted, count it."""
        with self._lock:
            now = self._clock()
            state, limits = self._routes[route], self._limits.get(route, Limits())
            decision = decide(state, self._run, limits, self._whole, ask, now)
            if isinstance(decision, Granted):
                self._routes[route], self._run = admitted(state, self._run, limits, ask, now)
            return decision

    def settle(self, route: str, ask: Ask, settlement: Settlement) -> None:
        """Count what an admitted call took."""
        with self._lock:
            limits = self._limits.get(route, Limits())
            self._routes[route], self._run = settled(
                self._routes[route], self._run, limits, ask, settlement, self._clock()
            )

    def reserve(self, name: str, route: str, ask: Ask) -> bool:
        """Count a provider's batch before it is submitted, if the budgets leave room."""
        with self._lock:
            if name in self._batches:
                return True
            states = reserved(self._routes[route], self._run, self._limits.get(route, Limits()), self._whole, ask)
            if states is None:
                return False
            self._routes[route], self._run = states
            self._batches[name] = (route, ask)
            return True

    def release(self, name: str, settlement: Settlement) -> None:
        """Count what a reserved batch took."""
        with self._lock:
            if name in self._batches:
                route, ask = self._batches.pop(name)
                self._routes[route], self._run = released(self._routes[route], self._run, ask, settlement)

    def pause(self, route: str, seconds: float) -> None:
        """Admit nothing on a route for so long."""
        with self._lock:
            self._routes[route] = paused(self._routes[route], self._clock() + seconds)

    def totals(self, route: str | None = None) -> Totals:
        """The counts of a route, or of the run."""
        with self._lock:
            return totals_of(self._run if route is None else self._routes[route])

    def close(self) -> None:
        """Nothing to do."""


def paused(state: State, until: float) -> State:
    """The state with a pause that is never shortened."""
    return replace(state, paused_until=max(state.paused_until, until))


def totals_of(state: State) -> Totals:
    """A state's counts in dollars."""
    return Totals(state.calls, usd(state.spent_nano), usd(state.unsettled_nano))
