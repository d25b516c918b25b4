"""How much CPU time one evaluation took, wherever it ran."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path

import graders.matching as matching
from graders.matching import worker_pool
from graders.matching.backtracking import check_compiles


@dataclass(frozen=True)
class Execution:
    match: matching.Match
    cpu_ms: float
    wall_ms: float


def measured(pattern: matching.Pattern, text: str) -> Execution:
    """The evaluation of `text`, its own CPU time (this thread's and its worker's), and its wall time.

    Libraries are loaded, and one worker is running and has compiled the pattern before. What starting its replacement
    costs is left out.
    """
    program = pattern._program
    assert program is not None
    matching.compile("(?=a)a").match_text("b")
    worker_pool._POOL.end_all()
    check_compiles(program.backtracking)
    in_workers, in_children, in_thread = _workers_seconds(), _children_seconds(), time.thread_time()
    began = time.perf_counter()
    match = pattern.match_text(text)
    wall = time.perf_counter() - began
    in_thread = time.thread_time() - in_thread
    reaped = _children_seconds() - in_children
    in_worker = reaped - in_workers if reaped > 0 else _workers_seconds() - in_workers
    return Execution(match, 1000 * (in_thread + in_worker), 1000 * wall)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _workers_seconds() -> float:
    total = 0.0
    for worker in worker_pool._POOL._idle:
        spent = Path(f"/proc/{worker.process.pid}/schedstat")
        total += int(spent.read_text().split()[0]) / 1e9
    return total
