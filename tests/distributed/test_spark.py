"""Spark reads committed rows through the views of `gradebeam sql --ddl spark`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.ddl import ddl
from schemas.tables import TABLES
from tests.distributed.running import missing
from tests.pipelines.runs import chats, only_manifest, run_suite, table, write_lines, write_suite

if missing("spark") is None:
    from pyspark.sql import SparkSession

    @pytest.fixture(scope="module")
    def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
        warehouse = str(tmp_path_factory.mktemp("warehouse"))
        started = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.warehouse.dir", warehouse)
            .getOrCreate()
        )
        yield started
        started.stop()

    def test_spark_shows_committed_rows_only(session: Any, tmp_path: Path) -> None:
        write_lines(tmp_path / "a.jsonl", [*chats(40), b"{broken"])
        assert run_suite(write_suite(tmp_path, ["a.jsonl"]), tmp_path / "out") == 0
        manifest = only_manifest(tmp_path / "out")
        committed = tmp_path / "out" / manifest.tables["scores"][0].path
        stray = tmp_path / "out" / "scores" / "run=crashed" / committed.name
        stray.parent.mkdir()
        shutil.copy(committed, stray)
        for statement in ddl("spark", str(tmp_path / "out")).split(";\n"):
            if statement.strip():
                session.sql(statement)
        for name in TABLES:
            read = session.sql(f"select * from gradebeam.{name}")
            assert read.columns == TABLES[name].names
            assert read.count() == sum(file.rows for file in manifest.tables[name])
        query = "select trajectory_uid, grader_name, status, passed, score, event_date, cost_usd from gradebeam.scores"
        expected = table(tmp_path / "out", "scores").select(
            ["trajectory_uid", "grader_name", "status", "passed", "score", "event_date", "cost_usd"]
        )
        assert sorted(map(repr, (row.asDict() for row in session.sql(query).collect()))) == sorted(
            map(repr, expected.to_pylist())
        )
