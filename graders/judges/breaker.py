"""Two reflexes of a route: fewer calls at once while the endpoint says it is too much, none while it is dead."""

from __future__ import annotations

from collections.abc import Callable

#: Failed calls in a row, over so many seconds without one success, that open the breaker.
OPEN_AFTER_FAILURES = 5
OPEN_AFTER_SECONDS = 10.0
#: The same for refusals that no retry helps (a wrong key, an unknown model).
OPEN_AFTER_REFUSALS = 3
#: Seconds of nothing but rate limiting that open it.
OPEN_AFTER_LIMITED_SECONDS = 300.0
#: After so long one call tries whether the endpoint is back.
COOL_DOWN_SECONDS = 30.0
#: What rate limiting leaves of the calls in flight, and what every success adds.
LOWERED_TO = 0.7
RAISED_BY = 0.25


class Breaker:
    """Open: the route's calls fail at once. It is fed with what became of every call."""

    def __init__(self, clock: Callable[[], float], *, open_after_seconds: float = OPEN_AFTER_SECONDS) -> None:
        self._clock = clock
        self._open_after = open_after_seconds
        self._quiet_since: float | None = None
        self._limited_since: float | None = None
        self._failures = 0
        self._refusals = 0
        self._opened_at: float | None = None
        self.reason = ""
        """The kind of the failure that opened it."""

    def blocks(self) -> bool:
        """Whether a call must not be made. After the cool-down one asker gets through, to try."""
        if self._opened_at is None:
            return False
        if self._clock() - self._opened_at >= COOL_DOWN_SECONDS:
            self._opened_at = self._clock()
            return False
        return True

    @property
    def was_opened(self) -> bool:
        """Whether it stands open; asking this does not use up the try after the cool-down."""
        return self._opened_at is not None

    def alive(self) -> None:
        """The endpoint answered."""
        self._quiet_since = self._limited_since = self._opened_at = None
        self._failures = self._refusals = 0

    def failed(self, kind: str, started_at: float) -> None:
        """A call that began at `started_at` got no answer."""
        self._quiet_since = started_at if self._quiet_since is None else min(self._quiet_since, started_at)
        self._failures += 1
        if self._failures >= OPEN_AFTER_FAILURES and self._clock() - self._quiet_since >= self._open_after:
            self._open(kind)

    def refused(self, kind: str) -> None:
        """A call was refused for a reason that holds for every call."""
        self._refusals += 1
        if self._refusals >= OPEN_AFTER_REFUSALS:
            self._open(kind)

    def limited(self, kind: str) -> None:
        """A call was rate-limited: the endpoint lives, but gives nothing."""
        now = self._clock()
        self._limited_since = now if self._limited_since is None else self._limited_since
        if now - self._limited_since >= OPEN_AFTER_LIMITED_SECONDS:
            self._open(kind)

    def _open(self, kind: str) -> None:
        self._opened_at = self._clock()
        self.reason = kind


class AdaptiveLimit:
    """How many calls a process has in flight at most: lowered when that is too much, then raised."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._limit = float(most)
        self._lowered_at = float("-inf")

    @property
    def limit(self) -> int:
        """The present limit, from 1 to `most`."""
        return max(int(self._limit), 1)

    def limited(self, started_at: float, now: float) -> None:
        """Lower it, once for all calls that were in flight together."""
        if started_at >= self._lowered_at:
            self._limit = max(self._limit * LOWERED_TO, 1.0)
            self._lowered_at = now

    def succeeded(self) -> None:
        """Come back by one every so many calls."""
        self._limit = min(self._limit + RAISED_BY, float(self.most))
