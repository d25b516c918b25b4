"""The one judge runner of a process, with the cache and the ledger of its plan."""

from __future__ import annotations

import atexit
import threading

from graders.judges.cache import ReplyCache
from graders.judges.limits import Ledger, Totals, limits_of, run_limits
from graders.judges.memory_ledger import MemoryLedger
from graders.judges.runner import JudgeRunner
from pipelines.judging.ledger import SqliteLedger
from pipelines.judging.plan import JudgePlan
from pipelines.judging.segment_cache import FolderSegments, SegmentCache
from pipelines.judging.sqlite_cache import SqliteCache


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


atexit.register(close_runners)
