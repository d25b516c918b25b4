"""What a run promises: the same rows on every engine and after every crash, one commit, exit codes that mean something."""

import itertools
import os
import random
import shlex
import signal
import subprocess
import time
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from pipelines.commit.committing import committed_runs
from schemas.tables import TABLES
from tests.pipelines.runs import (
    GRADERS,
    chats,
    command,
    only_manifest,
    rows,
    run_process,
    run_suite,
    statuses,
    table,
    write_lines,
    write_suite,
)

ENGINES = {
    "forks": ["--direct_num_workers=2"],
    "threads without servers": ["--direct_running_mode=in_memory", "--direct_num_workers=2"],
    "threads": ["--direct_running_mode=multi_threading", "--direct_num_workers=2"],
    "processes": ["--direct_running_mode=multi_processing", "--direct_num_workers=2"],
    "portable": ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"],
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite over three files of several shapes, with dirty lines, duplicates and empty files among them."""
    folder = tmp_path_factory.mktemp("logs")
    write_lines(folder / "a.jsonl", [*chats(400), b"no json", *chats(3)])
    write_lines(folder / "b.jsonl", chats(300, 1000))
    (folder / "c.json").write_bytes(
        b"[" + (folder / "b.jsonl").read_bytes().strip().replace(b"\n", b",").replace(b"t-1", b"u-1") + b"]"
    )
    (folder / "empty.jsonl").write_bytes(b"")
    write_suite(folder, ["*.json*"])
    return folder


@pytest.fixture(scope="module")
def in_process(logs: Path) -> Path:
    """The output of the plain run that the others are compared with."""
    assert run_suite(logs / "suite.yaml", logs / "out") == 0
    return logs / "out"


def test_a_plain_run_counts_everything(in_process: Path) -> None:
    manifest = only_manifest(in_process)
    assert (manifest.trajectories, manifest.duplicates, manifest.rejects) == (1000, 3, 2)
    assert manifest.records == 1005
    assert manifest.rejects_by_reason == {"invalid_json": 1, "empty_file": 1}
    verdicts = statuses(in_process)
    assert len(verdicts) == 5000
    assert [verdicts[("t-0", grader["name"])] for grader in GRADERS] == ["fail", "pass", "pass", "pass", "pass"]
    assert [verdicts[("t-1", grader["name"])] for grader in GRADERS] == ["pass", "pass", "fail", "pass", "fail"]
    assert [verdicts[("t-2", grader["name"])] for grader in GRADERS] == ["fail", "fail", "pass", "fail", "fail"]
    for grader in manifest.graders.values():
        assert sum(grader.counts.values()) == 1000


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_rows(logs: Path, in_process: Path, tmp_path: Path, engine: str) -> None:
    done = run_process(logs / "suite.yaml", tmp_path, "--", *ENGINES[engine])
    assert done.returncode == 0, done.stderr
    for name in ("scores", "trajectories", "rejects"):
        assert rows(tmp_path, name) == rows(in_process, name)


def test_rows_of_one_trajectory_stand_together(in_process: Path) -> None:
    uids = table(in_process, "scores")["trajectory_uid"].to_pylist()
    changes = sum(one != other for one, other in itertools.pairwise(uids))
    assert changes == len(set(uids)) - 1


def test_twenty_kills_leave_what_an_undisturbed_run_leaves(logs: Path, in_process: Path, tmp_path: Path) -> None:
    chance = random.Random(20)
    whole = _seconds(logs, tmp_path / "timed")
    for number in range(20):
        output = tmp_path / f"killed-{number}"
        process = subprocess.Popen(
            command(logs / "suite.yaml", output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(whole * (0.45 + 0.6 * chance.random()))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(committed_runs(str(output))) <= 1
        assert run_suite(logs / "suite.yaml", output) == 0
        for name in ("scores", "trajectories", "rejects"):
            assert rows(output, name) == rows(in_process, name)
        assert not (output / "_staging" / only_manifest(output).run_id).exists()


def _seconds(logs: Path, output: Path) -> float:
    started = time.monotonic()
    assert run_process(logs / "suite.yaml", output).returncode == 0
    return time.monotonic() - started


def test_two_runs_of_one_id_at_once_make_one_commit(logs: Path, in_process: Path, tmp_path: Path) -> None:
    processes = [subprocess.Popen(command(logs / "suite.yaml", tmp_path, "--run-id", "same")) for _ in range(2)]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    assert rows(tmp_path, "scores") == rows(in_process, "scores")
    manifest = only_manifest(tmp_path)
    for name, files in manifest.tables.items():
        assert sorted(path.name for path in (tmp_path / name / "run=same").iterdir()) == sorted(
            Path(file.path).name for file in files
        )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_cost_nothing_but_the_words(
    logs: Path, in_process: Path, tmp_path: Path, closed: str
) -> None:
    line = shlex.join([word for word in command(logs / "suite.yaml", tmp_path) if word != "--quiet"])
    assert subprocess.run(["sh", "-c", f"{line} {closed}"], check=False, timeout=300).returncode == 0
    assert rows(tmp_path, "scores") == rows(in_process, "scores")


def test_a_committed_run_is_not_run_again(logs: Path, in_process: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in in_process.rglob("*") if path.is_file()}
    assert run_suite(logs / "suite.yaml", in_process) == 0
    assert {path: path.stat().st_mtime_ns for path in in_process.rglob("*") if path.is_file()} == before


def test_another_suite_under_a_committed_id_is_refused(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(tmp_path / "a.jsonl", chats(5))
    suite = write_suite(tmp_path, ["a.jsonl"])
    assert run_suite(suite, tmp_path / "out", "--run-id", "mine") == 0
    write_suite(tmp_path, ["a.jsonl"], GRADERS[:2])
    assert run_suite(suite, tmp_path / "out", "--run-id", "mine") == 2
    assert "committed with other suite" in capsys.readouterr().err
    write_lines(tmp_path / "a.jsonl", chats(6))
    assert run_suite(suite, tmp_path / "out", "--run-id", "mine") == 2


def test_a_failing_step_commits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "a.jsonl", chats(5))
    suite = write_suite(tmp_path, ["a.jsonl"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scores").write_text("a file where the table's folder should be")
    assert run_process(suite, tmp_path / "out").returncode == 1
    assert committed_runs(str(tmp_path / "out")) == []


@pytest.mark.parametrize("records", [[], ["no json"]], ids=["no records", "only rejects"])
def test_a_run_without_trajectories_leaves_typed_tables(tmp_path: Path, records: list[str]) -> None:
    write_lines(tmp_path / "a.jsonl", records)
    suite = write_suite(tmp_path, ["a.jsonl"])
    assert run_suite(suite, tmp_path / "out") == 0
    check_readers(tmp_path / "out")
    assert len(table(tmp_path / "out", "scores")) == 0


def test_duckdb_polars_and_pyarrow_read_the_same(in_process: Path) -> None:
    check_readers(in_process)


def check_readers(output: Path) -> None:
    """The three readers see the same rows with the types of the schema."""
    manifest = only_manifest(output)
    for name, schema in TABLES.items():
        files = [str(output / file.path) for file in manifest.tables[name]]
        expected = sum(file.rows for file in manifest.tables[name])
        read = pq.ParquetFile(files[0]).read()
        assert read.schema.equals(schema), name
        relation = (
            duckdb.connect()
            .execute("SET TimeZone='UTC'")
            .execute("SELECT * FROM read_parquet(?, hive_partitioning=false)", [files])
        )
        types = {column[0]: str(column[1]).replace('"', "") for column in relation.description or ()}
        found = relation.fetchall()
        assert len(found) == expected
        assert types == {field.name: DUCKDB_TYPES[str(field.type)] for field in schema}
        frame = pl.read_parquet(files)
        assert frame.height == expected
        kinds = {column: str(kind).replace(POLARS_MAP, "Map(String, String)") for column, kind in frame.schema.items()}
        assert kinds == {field.name: POLARS_TYPES[str(field.type)] for field in schema}


EVIDENCE = "list<item: struct<message_index: int32, start: int64, end: int64, quote: string>>"
DUCKDB_TYPES = {
    "int32": "INTEGER",
    "int64": "BIGINT",
    "string": "VARCHAR",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
    "timestamp[us, tz=UTC]": "TIMESTAMP WITH TIME ZONE",
    "decimal128(18, 9)": "DECIMAL(18,9)",
    "list<item: string>": "VARCHAR[]",
    "map<string, string>": "MAP(VARCHAR, VARCHAR)",
    EVIDENCE: "STRUCT(message_index INTEGER, start BIGINT, end BIGINT, quote VARCHAR)[]",
}
#: How Polars before 2 shows a map.
POLARS_MAP = "List(Struct({'key': String, 'value': String}))"
POLARS_TYPES = {
    "int32": "Int32",
    "int64": "Int64",
    "string": "String",
    "double": "Float64",
    "bool": "Boolean",
    "date32[day]": "Date",
    "timestamp[us, tz=UTC]": "Datetime(time_unit='us', time_zone='UTC')",
    "decimal128(18, 9)": "Decimal(precision=18, scale=9)",
    "list<item: string>": "List(String)",
    "map<string, string>": "Map(String, String)",
    EVIDENCE: "List(Struct({'message_index': Int32, 'start': Int64, 'end': Int64, 'quote': String}))",
}


def test_nothing_matching_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = write_suite(tmp_path, ["nowhere/*.jsonl"])
    assert run_suite(suite, tmp_path / "out") == 2
    assert "nothing matches" in capsys.readouterr().err


def test_an_allowance_exceeded_is_exit_12(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(tmp_path / "a.jsonl", [*chats(5), "broken"])
    suite = write_suite(tmp_path, ["a.jsonl"], allow={"rejects": 0.1})
    assert run_suite(suite, tmp_path / "out") == 12
    assert "1 of 6 records were rejected" in capsys.readouterr().err
    assert only_manifest(tmp_path / "out").trajectories == 5
    errors = write_suite(
        tmp_path, ["a.jsonl"], [{"name": "e", "type": "exact", "on_missing_reference": "error"}], allow={"rejects": 1}
    )
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "messages": [{"role": "assistant", "content": "x"}]}])
    assert run_suite(errors, tmp_path / "out2") == 12
