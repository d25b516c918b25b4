"""What a worker needs to ask judges: small, picklable, without keys; and the one runner that a process makes of it."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graders.configured import ConfiguredGrader
from graders.errors import ConfigError, Problem
from graders.judges.cache import ReplyCache
from graders.judges.client import missing_keys
from graders.judges.limits import Ledger, Totals, limits_of, run_limits
from graders.judges.memory_ledger import MemoryLedger
from graders.judges.routing import share, share_of_budget, used_routes
from graders.judges.runner import JudgeRunner
from pipelines import storage
from pipelines.judging.ledger import SqliteLedger
from pipelines.judging.segment_cache import FolderSegments, SegmentCache
from pipelines.judging.sqlite_cache import SqliteCache
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


def open_cache(plan: JudgePlan) -> ReplyCache:
    """The cache of a plan."""
    if plan.embedded:
        return SqliteCache(plan.cache_uri)
    earlier = [FolderSegments(plan.segments_uri(run_id)) for run_id in plan.earlier]
    return SegmentCache(FolderSegments(plan.cache_uri), earlier=earlier)


def open_ledger(plan: JudgePlan) -> Ledger:
    """The ledger of a plan: embedded on one machine, else this process's share in memory."""
    limits = {name: limits_of(route) for name, route in plan.routes.items()}
    whole = run_limits(plan.max_calls, plan.max_cost_usd)
    return MemoryLedger(limits, whole) if plan.distributed else SqliteLedger(plan.ledger_path, limits, whole)


_runners: dict[tuple[str, str, bool], JudgeRunner] = {}
_lock = threading.Lock()


def runner_for(plan: JudgePlan) -> JudgeRunner:
    """This process's runner for a plan: made when first asked for, shared by all threads and steps."""
    key = (plan.output, plan.run_id, plan.refresh)
    with _lock:
        if key not in _runners:
            _runners[key] = JudgeRunner(
                plan.routes, cache=open_cache(plan), ledger=open_ledger(plan), run_id=plan.run_id, refresh=plan.refresh
            )
        return _runners[key]


def spent(plan: JudgePlan) -> Totals | None:
    """Calls and dollars of the run so far, killed executions included; None where no ledger outlives the processes."""
    if plan.distributed or not plan.routes:
        return None
    ledger = open_ledger(plan)
    try:
        return ledger.totals()
    finally:
        ledger.close()


def close_runners() -> None:
    """End all runners of this process: caches are durable, connections closed. A later `runner_for` makes new ones."""
    with _lock:
        runners = list(_runners.values())
        _runners.clear()
    for runner in runners:
        runner.close()


def _limits_set(route: RouteConfig) -> list[str]:
    own = ["max_concurrency"] if "max_concurrency" in route.model_fields_set else []
    others = ("requests_per_minute", "tokens_per_minute", "max_calls", "max_cost_usd")
    return own + [name for name in others if getattr(route, name) is not None]


atexit.register(close_runners)
