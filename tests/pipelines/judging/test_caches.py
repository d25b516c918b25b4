"""Both caches keep replies beyond the process."""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from pathlib import Path

import pytest

from graders.judges.cache import CachedReply, RecentReplies
from graders.judges.request import TokenUsage
from pipelines.judging.segment_cache import MERGE_AFTER, FolderSegments, SegmentCache, decode_segment
from pipelines.judging.sqlite_cache import SqliteCache

REPLY = CachedReply('{"level": 1}', "m", "id", TokenUsage(1, 2, None, Decimal("0.1")))


def _key(number: int) -> str:
    return f"{number:064x}"


def test_a_reply_comes_back_as_it_was() -> None:
    assert CachedReply.from_bytes(REPLY.to_bytes()) == REPLY
    assert CachedReply.from_bytes(b"[1]") is None
    assert CachedReply.from_bytes(b"{") is None


def test_the_embedded_cache_is_shared_by_all_who_open_it(tmp_path: Path) -> None:
    path = str(tmp_path / "c" / "replies.sqlite")
    caches = [SqliteCache(path) for _ in range(2)]

    def put(cache: SqliteCache, start: int) -> None:
        for number in range(start, start + 200):
            cache.put(_key(number), REPLY)

    threads = [threading.Thread(target=put, args=(cache, 100 * index)) for index, cache in enumerate(caches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caches[0]) == 300
    assert caches[1].get(_key(0)) == REPLY
    assert caches[0].get(_key(999)) is None


def test_segments_are_written_soon_and_read_by_the_next_attempt(tmp_path: Path) -> None:
    store = FolderSegments(str(tmp_path / "segments"))
    first = SegmentCache(store, flush_seconds=0.02)
    first.put(_key(1), REPLY)
    end = time.monotonic() + 10
    while not store.names() and time.monotonic() < end:
        time.sleep(0.01)
    second = SegmentCache(store)
    assert second.get(_key(1)) == REPLY
    second.put(_key(2), REPLY)
    second.close()
    first.close()
    third = SegmentCache(store)
    assert [third.get(_key(number)) is not None for number in (1, 2, 3)] == [True, True, False]
    third.close()


def test_many_small_segments_become_one(tmp_path: Path) -> None:
    store = FolderSegments(str(tmp_path))
    cache = SegmentCache(store, flush_seconds=60)
    for number in range(MERGE_AFTER + 3):
        cache.put(_key(number), REPLY)
        cache.flush()
    assert len(store.names()) == 4
    cache.close()
    again = SegmentCache(store)
    assert all(again.get(_key(number)) for number in range(MERGE_AFTER + 3))
    again.close()


def test_a_flush_that_fails_is_made_up_for(tmp_path: Path) -> None:
    class Flaky(FolderSegments):
        broken = True

        def write(self, name: str, data: bytes) -> None:
            if self.broken:
                raise OSError("no storage")
            super().write(name, data)

    store = Flaky(str(tmp_path))
    cache = SegmentCache(store, flush_seconds=60)
    cache.put(_key(1), REPLY)
    with pytest.raises(OSError, match="no storage"):
        cache.flush()
    store.broken = False
    cache.close()
    assert len(store.names()) == 1


def test_a_broken_segment_is_no_cache_hit() -> None:
    assert decode_segment(b"garbage") == []


def test_recent_replies_are_bounded() -> None:
    recent = RecentReplies(most=2)
    for number in range(3):
        recent.put(_key(number), REPLY)
        recent.get(_key(0))
    assert [recent.get(_key(number)) is not None for number in range(3)] == [True, False, True]
