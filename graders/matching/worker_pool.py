"""The workers of this process: borrowed by one thread at a time, ended with the process, never shared across a fork."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from graders.matching.worker_process import Worker

_MOST_IDLE = 8


class WorkerPool:
    """Idle workers, by the memory that they may use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()

    def borrow(self, memory_bytes: int) -> Worker:
        """An idle worker, or a new one."""
        with self._lock:
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index].memory_bytes == memory_bytes:
                    return self._idle.pop(index)
        return self.start(memory_bytes)

    def start(self, memory_bytes: int) -> Worker:
        """A new worker, on loan."""
        worker = Worker(memory_bytes)
        with self._lock:
            self._all.add(worker)
        return worker

    def give_back(self, worker: Worker) -> None:
        """Take back a worker that is ready for the next command."""
        with self._lock:
            self._idle.append(worker)
            surplus = self._idle.pop(0) if len(self._idle) > _MOST_IDLE else None
        if surplus is not None:
            self.end(surplus)

    def end(self, worker: Worker) -> None:
        """End a worker for good."""
        worker.kill()
        with self._lock:
            self._all.discard(worker)

    def end_all(self) -> None:
        """End every worker, on loan or not."""
        with self._lock:
            workers = list(self._all)
            self._all.clear()
            self._idle.clear()
        for worker in workers:
            worker.kill()

    def after_fork(self) -> None:
        """In the forked process: start over; the workers are the parent's."""
        inherited = self._all
        self._lock = threading.Lock()
        self._idle = []
        self._all = set()
        for worker in inherited:
            worker.disown()


class Lease:
    """A worker on loan, replaced by a new one each time it ends."""

    def __init__(self, pool: WorkerPool, memory_bytes: int) -> None:
        self._pool = pool
        self._memory_bytes = memory_bytes
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        """The worker; the first use borrows it."""
        if self._worker is None:
            self._worker = self._pool.borrow(self._memory_bytes)
        return self._worker

    def replace(self) -> None:
        """Forget the worker, which has ended or is to end; the next one is new, not an idle one."""
        if self._worker is not None:
            self._pool.end(self._worker)
        self._worker = self._pool.start(self._memory_bytes)

    def drop(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._pool.end(self._worker)
            self._worker = None

    def give_back(self) -> None:
        """Return the worker to the pool."""
        if self._worker is not None:
            self._pool.give_back(self._worker)
            self._worker = None


_POOL = WorkerPool()
atexit.register(_POOL.end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.after_fork)


@contextmanager
def leased(memory_bytes: int) -> Iterator[Lease]:
    """A worker for the calling thread; ended, not reused, if the block raises."""
    lease = Lease(_POOL, memory_bytes)
    try:
        yield lease
    except BaseException:
        lease.drop()
        raise
    lease.give_back()
