"""The embedded cache: one SQLite file, every reply committed as it arrives, safe for several processes of a machine."""

from __future__ import annotations

import threading

from graders.judges.cache import CachedReply
from pipelines.judging.sqlite_file import open_shared

_SCHEMA = "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply BLOB NOT NULL) WITHOUT ROWID;"


class SqliteCache:
    """Replies in one file. A reply that is put again (after a refresh) replaces the first."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._database = open_shared(path, _SCHEMA)

    def get(self, key: str) -> CachedReply | None:
        """The reply under a key."""
        with self._lock:
            found = self._database.execute("SELECT reply FROM replies WHERE key = ?", (bytes.fromhex(key),)).fetchone()
        return None if found is None else CachedReply.from_bytes(found[0])

    def put(self, key: str, reply: CachedReply) -> None:
        """Keep a reply; it survives a kill of this process from here on."""
        self.put_bytes(key, reply.to_bytes())

    def put_bytes(self, key: str, reply: bytes) -> None:
        """Keep a reply in its stored form, replacing an earlier one."""
        with self._lock:
            self._database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (bytes.fromhex(key), reply))

    def __len__(self) -> int:
        with self._lock:
            return int(self._database.execute("SELECT count(*) FROM replies").fetchone()[0])

    def flush(self) -> None:
        """Nothing to do: every reply is committed when it is put."""

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()
