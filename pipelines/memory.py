"""How a worker process keeps memory.

A block takes and frees some hundred megabytes in arrays of megabytes. Allocators give such arrays back to the system each time, and the
system hands out zeroed pages one fault at a time: a seventh of a run's CPU time was that. A worker that keeps what it had needs no more
at its peak: one arena is shared by its threads instead of one for each.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache

import pyarrow as pa

#: Parameters of glibc's mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
#: Free memory at the top of the heap that is kept.
_KEPT_BYTES = 512 * 2**20
#: Larger arrays come from the system and go back to it. It is the most that glibc takes; arrays of a block are smaller.
_MAPPED_BYTES = 32 * 2**20


@lru_cache(maxsize=1)
def keep_memory() -> bool:
    """Tell this process's allocators to reuse memory; whether they do. Elsewhere than on Linux with glibc nothing changes."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another libc
        return False
    mallopt(_M_ARENA_MAX, 1)
    kept = mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES) == 1 and mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES) == 1
    if kept:
        pa.set_memory_pool(pa.system_memory_pool())
    return bool(kept)
