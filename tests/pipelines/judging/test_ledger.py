"""The embedded ledger: shared by processes, and honest about those that died."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from decimal import Decimal
from pathlib import Path

from graders.judges.limits import Ask, Granted, Limits, Refused, Settlement, Wait
from pipelines.judging.ledger import SqliteLedger

SPAWN = multiprocessing.get_context("spawn")


def _take(path: str, seconds: float, granted_at: multiprocessing.Queue[list[float]]) -> None:
    ledger = SqliteLedger(path, {"r": Limits(requests_per_minute=1_200)})
    times = []
    end = time.time() + seconds
    while time.time() < end:
        decision = ledger.admit("r", Ask(1))
        if isinstance(decision, Granted):
            times.append(time.time())
            ledger.settle("r", Ask(1), Settlement(1, 0))
        elif isinstance(decision, Wait):
            time.sleep(min(decision.seconds, 0.1))
    granted_at.put(times)


def _hold_and_hang(path: str, ready: multiprocessing.Queue[int]) -> None:
    ledger = SqliteLedger(path, {"r": Limits(max_concurrency=2)})
    ledger.admit("r", Ask(1, 70))
    ready.put(os.getpid())
    time.sleep(60)


def test_two_processes_share_one_pace(tmp_path: Path) -> None:
    path, queue = str(tmp_path / "ledger.sqlite"), SPAWN.Queue()
    workers = [SPAWN.Process(target=_take, args=(path, 2.0, queue)) for _ in range(2)]
    for worker in workers:
        worker.start()
    times = sorted(moment for _ in workers for moment in queue.get(timeout=30))
    for worker in workers:
        worker.join()
    span = times[-1] - times[0]
    assert len(times) <= 1_200 / 60 * (span + 0.05) + 1
    assert SqliteLedger(path, {}).totals("r").calls == len(times)


def test_what_a_killed_process_held_is_given_back_and_its_money_counted(tmp_path: Path) -> None:
    path, queue = str(tmp_path / "ledger.sqlite"), SPAWN.Queue()
    worker = SPAWN.Process(target=_hold_and_hang, args=(path, queue))
    worker.start()
    pid = queue.get(timeout=30)
    limits = {"r": Limits(max_concurrency=2, max_cost_nano=100)}
    before = SqliteLedger(path, limits)
    assert isinstance(before.admit("r", Ask(1, 10)), Granted)
    assert isinstance(before.admit("r", Ask(1, 10)), Wait)
    os.kill(pid, signal.SIGKILL)
    worker.join()
    after = SqliteLedger(path, limits)
    assert isinstance(after.admit("r", Ask(1, 10)), Granted)
    assert after.totals("r").unsettled_usd * 10**9 == 70
    assert after.admit("r", Ask(1, 40)) == Refused("max_cost_usd")


def test_counts_outlive_the_process_of_a_run(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "ledger.sqlite")
    first = SqliteLedger(path, {"r": Limits(max_calls=2)}, Limits(max_cost_nano=1_000))
    first.admit("r", Ask(1, 5))
    first.settle("r", Ask(1, 5), Settlement(1, 3))
    assert first.reserve("batch", "r", Ask(0, 100, 1))
    first.close()
    second = SqliteLedger(path, {"r": Limits(max_calls=2)}, Limits(max_cost_nano=1_000))
    assert second.admit("r", Ask(1)) == Refused("max_calls")
    second.release("batch", Settlement(0, 42))
    assert (second.totals().calls, second.totals().cost_usd * 10**9, second.totals().unsettled_usd) == (
        2,
        Decimal(45),
        Decimal(0),
    )


def test_a_pause_and_an_old_clock(tmp_path: Path) -> None:
    now = [101_000.0]
    ledger = SqliteLedger(str(tmp_path / "l"), {"r": Limits(requests_per_minute=60)}, clock=lambda: now[0])
    ledger.pause("r", 5.0)
    paused = ledger.admit("r", Ask(1))
    assert isinstance(paused, Wait)
    assert paused.throttled
    now[0] = 101_006.0
    assert isinstance(ledger.admit("r", Ask(1)), Granted)
    ledger.settle("r", Ask(1), Settlement(1, 0))
    now[0] = 10.0
    assert isinstance(ledger.admit("r", Ask(1)), Granted)
