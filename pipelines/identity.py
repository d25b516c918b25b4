"""Stable identities: the same record of the same source always gets the same `trajectory_uid`."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint16)
_MASK = 2**64 - 1
_ORDINAL_STEP = np.uint64(0x9E3779B97F4A7C15)


def trajectory_uids(
    uri: str, offsets: npt.NDArray[np.int64], ordinals: npt.NDArray[np.int64] | int = 0
) -> pa.StringArray:
    """32 hex digits a trajectory: 64 bits of the URI's hash, then 64 bits mixed from offset and ordinal.

    The mix (the finaliser of SplitMix64, keyed by the URI) is a bijection of the 64-bit sum of offset and ordinal times an odd constant,
    so two records of one source can't share a uid.
    """
    high, key = _uri_halves(uri)
    with np.errstate(over="ignore"):
        mixed = offsets.astype(np.uint64) + np.asarray(ordinals, dtype=np.uint64) * _ORDINAL_STEP
        mixed = mixed ^ key
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    count = len(mixed)
    digits = np.empty((count, 16), dtype=np.uint16)
    digits[:, :8] = _HEX[np.frombuffer(high, dtype=np.uint8)]
    digits[:, 8:] = _HEX[mixed.astype(">u8").view(np.uint8).reshape(count, 8)]
    text_offsets = np.arange(0, (count + 1) * 32, 32, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(text_offsets), pa.py_buffer(digits))


def trajectory_uid(uri: str, offset: int, ordinal: int = 0) -> str:
    """The uid of one trajectory: the `ordinal`-th that came of the record at `offset` of `uri`. Equal to `trajectory_uids`."""
    high, key = _uri_halves(uri)
    mixed = ((offset + ordinal * int(_ORDINAL_STEP)) & _MASK) ^ int(key)
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return f"{high.hex()}{mixed ^ (mixed >> 31):016x}"


@lru_cache(maxsize=1024)
def _uri_halves(uri: str) -> tuple[bytes, np.uint64]:
    digest = hashlib.blake2b(uri.encode("utf-8", "surrogateescape"), digest_size=16).digest()
    return digest[:8], np.uint64(int.from_bytes(digest[8:], "big"))
