"""The child that backtracks: a script of its own, so that it starts fast and never runs its parent's main module.

It is started as `python -I -S worker.py <folder of regex> <descriptor> <parent's pid> <memory bytes>`, imports nothing
of this project, and obeys one command a line on its standard input:

- `compile <key> <flags> <cpu_ms> <pattern as hexadecimal UTF-8>`: answers `ok`, or `invalid <position> <reason in
  hexadecimal>`.
- `match <key> <first> <end> <offsets at> <data at> <spans at> <cpu_ms> <wall_ms> <group>`: judges the texts from
  `first` up to `end` of the shared memory and answers `ok`; `spans at` 0 is no spans. Verdicts are one byte a text at
  the start of the shared memory, written as they fall, so the parent knows which text stopped the child.

Execution is bounded by a timer on the process's CPU clock with the signal's default action: the kernel ends the
process, whatever C code it is in. `setitimer(ITIMER_PROF)` counts whole scheduler ticks instead, which is less exact on
a crowded machine; it is what is left where `timer_create` is missing. The timer is started once a `group` of texts; the
parent tries a text again alone if it was stopped late in its group.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import sys
from collections.abc import Callable
from itertools import islice
from typing import Any

NOT_STARTED = 0
STARTED = 1
NO_MATCH = 2
MATCH = 3
MEMORY_EXIT = 77
FAILURE_EXIT = 78
_IDLE_SECONDS = 2.0
_CPU_CLOCK = 2
_SIGNAL_EVENT_BYTES = 64
_MOST_PATTERNS = 256


CpuTimer = Callable[[int], object]


def main() -> None:
    """Serve commands until the input ends or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    package_folder, descriptor, parent, memory_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    sys.path.append(package_folder)
    import gc

    import regex

    gc.disable()
    limit_cpu_time = _cpu_timer()
    _limit_memory(memory_bytes)
    try:
        _serve(regex, limit_cpu_time, descriptor, parent)
    except MemoryError:
        os._exit(MEMORY_EXIT)
    except Exception:
        os._exit(FAILURE_EXIT)


def _cpu_timer() -> CpuTimer:
    """What ends this process after so many more milliseconds of its CPU time; 0 calls it off."""
    import ctypes

    library = ctypes.CDLL(None)
    if not sys.platform.startswith("linux") or not hasattr(library, "timer_create"):
        return lambda milliseconds: signal.setitimer(signal.ITIMER_PROF, milliseconds / 1000)
    event = ctypes.create_string_buffer(struct.pack("Pii", 0, signal.SIGVTALRM, 0), _SIGNAL_EVENT_BYTES)
    timer = ctypes.c_void_p()
    if library.timer_create(_CPU_CLOCK, event, ctypes.byref(timer)) != 0:
        return lambda milliseconds: signal.setitimer(signal.ITIMER_PROF, milliseconds / 1000)
    set_timer = library.timer_settime
    set_timer.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    return lambda milliseconds: set_timer(
        timer, 0, struct.pack("4l", 0, 0, milliseconds // 1000, milliseconds % 1000 * 1_000_000), None
    )


def _limit_memory(memory_bytes: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        hard = resource.getrlimit(kind)[1]
        allowed = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        try:
            resource.setrlimit(kind, (allowed, hard))
        except (ValueError, OSError):
            continue


def _serve(regex: Any, limit_cpu_time: CpuTimer, descriptor: int, parent: int) -> None:
    patterns: dict[str, Any] = {}
    while True:
        command = _next_command(parent)
        if command is None:
            return
        words = command.split(" ")
        if words[0] == "compile":
            answer = _compile(regex, limit_cpu_time, patterns, words)
        else:
            numbers = list(map(int, words[2:]))
            if not _match(patterns[words[1]], limit_cpu_time, descriptor, parent, *numbers):
                return
            answer = "ok"
        os.write(1, f"{answer}\n".encode("ascii"))


def _next_command(parent: int) -> str | None:
    received = bytearray()
    while not received.endswith(b"\n"):
        while not select.select([0], [], [], _IDLE_SECONDS)[0]:
            if os.getppid() != parent:
                return None
        piece = os.read(0, 65536)
        if not piece:
            return None
        received += piece
    return received[:-1].decode("ascii")


def _compile(regex: Any, limit_cpu_time: CpuTimer, patterns: dict[str, Any], words: list[str]) -> str:
    key, flags, cpu_ms, pattern = words[1], int(words[2]), int(words[3]), bytes.fromhex(words[4]).decode()
    if len(patterns) >= _MOST_PATTERNS:
        patterns.clear()
    limit_cpu_time(cpu_ms)
    try:
        compiled = regex.compile(pattern, flags, cache_pattern=False)
    except MemoryError:
        raise
    except Exception as error:
        position = getattr(error, "pos", None)
        reason = str(getattr(error, "msg", None) or type(error).__name__)
        return f"invalid {position or 0} {reason.encode().hex()}"
    finally:
        limit_cpu_time(0)
    patterns[key] = compiled
    return "ok"


def _match(
    pattern: Any,
    limit_cpu_time: CpuTimer,
    descriptor: int,
    parent: int,
    first: int,
    end: int,
    offsets_at: int,
    data_at: int,
    spans_at: int,
    cpu_ms: int,
    wall_ms: int,
    group: int,
) -> bool:
    """Judge the texts; False if the parent is gone."""
    with mmap.mmap(descriptor, 0) as memory:
        offsets = struct.unpack_from(f"{end - first + 1}q", memory, offsets_at + 8 * first)
        search, arm, real = pattern.search, signal.setitimer, signal.ITIMER_REAL
        wall, parent_of, write_span = wall_ms / 1000, os.getppid, struct.Struct("2q").pack_into
        start = data_at + offsets[0]
        index = first
        for end_offset in islice(offsets, 1, None):
            stop = data_at + end_offset
            text = memory[start:stop].decode()
            start = stop
            if parent_of() != parent:
                return False
            if wall:
                arm(real, wall)
            memory[index] = STARTED
            if (index - first) % group == 0:
                limit_cpu_time(cpu_ms)
            found = search(text)
            if found is None:
                memory[index] = NO_MATCH
            else:
                if spans_at:
                    write_span(memory, spans_at + 16 * index, *found.span())
                memory[index] = MATCH
            index += 1
        limit_cpu_time(0)
        if wall:
            arm(real, 0)
    return True


if __name__ == "__main__":
    main()
