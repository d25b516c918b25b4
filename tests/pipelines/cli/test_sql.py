from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from pipelines.sql import Session
from schemas.tables import TABLES
from tests.pipelines.cli.conftest import EXAMPLES, Command

RATES = "SELECT grader_name, count(*) FILTER (WHERE passed) AS passed, count(*) AS n FROM scores WHERE run_id = 'tickets' GROUP BY 1 ORDER BY 1"
ROWS = [["has-ticket", 40, 40], ["no-fence", 36, 40], ["valid-json", 34, 40]]


def test_a_table(gradebeam: Command, graded: Path) -> None:
    code, out, _ = gradebeam("sql", graded, RATES)
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["grader_name", "passed", "n"],
        ["───────────", "──────", "──"],
        *[[str(cell) for cell in row] for row in ROWS],
    ]


def test_csv(gradebeam: Command, graded: Path) -> None:
    code, out, _ = gradebeam("sql", graded, "--csv", RATES)
    assert code == 0
    assert list(csv.reader(io.StringIO(out))) == [
        ["grader_name", "passed", "n"],
        *[[str(c) for c in row] for row in ROWS],
    ]


def test_json(gradebeam: Command, graded: Path) -> None:
    code, out, _ = gradebeam("sql", graded, RATES, "--json")
    assert code == 0
    assert json.loads(out) == [dict(zip(("grader_name", "passed", "n"), row, strict=True)) for row in ROWS]


def test_json_of_every_kind_of_value(gradebeam: Command, graded: Path) -> None:
    query = (
        "SELECT 1.5::DECIMAL(18,9) AS cost, DATE '2026-11-30' AS day, TIMESTAMPTZ '2026-11-30 01:00:00+01' AS at, "
        "MAP {'a': 'b'} AS metadata, [{'start': 1}] AS evidence, NULL AS nothing, 1 AS n, 2 AS n"
    )
    (row,) = json.loads(gradebeam("sql", graded, query, "--json")[1])
    assert row == {
        "cost": 1.5,
        "day": "2026-11-30",
        "at": "2026-11-30T00:00:00+00:00",
        "metadata": {"a": "b"},
        "evidence": [{"start": 1}],
        "nothing": None,
        "n": 1,
        "n_1": 2,
    }


def test_no_rows_are_an_empty_list(gradebeam: Command, graded: Path) -> None:
    assert json.loads(gradebeam("sql", graded, "SELECT 1 WHERE false", "--json")[1]) == []


def test_all_five_views(graded: Path) -> None:
    session = Session(str(graded))
    counts = {name: next(session.query(f"SELECT count(*) FROM {name}").rows())[0] for name in TABLES}
    assert counts == {"scores": 120 + 198 * 8 + 33, "trajectories": 40 + 202, "rejects": 3, "graders": 12, "runs": 2}


def test_only_what_a_manifest_lists_is_seen(graded: Path, tmp_path: Path) -> None:
    stray = graded / "runs" / "run=stray"
    stray.mkdir()
    (stray / "part.parquet").write_bytes(b"not committed, not even Parquet")
    try:
        assert sorted(Session(str(graded)).query("SELECT run_id FROM runs").rows()) == [("support",), ("tickets",)]
    finally:
        (stray / "part.parquet").unlink()
        stray.rmdir()


@pytest.mark.parametrize("with_empty_run", [False, True])
def test_empty_views_have_all_columns_with_the_same_types(
    gradebeam: Command, graded: Path, tmp_path: Path, with_empty_run: bool
) -> None:
    if with_empty_run:
        (tmp_path / "empty.json").write_text("[]")  # a reject of its own, and no trajectory
        arguments = ("--input", tmp_path / "empty.json", "--output", tmp_path, "--quiet")
        assert gradebeam("run", EXAMPLES / "support.yaml", *arguments)[0] == 12
    empty, full = Session(str(tmp_path)), Session(str(graded))
    for name, schema in TABLES.items():
        columns = list(empty.query(f"DESCRIBE {name}").rows())
        assert columns == list(full.query(f"DESCRIBE {name}").rows())
        assert [column[0] for column in columns] == schema.names
        if not with_empty_run or name == "scores":
            assert next(empty.query(f"SELECT count(*) FROM {name}").rows()) == (0,)


def test_a_folder_without_runs_says_so(gradebeam: Command, tmp_path: Path) -> None:
    code, out, err = gradebeam("sql", tmp_path, "SELECT count(*) AS n FROM scores", "--csv")
    assert (code, out) == (0, "n\n0\n")
    assert err == f"no run is committed in {tmp_path}: the views are empty\n"


def test_wrong_sql_and_no_folder_are_exit_2(gradebeam: Command, graded: Path) -> None:
    code, out, err = gradebeam("sql", graded, "SELEC 1")
    assert (code, out) == (2, "")
    assert "SELEC" in err
    assert gradebeam("sql", "no-such-folder", "SELECT 1") == (
        2,
        "",
        'gradebeam sql: there is no folder "no-such-folder"\n',
    )


def test_without_a_query_statements_come_from_standard_input(
    gradebeam: Command, graded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("CREATE TABLE t AS SELECT 7 AS x; SELECT x FROM t;"))
    assert gradebeam("sql", graded, "--csv")[:2] == (0, "x\n7\n")


def test_the_prompt(gradebeam: Command, graded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    lines = iter([".tables", "SELECT 1 +", "  41 AS x;", "SELEC;", ".quit"])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    code, out, err = gradebeam("sql", graded, "--csv")
    assert code == 0
    assert "2 committed runs." in out
    assert "scores: schema_version INTEGER, run_id VARCHAR" in out
    assert out.endswith("x\n42\n")
    assert "SELEC" in err


@pytest.mark.parametrize(
    ("engine", "folder"),
    [("duckdb", "here"), ("spark", "here"), ("bigquery", "gs://bucket/graded"), ("trino", "s3://bucket/graded")],
)
def test_ddl_for_other_engines(gradebeam: Command, graded: Path, engine: str, folder: str) -> None:
    code, out, _ = gradebeam("sql", graded if folder == "here" else folder, "--ddl", engine)
    assert code == 0
    assert all(name in out for name in TABLES)


def test_a_long_table_says_what_it_leaves_out(gradebeam: Command, graded: Path) -> None:
    _, out, _ = gradebeam("sql", graded, "SELECT i FROM range(1234) t(i)")
    assert out.splitlines()[-1] == "(234 more rows: --csv and --json print all)"
    assert len(out.splitlines()) == 1003
