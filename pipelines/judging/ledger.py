"""The ledger that the processes of one machine share: limits of a run hold over all of them, and over its reruns."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from operator import attrgetter

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
from pipelines.judging.sqlite_file import open_shared

RUN = ""
#: A process that has not been heard of for so long is taken for dead, even where its id is in use again.
SILENT_SECONDS = 90.0
HEARTBEAT_SECONDS = 10.0
#: A pace further ahead than this is left over from another time of the clock.
STALE_AHEAD_SECONDS = 3_600.0
_NAMES = [field.name for field in fields(State)]
_VALUES = attrgetter(*_NAMES)
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS states (route TEXT PRIMARY KEY, {", ".join(f"{name} NOT NULL" for name in _NAMES)});
CREATE TABLE IF NOT EXISTS holders (
  owner TEXT, route TEXT, in_flight INTEGER NOT NULL, reserved_nano INTEGER NOT NULL, PRIMARY KEY (owner, route)
);
CREATE TABLE IF NOT EXISTS batches (name TEXT PRIMARY KEY, route TEXT NOT NULL, cost_nano INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS processes (owner TEXT PRIMARY KEY, pid INTEGER NOT NULL, seen REAL NOT NULL);
"""


class SqliteLedger:
    """Counts in one file a run. What a killed process had reserved is counted as unsettled once it is known to be dead.

    Args:
        path: the file; made with its folder if absent.
        limits: by route.
        whole: the run's own limits.
        clock: Unix time; the same for all processes.
    """

    def __init__(
        self,
        path: str,
        limits: Mapping[str, Limits],
        whole: Limits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limits = dict(limits)
        self._whole = whole or Limits()
        self._clock = clock
        self._owner = uuid.uuid4().hex
        self._heard = 0.0
        self._lock = threading.Lock()
        self._database = open_shared(path, _SCHEMA)
        with self._transaction():
            self._beat(clock())

    def admit(self, route: str, ask: Ask) -> Decision:
        """Decide on one call and, where it is granted, count it."""
        limits = self._limits.get(route, Limits())
        with self._transaction():
            now = self._clock()
            if now - self._heard > HEARTBEAT_SECONDS:
                self._beat(now)
            state, run = self._load(route)
            ahead = max(state.next_request_at, state.next_tokens_at, state.paused_until) - now
            if ahead > STALE_AHEAD_SECONDS + self._longest_gap(limits):
                state = replace(state, next_request_at=now, next_tokens_at=now, paused_until=now)
            decision = decide(state, run, limits, self._whole, ask, now)
            if isinstance(decision, Granted):
                self._store(route, *admitted(state, run, limits, ask, now))
                self._hold(route, 1, ask.cost_nano)
            return decision

    def settle(self, route: str, ask: Ask, settlement: Settlement) -> None:
        """Count what an admitted call took."""
        limits = self._limits.get(route, Limits())
        with self._transaction():
            self._store(route, *settled(*self._load(route), limits, ask, settlement, self._clock()))
            self._hold(route, -1, -ask.cost_nano)

    def reserve(self, name: str, route: str, ask: Ask) -> bool:
        """Count a provider's batch before it is submitted, if the budgets leave room."""
        with self._transaction():
            if self._database.execute("SELECT 1 FROM batches WHERE name = ?", (name,)).fetchone():
                return True
            limits = self._limits.get(route, Limits())
            states = reserved(*self._load(route), limits, self._whole, ask)
            if states is None:
                return False
            self._store(route, *states)
            self._database.execute("INSERT INTO batches VALUES (?, ?, ?)", (name, route, ask.cost_nano))
            return True

    def release(self, name: str, settlement: Settlement) -> None:
        """Count what a reserved batch took."""
        with self._transaction():
            held = self._database.execute("SELECT route, cost_nano FROM batches WHERE name = ?", (name,)).fetchone()
            if held is not None:
                route, cost_nano = held
                self._store(route, *released(*self._load(route), Ask(0, cost_nano), settlement))
                self._database.execute("DELETE FROM batches WHERE name = ?", (name,))

    def pause(self, route: str, seconds: float) -> None:
        """Admit nothing on a route for so long, in any process."""
        with self._transaction():
            state, run = self._load(route)
            self._store(route, replace(state, paused_until=max(state.paused_until, self._clock() + seconds)), run)

    def totals(self, route: str | None = None) -> Totals:
        """The counts of a route, or of the run, over all processes and earlier attempts."""
        with self._transaction():
            state = self._load(RUN if route is None else route)[0]
        return Totals(state.calls, usd(state.spent_nano), usd(state.unsettled_nano))

    def close(self) -> None:
        """Leave the ledger."""
        with self._transaction():
            self._database.execute("DELETE FROM processes WHERE owner = ?", (self._owner,))
            self._database.execute("DELETE FROM holders WHERE owner = ? AND in_flight = 0", (self._owner,))
        self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _load(self, route: str) -> tuple[State, State]:
        """The states of a route and of the run."""
        query = f"SELECT route, {', '.join(_NAMES)} FROM states WHERE route IN (?, ?)"
        found = {name: State(*values) for name, *values in self._database.execute(query, (route, RUN))}
        return found.get(route, State()), found.get(RUN, State())

    def _store(self, route: str, state: State, run: State) -> None:
        marks = ", ".join("?" for _ in _NAMES)
        self._database.execute(
            f"INSERT OR REPLACE INTO states VALUES (?, {marks}), (?, {marks})",
            (route, *_VALUES(state), RUN, *_VALUES(run)),
        )

    def _hold(self, route: str, calls: int, reserved_nano: int) -> None:
        self._database.execute(
            "INSERT INTO holders VALUES (?, ?, ?, ?) ON CONFLICT (owner, route) DO UPDATE SET "
            "in_flight = in_flight + excluded.in_flight, reserved_nano = reserved_nano + excluded.reserved_nano",
            (self._owner, route, calls, reserved_nano),
        )

    def _beat(self, now: float) -> None:
        """Say that this process lives, and settle what dead ones held."""
        self._heard = now
        self._database.execute("INSERT OR REPLACE INTO processes VALUES (?, ?, ?)", (self._owner, os.getpid(), now))
        for owner, pid, seen in self._database.execute("SELECT owner, pid, seen FROM processes").fetchall():
            if owner != self._owner and (now - seen > SILENT_SECONDS or not _is_running(pid)):
                self._database.execute("DELETE FROM processes WHERE owner = ?", (owner,))
        orphans = self._database.execute(
            "SELECT owner, route, in_flight, reserved_nano FROM holders "
            "WHERE owner NOT IN (SELECT owner FROM processes)"
        ).fetchall()
        for owner, route, in_flight, reserved_nano in orphans:
            self._database.execute("DELETE FROM holders WHERE owner = ? AND route = ?", (owner, route))
            state, run = (_orphaned(state, reserved_nano) for state in self._load(route))
            self._store(route, replace(state, in_flight=max(state.in_flight - in_flight, 0)), run)

    def _longest_gap(self, limits: Limits) -> float:
        return 120.0 / min(limits.requests_per_minute or 60.0, 1.0)


def _orphaned(state: State, reserved_nano: int) -> State:
    return replace(
        state,
        reserved_nano=max(state.reserved_nano - reserved_nano, 0),
        unsettled_nano=state.unsettled_nano + max(reserved_nano, 0),
    )


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
