"""One SQLite file that several processes of a machine share: opened so that a killed process harms nobody."""

from __future__ import annotations

import os
import sqlite3
import time

BUSY_SECONDS = 30.0


def open_shared(path: str, schema: str) -> sqlite3.Connection:
    """A connection in autocommit with a write-ahead log; the schema's statements are run if they are not yet.

    What was committed survives the end of the process, however it ends; a crash of the machine may lose the last bit.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA journal_size_limit=8388608")
            connection.executescript(schema)
            return connection
        except sqlite3.OperationalError:  # two processes opening at once: the switch to WAL does not wait
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
