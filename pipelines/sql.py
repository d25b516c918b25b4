"""DuckDB over the committed runs of a folder. The views see only files that a manifest lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from pipelines import storage
from pipelines.commit.committing import committed_runs
from schemas.tables import TABLES

#: Rows fetched at a time.
_FETCH_ROWS = 10_000


class Session:
    """An in-memory database with the views `scores`, `trajectories`, `graders`, `runs` and `rejects`; times are shown in UTC.

    The views are made of the runs that are committed when the session starts. Where there are none, they are empty and
    have all columns with their types.
    """

    def __init__(self, root: str) -> None:
        root = root if storage.is_remote(root) else str(Path(storage.local_path(root)).absolute())
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        manifests = committed_runs(root)
        self.run_ids = [manifest.run_id for manifest in manifests]
        for name, schema in TABLES.items():
            files = [storage.join(root, file.path) for run in manifests for file in run.tables.get(name, [])]
            if files and storage.is_remote(root):
                from pipelines.remote_tables import open_dataset

                self.connection.register(name, open_dataset(files, schema))
            elif files:
                listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
                columns = ", ".join(f'"{column}"' for column in schema.names)
                self.connection.execute(
                    f"CREATE VIEW {name} AS SELECT {columns} FROM read_parquet([{listed}], hive_partitioning = false)"
                )
            else:
                self.connection.register(name, schema.empty_table())

    def query(self, sql: str) -> Result:
        """Run one statement or several; the result is that of the last.

        Raises:
            duckdb.Error: the SQL is wrong, or a listed file is not there.
        """
        return Result(self.connection.execute(sql))


class Result:
    """Columns and rows of a query, fetched as they are asked for."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.columns = [column[0] for column in cursor.description or ()]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, in bounded memory."""
        while fetched := self._cursor.fetchmany(_FETCH_ROWS):
            yield from fetched
