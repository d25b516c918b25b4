"""The cache of a distributed run: small immutable segment files in the run's storage, and a local index of them.

Each process writes what it got within two seconds as one segment; many small segments of a process become one. A
process reads the segments that were there when it started: those of earlier attempts of the run.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import uuid
from collections.abc import Iterable, Sequence
from typing import Protocol

import orjson
import zstandard

from graders.judges.cache import CachedReply
from pipelines import storage
from pipelines.judging.sqlite_cache import SqliteCache

FLUSH_SECONDS = 1.0
MERGE_AFTER = 64
#: Looks at the store at the start, where segments vanish while they are read.
LISTINGS = 3
SUFFIX = ".seg"


class SegmentStore(Protocol):
    """Where segments are kept. A written segment appears whole or not at all."""

    def names(self) -> Iterable[str]:
        """Names of the segments that are there."""

    def read(self, name: str) -> bytes:
        """One segment."""

    def write(self, name: str, data: bytes) -> None:
        """Add a segment under a new name."""

    def delete(self, name: str) -> None:
        """Remove a segment; one that is gone already is fine."""


class FolderSegments:
    """Segments as files of a folder: local, `s3://` or `gs://`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Names of the segments that are there."""
        files = storage.list_folder(self._folder)
        return [name for name in (file.uri.rsplit("/", 1)[-1] for file in files) if name.endswith(SUFFIX)]

    def read(self, name: str) -> bytes:
        """One segment."""
        return storage.read_bytes(storage.join(self._folder, name))

    def write(self, name: str, data: bytes) -> None:
        """Add a segment."""
        storage.write_bytes(storage.join(self._folder, name), data)

    def delete(self, name: str) -> None:
        """Remove a segment."""
        storage.delete([storage.join(self._folder, name)])


class SegmentCache:
    """Replies in a run's storage. At most what two seconds brought is lost when the process dies.

    A flush that fails is tried again with the next one; `close` raises if the last one fails.

    Args:
        store: where this run's segments are.
        earlier: those of other runs, which are only read.
        flush_seconds: how long a reply waits at most before it is written.
    """

    def __init__(
        self,
        store: SegmentStore,
        *,
        earlier: Sequence[SegmentStore] = (),
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._store = store
        self._flush_seconds = flush_seconds
        self._folder = tempfile.TemporaryDirectory(prefix="gradebeam-judges-")
        self._index = SqliteCache(os.path.join(self._folder.name, "index.sqlite"))
        self._writer = uuid.uuid4().hex
        self._written: list[str] = []
        self._number = 0
        self._unflushed: list[tuple[str, bytes]] = []
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._closing = threading.Event()
        for each in (*earlier, store):
            for _ in range(LISTINGS):
                lost = sum(not self._read(each, name) for name in each.names())
                if not lost:
                    break
        self._thread = threading.Thread(target=self._flush_often, name="gradebeam-judge-cache", daemon=True)
        self._thread.start()

    def get(self, key: str) -> CachedReply | None:
        """The reply under a key: this process's own, or one of an earlier attempt."""
        return self._index.get(key)

    def put(self, key: str, reply: CachedReply) -> None:
        """Keep a reply; it is in the storage within two seconds."""
        data = reply.to_bytes()
        self._index.put_bytes(key, data)
        with self._lock:
            self._unflushed.append((key, data))

    def flush(self) -> None:
        """Write what is not yet in the storage."""
        with self._flushing:
            with self._lock:
                replies, self._unflushed = self._unflushed, []
            if not replies:
                return
            name = f"{self._writer}-{self._number:08d}{SUFFIX}"
            try:
                self._store.write(name, encode_segment(replies))
            except BaseException:
                with self._lock:
                    self._unflushed = replies + self._unflushed
                raise
            self._number += 1
            self._written.append(name)
            if len(self._written) >= MERGE_AFTER:
                self._merge()

    def close(self) -> None:
        """Write the rest and drop the local index."""
        self._closing.set()
        self._thread.join()
        try:
            self.flush()
        finally:
            self._index.close()
            self._folder.cleanup()

    def _flush_often(self) -> None:
        while not self._closing.wait(self._flush_seconds):
            with contextlib.suppress(Exception):  # tried again in a moment; `close` tells
                self.flush()

    def _merge(self) -> None:
        """One segment instead of many; the small ones go only when it is there."""
        replies = [reply for name in self._written for reply in decode_segment(self._store.read(name))]
        name = f"{self._writer}-m{self._number:08d}{SUFFIX}"
        self._store.write(name, encode_segment(replies))
        small, self._written = self._written, []
        for old in small:
            self._store.delete(old)

    def _read(self, store: SegmentStore, name: str) -> bool:
        try:
            data = store.read(name)
        except OSError:  # merged by its writer since the listing: a new listing has the merged one
            return False
        for key, reply in decode_segment(data):
            self._index.put_bytes(key, reply)
        return True


def encode_segment(replies: list[tuple[str, bytes]]) -> bytes:
    """Replies as one compressed JSON list."""
    listed = [[key, reply.decode()] for key, reply in replies]
    return zstandard.ZstdCompressor().compress(orjson.dumps(listed))


def decode_segment(data: bytes) -> list[tuple[str, bytes]]:
    """What `encode_segment` made; empty for anything else."""
    try:
        listed = orjson.loads(zstandard.ZstdDecompressor().decompress(data, max_output_size=2**31))
        return [(key, reply.encode()) for key, reply in listed]
    except (zstandard.ZstdError, orjson.JSONDecodeError, ValueError, TypeError, AttributeError):
        return []
