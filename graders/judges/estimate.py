"""What a run would ask, without asking: judgments, tokens and dollars. Tokens of prompts are estimated, replies at most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from graders.configured import ConfiguredGrader
from graders.judges.judge_grader import JudgeGrader
from graders.judges.pricing import cost_of, expected_input_tokens, worst_usage
from graders.judges.request import JudgeRequest, route_key
from graders.judges.routing import resolve
from schemas.routes import RouteConfig
from schemas.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one judge (or several) would take without repairs and retries."""

    judgments: int = 0
    """Trajectories that would be judged."""
    requests: int = 0
    """Questions to endpoints; a panel has several a judgment."""
    cached: int = 0
    """Questions whose reply is in the cache or was asked before in this run; not in the figures below."""
    input_tokens: int = 0
    """About: four bytes a token."""
    max_output_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """With the input as estimated and every reply at `max_tokens`; None where a route has no prices."""
    worst_cost_usd: Decimal | None = Decimal(0)
    """With every byte of the prompts a token: what a budget reserves."""

    def plus(self, other: Estimate) -> Estimate:
        """Both together."""
        return Estimate(
            self.judgments + other.judgments,
            self.requests + other.requests,
            self.cached + other.cached,
            self.input_tokens + other.input_tokens,
            self.max_output_tokens + other.max_output_tokens,
            _both(self.cost_usd, other.cost_usd),
            _both(self.worst_cost_usd, other.worst_cost_usd),
        )


class Estimator:
    """Adds up estimates block by block. `is_cached(key)` says whether a reply is kept already."""

    def __init__(self, routes: Mapping[str, RouteConfig], is_cached: Callable[[str], bool] = lambda key: False) -> None:
        self._routes = routes
        self._is_cached = is_cached
        self._asked: set[bytes] = set()
        self.by_grader: dict[str, Estimate] = {}

    def add(self, configured: ConfiguredGrader, trajectories: Iterable[Trajectory]) -> None:
        """Count one judge over trajectories that its `sample` leaves. `when:` on another judge's status can't be foreseen."""
        grader = configured.grader
        if not isinstance(grader, JudgeGrader):
            return
        total = self.by_grader.get(configured.name, Estimate())
        for trajectory in trajectories:
            if grader.precheck(trajectory) is not None:
                continue
            total = total.plus(Estimate(judgments=1))
            for request in grader.requests(trajectory):
                total = total.plus(self._request(request))
        self.by_grader[configured.name] = total

    @property
    def total(self) -> Estimate:
        """All judges together."""
        whole = Estimate()
        for one in self.by_grader.values():
            whole = whole.plus(one)
        return whole

    def _request(self, request: JudgeRequest) -> Estimate:
        name = resolve(request.route, self._routes)
        if name is None:
            return Estimate(requests=1, cost_usd=None, worst_cost_usd=None)
        route = self._routes[name]
        key = route_key(request, route.identity)
        short = bytes.fromhex(key)[:16]
        if short in self._asked or self._is_cached(key):
            return Estimate(requests=1, cached=1)
        self._asked.add(short)
        tokens = expected_input_tokens(request)
        factor = route.prices.batch_factor if route.prices is not None and route.mode == "batch" else Decimal(1)
        cost = cost_of(route.prices, tokens, request.max_tokens, None)
        worst = worst_usage(request, route).cost_usd
        return Estimate(0, 1, 0, tokens, request.max_tokens, None if cost is None else cost * factor, worst)


def _both(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    return None if left is None or right is None else left + right
