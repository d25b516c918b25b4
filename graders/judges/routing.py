"""Which route a judge asks, and what is wrong with that before any input is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from graders.configured import ConfiguredGrader
from graders.errors import ConfigError, Problem, nearest
from graders.judges.judge_grader import DEFAULT_ROUTE, JudgeGrader
from graders.judges.keys import missing_keys
from schemas.routes import RouteConfig


def resolve(name: str, routes: Mapping[str, RouteConfig]) -> str | None:
    """The route that a name means; `default` also means the only one there is. None: there is none."""
    if name in routes:
        return name
    return next(iter(routes)) if name == DEFAULT_ROUTE and len(routes) == 1 else None


def used_routes(graders: Iterable[ConfiguredGrader], routes: Mapping[str, RouteConfig]) -> dict[str, RouteConfig]:
    """The routes that these graders ask."""
    names = (
        resolve(name, routes) for one in graders if isinstance(one.grader, JudgeGrader) for name in one.grader.routes
    )
    return {name: routes[name] for name in names if name is not None}


def route_problems(
    graders: Iterable[ConfiguredGrader],
    routes: Mapping[str, RouteConfig],
    *,
    max_cost_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[Problem]:
    """What keeps these judges from running: routes that do not exist, budgets without prices, keys that are not set.

    Args:
        graders: the suite's graders.
        routes: the suite's routes.
        max_cost_usd: the run's own budget.
        environ: where keys are looked for; None does not look.
    """
    graders = list(graders)
    problems = []
    for one in graders:
        if not isinstance(one.grader, JudgeGrader):
            continue
        for name in dict.fromkeys(one.grader.routes):
            if resolve(name, routes) is None:
                known = nearest(name, routes) or (
                    "the routes are " + ", ".join(sorted(routes)) if routes else "the suite has no routes"
                )
                problems.append(Problem(("graders", one.name), f'asks the route "{name}", which does not exist', known))
    for name, route in used_routes(graders, routes).items():
        if max_cost_usd is not None and route.prices is None:
            problems.append(
                Problem(("routes", name, "prices"), "a run with max_cost_usd needs the prices of every route")
            )
        for variable in missing_keys(route, environ) if environ is not None else ():
            message = f"the environment variable {variable} is not set"
            problems.append(Problem(("routes", name), message, "judges take their keys from the environment only"))
    return problems


def share(routes: Mapping[str, RouteConfig], processes: int) -> dict[str, RouteConfig]:
    """The routes with each limit divided by the most processes that a distributed run may have.

    Raises:
        ConfigError: a limit that the suite sets is too small to divide.
    """
    return {name: _shared(name, route, processes) for name, route in routes.items()}


def share_of_budget(
    max_calls: int | None, max_cost_usd: float | None, processes: int
) -> tuple[int | None, float | None]:
    """One process's part of the run's budget.

    Raises:
        ConfigError: there are fewer calls than processes.
    """
    calls = None if max_calls is None else _whole_share(max_calls, processes, ("limits", "max_calls"))
    return calls, None if max_cost_usd is None else max_cost_usd / processes


def _shared(name: str, route: RouteConfig, processes: int) -> RouteConfig:
    changes: dict[str, object] = {}
    if "max_concurrency" in route.model_fields_set:
        changes["max_concurrency"] = _whole_share(route.max_concurrency, processes, ("routes", name, "max_concurrency"))
    else:
        changes["max_concurrency"] = max(math.ceil(route.max_concurrency / processes), 1)
    if route.max_calls is not None:
        changes["max_calls"] = _whole_share(route.max_calls, processes, ("routes", name, "max_calls"))
    for field in ("requests_per_minute", "tokens_per_minute", "max_cost_usd"):
        value = getattr(route, field)
        if value is not None:
            changes[field] = value / processes
    return route.model_copy(update=changes)


def _whole_share(limit: int, processes: int, path: tuple[str | int, ...]) -> int:
    if limit and limit < processes:
        message = f"{limit} can't be shared by {processes} processes"
        raise ConfigError([Problem(path, message, "raise it, or run with fewer workers")])
    return limit // processes
