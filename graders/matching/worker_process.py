"""The parent's side of one worker: starting it, talking to it, and knowing how it ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import regex

from graders.matching import worker

LIVENESS_SECONDS = 5.0
_POLL_SECONDS = 0.25
_SCRIPT = str(Path(worker.__file__).resolve())
_REGEX_FOLDER = str(Path(regex.__file__).resolve().parent.parent)


class Ending(Enum):
    """Why a worker did not answer."""

    CPU_TIME = "cpu time"
    WALL_TIME = "wall time"
    MEMORY = "memory"
    UNKNOWN = "unknown"


_ENDING_OF_CODE = {
    -signal.SIGPROF: Ending.CPU_TIME,
    -signal.SIGVTALRM: Ending.CPU_TIME,
    -signal.SIGALRM: Ending.WALL_TIME,
    -signal.SIGSEGV: Ending.MEMORY,
    -signal.SIGBUS: Ending.MEMORY,
    -signal.SIGABRT: Ending.MEMORY,
    -signal.SIGKILL: Ending.MEMORY,
    worker.MEMORY_EXIT: Ending.MEMORY,
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, split into words."""

    words: tuple[str, ...]


class Worker:
    """One running child and the memory that it shares with this process."""

    def __init__(self, memory_bytes: int) -> None:
        if not sys.executable:
            raise RuntimeError("matching needs sys.executable, to start its worker processes")
        self.memory_bytes = memory_bytes
        self.judged_nothing = True
        self.compiled: dict[object, str] = {}
        self._unread = b""
        self.memory = _anonymous_memory()
        try:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", _SCRIPT, _REGEX_FOLDER),
                    *(str(self.memory), str(os.getpid()), str(memory_bytes)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                pass_fds=(self.memory,),
            )
        except BaseException:
            os.close(self.memory)
            raise
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._commands = self.process.stdin.fileno()
        self._replies = self.process.stdout.fileno()

    def write(self, data: memoryview | bytes, at: int) -> None:
        """Put `data` into the shared memory, `at` bytes from its start."""
        view = memoryview(data).cast("B")
        written = 0
        while written < len(view):
            written += os.pwrite(self.memory, view[written:], at + written)

    def read(self, length: int, at: int) -> bytes:
        """`length` bytes of the shared memory from `at`."""
        return os.pread(self.memory, length, at)

    def resize(self, length: int) -> None:
        """Make the shared memory `length` bytes, all zero."""
        os.ftruncate(self.memory, 0)
        os.ftruncate(self.memory, length)

    def ask(self, command: str, verdicts: int = 0) -> Reply | Ending:
        """Send one command and wait for its answer, for the worker's end, or for 5 s in which it got no further.

        Args:
            command: without the newline.
            verdicts: how many bytes at the start of the shared memory show progress.
        """
        try:
            _write_all(self._commands, command.encode("ascii") + b"\n")
        except BrokenPipeError:
            return self._ended()
        return self._answer(verdicts)

    def _answer(self, verdicts: int) -> Reply | Ending:
        waited, seen = 0.0, b""
        ready = select.poll()
        ready.register(self._replies, select.POLLIN)
        while b"\n" not in self._unread:
            if ready.poll(_POLL_SECONDS * 1000):
                piece = os.read(self._replies, 65536)
                if not piece:
                    return self._ended()
                self._unread += piece
                continue
            progress = self.read(verdicts, 0) if verdicts else b""
            waited = waited + _POLL_SECONDS if progress == seen else 0.0
            seen = progress
            if waited >= LIVENESS_SECONDS:
                self.process.kill()
                self.process.wait()
                return Ending.WALL_TIME
        line, _, self._unread = self._unread.partition(b"\n")
        return Reply(tuple(line.decode("ascii").split(" ")))

    def _ended(self) -> Ending:
        code = self.process.wait()
        return _ENDING_OF_CODE.get(code, Ending.UNKNOWN)

    def kill(self) -> None:
        """End the child, if it has not ended, and let go of what was shared with it."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        self.close()

    def close(self) -> None:
        """Let go of pipes and memory; an idle child ends by itself when its input does."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not stream.closed:
                stream.close()
        if self.memory >= 0:
            os.close(self.memory)
            self.memory = -1

    def disown(self) -> None:
        """In a forked process: let go of a child that belongs to the parent."""
        self.process.returncode = 0
        self.close()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _anonymous_memory() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gradebeam-matching")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
