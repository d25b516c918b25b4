"""What a worker needs to ask judges: small, picklable, without keys. A process makes its runner of it in `pipelines.judging.process`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graders.configured import ConfiguredGrader
from graders.errors import ConfigError, Problem
from graders.judges.keys import missing_keys
from graders.judges.routing import share, share_of_budget, used_routes
from pipelines import storage
from schemas.routes import RouteConfig

#: Below the output folder, beside `_commits`: what judges answered and what they cost.
FOLDER = "_judges"


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """The judges of one run, as every process of it sees them."""

    run_id: str
    output: str
    """The run's output folder."""
    routes: Mapping[str, RouteConfig]
    """With this process's share of every limit."""
    max_calls: int | None = None
    max_cost_usd: float | None = None
    refresh: bool = False
    distributed: bool = False
    """Whether processes share no disk: then the limits are divided and the cache lies in the output's storage."""
    earlier: tuple[str, ...] = ()
    """Runs whose replies are used, too, where each run has a cache of its own."""

    @property
    def embedded(self) -> bool:
        """Whether the cache is one file on a disk that all processes share."""
        return not self.distributed and not storage.is_remote(self.output)

    @property
    def cache_uri(self) -> str:
        """The embedded cache (of all runs of this output), or the folder of this run's segments."""
        return storage.join(self.output, FOLDER, "replies.sqlite") if self.embedded else self.segments_uri(self.run_id)

    def segments_uri(self, run_id: str) -> str:
        """The folder of a run's segments."""
        return storage.join(self.output, FOLDER, run_id)

    @property
    def ledger_path(self) -> str:
        """The run's ledger on the machine's disk: beside the cache, or with the temporary files where the output is remote."""
        name = f"{self.run_id}.ledger.sqlite"
        if self.embedded:
            return storage.join(self.output, FOLDER, name)
        return os.path.join(tempfile.gettempdir(), "gradebeam-judges", name)


def judge_plan(
    run_id: str,
    output: str,
    graders: Iterable[ConfiguredGrader],
    routes: Mapping[str, RouteConfig],
    *,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
    refresh: bool = False,
    distributed: bool = False,
    processes: int | None = None,
    earlier: Sequence[str] = (),
) -> JudgePlan:
    """The plan of a run's judges.

    Args:
        run_id: the run.
        output: its output folder.
        graders: the suite's graders; only routes that judges among them ask are kept.
        routes: the suite's routes.
        max_calls: the run's own bound for HTTP requests.
        max_cost_usd: the run's own budget.
        refresh: ask again instead of reading the cache.
        distributed: whether the processes share no disk.
        processes: most worker processes at once, from the runner's options; needed where limits have to be divided.
        earlier: runs of this output whose replies are used, too.

    Raises:
        ConfigError: limits have to be divided by an unknown or too large number of processes.
    """
    used = used_routes(graders, routes)
    before = tuple(earlier)
    if not distributed:
        return JudgePlan(run_id, output, used, max_calls, max_cost_usd, refresh, earlier=before)
    if processes is None:
        problems = [
            Problem(
                ("routes", name, field), "can't be kept: the number of workers is unknown", "set the runner's maximum"
            )
            for name, route in used.items()
            for field in _limits_set(route)
        ]
        for field, value in (("max_calls", max_calls), ("max_cost_usd", max_cost_usd)):
            if value is not None and used:
                problems.append(
                    Problem(
                        ("limits", field), "can't be kept: the number of workers is unknown", "set the runner's maximum"
                    )
                )
        if problems:
            raise ConfigError(problems)
        return JudgePlan(run_id, output, used, None, None, refresh, distributed=True, earlier=before)
    calls, cost = share_of_budget(max_calls, max_cost_usd, processes)
    return JudgePlan(run_id, output, share(used, processes), calls, cost, refresh, distributed=True, earlier=before)


def check_keys(plan: JudgePlan, environ: Mapping[str, str] = os.environ) -> None:
    """Refuse a run whose judges would find no key here. Distributed workers have an environment of their own: not checked.

    Raises:
        ConfigError: an environment variable of a route is not set.
    """
    problems = [
        Problem(
            ("routes", name),
            f"the environment variable {variable} is not set",
            "judges take their keys from there only",
        )
        for name, route in plan.routes.items()
        for variable in missing_keys(route, environ)
    ]
    if problems and not plan.distributed:
        raise ConfigError(problems)


def _limits_set(route: RouteConfig) -> list[str]:
    own = ["max_concurrency"] if "max_concurrency" in route.model_fields_set else []
    others = ("requests_per_minute", "tokens_per_minute", "max_calls", "max_cost_usd")
    return own + [name for name in others if getattr(route, name) is not None]
