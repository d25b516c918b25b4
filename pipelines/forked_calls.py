"""Calls carried out by forked copies of this process, several at once: what is loaded and made ready here is so there, and there is no lock to share."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Held while this process is copied. A thread that goes on meanwhile does what takes locks, printing too, while it holds this one:
#: a lock that it held in that moment would stay locked in the copies.
copying = threading.Lock()

#: Set while children are forked, which take what it is then.
_to_do: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


class WorkerLost(RuntimeError):
    """A forked process ended before its call did."""


def can_fork() -> bool:
    """Whether copies of this process may be made.

    Elsewhere than on Linux, system libraries may hold threads and locks of their own; and Python gives a daemonic process no children.
    """
    return sys.platform.startswith("linux") and not multiprocessing.current_process().daemon


def forked_map(call: Callable[[T], R], items: Sequence[T], workers: int) -> Iterator[R]:
    """Results of a call for each item, as they are done.

    Args:
        call: what to do with an item; it and the items need not be picklable.
        items: the items; whichever child is free takes the next.
        workers: most children at once.

    Yields:
        What the calls return, which has to be picklable.

    Raises:
        WorkerLost: a child was killed, or crashed.
        Exception: what a call raised. In any case all children end.
    """
    global _to_do
    _to_do = (call, items)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    pool = ProcessPoolExecutor(min(workers, len(items)), multiprocessing.get_context("fork"), _start)
    children: list[multiprocessing.process.BaseProcess] = []
    before = set(multiprocessing.active_children())
    try:
        with copying, warnings.catch_warnings():
            # since 3.12 Python warns of forks beside threads, for the sake of their locks
            warnings.simplefilter("ignore", DeprecationWarning)
            futures = [pool.submit(_carried_out, number) for number in range(len(items))]
        children = [child for child in multiprocessing.active_children() if child not in before]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        pool.shutdown()
        raise WorkerLost(_how_lost(children)) from error
    except BaseException:
        for child in children:
            child.kill()
        raise
    finally:
        _to_do = None
        pool.shutdown(cancel_futures=True)


def _start() -> None:
    """In a child: an interrupt is the parent's to handle, and nothing goes on without the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, name="gradebeam-parent", daemon=True).start()


def _carried_out(number: int) -> Any:
    assert _to_do is not None
    call, items = _to_do
    try:
        return call(items[number])
    except Exception as error:
        if _travels(error):
            raise
        raise RuntimeError("".join(traceback.format_exception(error))) from None


def _travels(error: Exception) -> bool:
    """Whether an exception can be read by another process. One that can't would look like a crash of this one."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True


def _how_lost(children: Sequence[multiprocessing.process.BaseProcess]) -> str:
    """Says what ended the first of some children, all of which have ended: the pool itself terminates the others."""
    codes = sorted({child.exitcode for child in children if child.exitcode})
    causes = [code for code in codes if code != -signal.SIGTERM] or codes
    if -signal.SIGKILL in causes:
        return "a worker process was killed, as the system does when memory runs out: use fewer workers (-- --direct_num_workers=1)"
    names = ", ".join(signal.Signals(-code).name if code < 0 else f"exit code {code}" for code in causes)
    return f"a worker process ended before its work ({names or 'unknown why'})"
