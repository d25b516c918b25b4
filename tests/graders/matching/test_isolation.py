"""Workers under threads, forks, spawned processes and dying parents."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
import regex

import graders.matching as matching
from graders.matching import worker_pool

_BACKTRACKING = r"(?<=o)x (?=\d)"
_REPOSITORY = str(Path(matching.__file__).parents[2])
_PARENT = """
import os, sys, threading, time
import pyarrow as pa
import graders.matching as matching
from graders.matching import worker_pool
matching.compile("(?=a)a").match_text("a")
print(worker_pool._POOL._idle[0].process.pid, flush=True)
if sys.argv[1] == "busy":
    matching.compile("(?=.)(?:a{0,60}){0,60}b").match_array(pa.array(["a" * 400] * 100000))
time.sleep(60)
"""


def _verdicts(count: int) -> int:
    texts = pa.array([f"the fox {n}" for n in range(count)])
    return int(matching.compile(_BACKTRACKING).match_array(texts).matched.true_count)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not _alive(pid)


def test_many_threads_share_the_pool() -> None:
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(_verdicts, [2000] * 18)) == [2000] * 18


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_forked_and_spawned_processes_have_workers_of_their_own(method: str) -> None:
    assert _verdicts(10) == 10
    mine = {worker.process.pid for worker in worker_pool._POOL._idle}
    with multiprocessing.get_context(method).Pool(2) as processes:
        assert processes.map(_verdicts, [500] * 4) == [500] * 4
    assert _verdicts(10) == 10
    assert mine & {worker.process.pid for worker in worker_pool._POOL._idle}


@pytest.mark.parametrize("doing", ["idle", "busy"])
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_worker_outlives_its_parent(doing: str, sent: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, doing],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": _REPOSITORY},
        start_new_session=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.3 if doing == "busy" else 0.0)
    assert _alive(pid)
    if sent is signal.SIGINT:
        os.killpg(parent.pid, sent)
    else:
        parent.send_signal(sent)
    parent.wait()
    parent.stdout.close()
    assert _gone_within(pid, 5.0)


def test_a_worker_that_was_killed_is_replaced_and_nothing_is_lost() -> None:
    assert _verdicts(10) == 10
    for worker in list(worker_pool._POOL._idle):
        os.kill(worker.process.pid, signal.SIGKILL)
    assert _verdicts(3000) == 3000


def test_a_killed_worker_in_the_middle_of_a_batch_loses_no_verdict() -> None:
    stop = threading.Event()

    def assassin() -> None:
        for _ in range(2):
            stop.wait(0.3)
            for worker in list(worker_pool._POOL._all):
                if worker.process.returncode is None:
                    os.kill(worker.process.pid, signal.SIGKILL)

    killer = threading.Thread(target=assassin)
    killer.start()
    try:
        assert _verdicts(300_000) == 300_000
    finally:
        stop.set()
        killer.join()


def test_busy_threads_neither_stop_a_fair_evaluation_nor_save_an_endless_one() -> None:
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            sum(range(10_000))

    threads = [threading.Thread(target=busy) for _ in range(4)]
    quadratic = r"(\w+)(?=;)\1"
    fair = matching.compile(quadratic)
    endless = matching.compile(r"(?=.)(a|aa)+$")
    for thread in threads:
        thread.start()
    try:
        length = _length_that_needs(quadratic, 60.0)
        assert fair.match_text("a" * length).outcome is matching.Outcome.NOT_MATCHED
        assert endless.match_text("a" * 5000 + "!").limit == "timeout"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _length_that_needs(source: str, cpu_ms: float) -> int:
    """How many a's make the quadratic pattern need `cpu_ms` of this thread's own CPU time."""
    length, worst = 500, 0.0
    for _ in range(3):
        began = time.thread_time()
        regex.search(source, "a" * length)
        worst = max(worst, 1000 * (time.thread_time() - began))
    return int(length * (cpu_ms / worst) ** 0.5)
