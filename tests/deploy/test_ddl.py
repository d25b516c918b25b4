"""Definitions of views for other engines: every column of every table, and only committed rows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

from graders.errors import ConfigError
from pipelines.ddl import ddl
from schemas.tables import TABLES
from tests.pipelines.runs import chats, only_manifest, run_suite, write_lines, write_suite

_DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_ROOTS = {
    "bigquery": "gs://BUCKET/graded",
    "spark": "s3://BUCKET/graded",
    "trino": "s3://BUCKET/graded",
    "athena": "s3://BUCKET/graded",
}
#: Per engine: text, boolean, 32 bits, 64 bits, double, date, money, time, evidence, list of texts, map of texts.
_EXPECTED = {
    "bigquery": (
        "STRING BOOL INT64 INT64 FLOAT64 DATE NUMERIC TIMESTAMP "
        "ARRAY<STRUCT<`message_index`INT64,`start`INT64,`end`INT64,`quote`STRING>> ARRAY<STRING> "
        "ARRAY<STRUCT<`key`STRING,`value`STRING>>"
    ),
    "spark": (
        "STRING BOOLEAN INT BIGINT DOUBLE DATE DECIMAL(18,9) TIMESTAMP "
        "ARRAY<STRUCT<`message_index`:INT,`start`:BIGINT,`end`:BIGINT,`quote`:STRING>> ARRAY<STRING> MAP<STRING,STRING>"
    ),
    "trino": (
        "varchar boolean integer bigint double date decimal(18,9) timestamp(3) "
        'array(row("message_index"integer,"start"bigint,"end"bigint,"quote"varchar)) array(varchar) map(varchar,varchar)'
    ),
    "athena": (
        "string boolean int bigint double date decimal(18,9) timestamp "
        "array<struct<`message_index`:int,`start`:bigint,`end`:bigint,`quote`:string>> array<string> map<string,string>"
    ),
}
_EVIDENCE = TABLES["scores"].field("evidence").type
_KINDS: tuple[pa.DataType, ...] = (
    pa.string(),
    pa.bool_(),
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.date32(),
    pa.decimal128(18, 9),
    pa.timestamp("us", tz="UTC"),
    _EVIDENCE,
    pa.list_(pa.string()),
    pa.map_(pa.string(), pa.string()),
)


def _columns(statements: str, table: str) -> list[tuple[str, str]]:
    """(name, type without blanks) of each column of an external table."""
    body = statements.split(f"{table}_files (\n", 1)[1].split("\n)\n", 1)[0]
    lines = [line.strip().rstrip(",") for line in body.split("\n")]
    return [(re.split(r"[`\"]", line)[1], re.split(r"[`\"]", line, maxsplit=2)[2].replace(" ", "")) for line in lines]


@pytest.mark.parametrize("engine", sorted(_EXPECTED))
@pytest.mark.parametrize("table", sorted(TABLES))
def test_columns_are_those_of_the_arrow_schema(engine: str, table: str) -> None:
    types = dict(zip(_KINDS, _EXPECTED[engine].split(" "), strict=True))
    columns = _columns(ddl(engine, _ROOTS[engine]), table)
    if engine == "trino":
        assert columns.pop() == ("run", "varchar")
    assert columns == [(field.name, types[field.type]) for field in TABLES[table]]


@pytest.mark.parametrize("engine", sorted(_EXPECTED))
def test_files_in_deploy_are_what_the_command_prints(engine: str) -> None:
    assert (_DEPLOY / "bigquery" / f"{engine}.sql").read_text() == ddl(engine, _ROOTS[engine])


def test_trino_views_parse() -> None:
    statements = [text for text in ddl("trino", "s3://b/graded").split(";\n") if "CALL" not in text and text.strip()]
    parsed = [sqlglot.parse_one(text, read="trino") for text in statements]
    assert [tree.key for tree in parsed] == ["create"] * (2 + 2 * len(TABLES))


def test_duckdb_shows_committed_rows_only(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", chats(20))
    suite = write_suite(tmp_path, ["a.jsonl"])
    assert run_suite(suite, tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    committed = tmp_path / "out" / manifest.tables["scores"][0].path
    stray = tmp_path / "out" / "scores" / "run=crashed" / committed.name
    stray.parent.mkdir()
    shutil.copy(committed, stray)
    connection = duckdb.connect()
    connection.execute(ddl("duckdb", str(tmp_path / "out")))
    for name in TABLES:
        rows = sum(file.rows for file in manifest.tables[name])
        assert connection.sql(f"select count(*) from {name}").fetchall() == [(rows,)]
    read = connection.sql("select * from scores").to_arrow_table().cast(TABLES["scores"])
    assert read.sort_by([("trajectory_uid", "ascending"), ("grader_name", "ascending")]).equals(
        pq.ParquetFile(committed).read().sort_by([("trajectory_uid", "ascending"), ("grader_name", "ascending")])
    )


@pytest.mark.parametrize(
    ("engine", "root"),
    [
        ("oracle", "/a"),
        ("bigquery", "/local"),
        ("bigquery", "s3://b/x"),
        ("trino", "/local"),
        ("athena", "local"),
        ("duckdb", "/it's"),
    ],
)
def test_what_an_engine_cannot_read_is_refused(engine: str, root: str) -> None:
    with pytest.raises(ConfigError):
        ddl(engine, root)
