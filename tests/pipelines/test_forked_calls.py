"""Calls in forks: every result once, faults told as what they are, and no child outlives its call."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import object_stores
from pipelines.forked_calls import WorkerLost, can_fork, copying, forked_map

pytestmark = pytest.mark.skipif(not can_fork(), reason="only Linux forks safely")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(), min_size=1, max_size=12), st.integers(1, 4))
def test_each_item_gives_its_result_once(items: list[int], workers: int) -> None:
    assert sorted(forked_map(lambda item: item * 3, items, workers)) == sorted(item * 3 for item in items)


def test_no_more_children_than_asked_for_and_all_of_them_work() -> None:
    def wait_and_tell(item: int) -> int:
        time.sleep(0.1)
        return os.getpid()

    pids = list(forked_map(wait_and_tell, range(8), 2))
    assert len(set(pids)) == 2
    assert os.getpid() not in pids
    assert not any(_alive(pid) for pid in pids)


def test_neither_call_nor_items_are_pickled() -> None:
    lock = threading.Lock()
    assert list(forked_map(lambda item: item.acquire(timeout=1), [lock], 1)) == [True]
    assert lock.acquire(blocking=False)


class Unreadable(Exception):
    """Pickles, but can't be unpickled."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


@pytest.mark.parametrize(
    ("error", "known_as", "told"),
    [
        (ValueError("no good"), ValueError, "no good"),
        (Unreadable("no ", "good"), RuntimeError, "Unreadable: no good"),
        (OSError(28, "No space left on device"), OSError, "No space left on device"),
    ],
)
def test_what_a_call_raises_arrives_and_ends_the_others(
    error: Exception, known_as: type[Exception], told: str, tmp_path: Path
) -> None:
    def fail_or_sleep(item: int) -> None:
        if item:
            (tmp_path / str(os.getpid())).touch()
            time.sleep(60)
        _wait_for(lambda: any(tmp_path.iterdir()))
        raise error

    with pytest.raises(known_as, match=told):
        list(forked_map(fail_or_sleep, range(2), 2))
    assert [_alive(int(file.name)) for file in tmp_path.iterdir()] == [False]


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (signal.SIGKILL, "killed, as the system does when memory runs out"),
        (signal.SIGTERM, "ended before its work .SIGTERM"),
        (signal.SIGUSR1, "ended before its work .SIGUSR1"),
    ],
)
def test_a_lost_child_is_told_and_no_result_is_made_up(ending: signal.Signals, told: str) -> None:
    def die_at_three(item: int) -> int:
        if item == 3:
            os.kill(os.getpid(), ending)
        return item

    given: list[int] = []
    with pytest.raises(WorkerLost, match=told):
        given.extend(forked_map(die_at_three, range(8), 2))
    assert 3 not in given


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_children_end_with_the_process_that_forked_them(ending: signal.Signals, tmp_path: Path) -> None:
    script = """
        import os, sys, time
        from pathlib import Path
        from pipelines.forked_calls import forked_map

        def busy(item):
            (Path(sys.argv[1]) / str(os.getpid())).touch()
            while True:
                sum(range(1000))

        list(forked_map(busy, range(4), 2))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(tmp_path)], stderr=subprocess.PIPE)
    _wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
    process.send_signal(ending)
    process.communicate(timeout=30)
    assert process.returncode != 0
    pids = [int(file.name) for file in tmp_path.iterdir()]
    assert len(pids) == 2
    _wait_for(lambda: not any(_alive(pid) for pid in pids))


def test_a_daemonic_process_does_not_fork() -> None:
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    process = context.Process(target=lambda: told.put(can_fork()), daemon=True)
    with copying:
        process.start()
    assert told.get(timeout=30) is False
    process.join()


def test_no_lock_of_a_thread_that_waits_with_copying_is_copied_locked() -> None:
    lock, held = threading.Lock(), threading.Event()

    def work() -> None:
        with copying, lock:
            held.set()
            time.sleep(0.3)

    thread = threading.Thread(target=work)
    thread.start()
    held.wait()
    assert list(forked_map(lambda item: lock.acquire(timeout=0), [0], 1)) == [True]
    thread.join()


def test_connections_to_stores_are_not_shared_with_forks() -> None:
    object_stores._stores["test"] = (None, object())  # type: ignore[assignment]
    try:
        assert list(forked_map(lambda item: len(object_stores._stores), [0], 1)) == [0]
        assert "test" in object_stores._stores
    finally:
        del object_stores._stores["test"]


def _alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is yet to be waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
