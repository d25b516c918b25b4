"""Input and output on an S3-compatible server: the same rows as on a disk, and one commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines import steps, storage
from pipelines.cli.main import main
from pipelines.commit.committing import committed_runs
from tests.distributed import store_contract as contract
from tests.distributed.running import start
from tests.distributed.stores import CREDENTIALS, s3_server
from tests.pipelines.runs import chats, run_suite, table, write_lines, write_suite


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server("logs") as address:
        yield address


@pytest.fixture
def address(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    FileSystems.set_options(PipelineOptions([f"--s3_endpoint_url={server}"]))
    yield server
    FileSystems.set_options(PipelineOptions([]))


def _run(suite: Path, output: str, address: str) -> int:
    beam = ["--direct_running_mode=in_memory", "--direct_num_workers=1", f"--s3_endpoint_url={address}"]
    return main(["run", str(suite), "--output", output, "--quiet", "--", *beam])


def test_files(address: str) -> None:
    contract.files_are_whole_listed_copied_and_deleted("s3://logs/files")


def test_one_commit_wins(address: str) -> None:
    contract.of_many_that_create_one_wins("s3://logs/race")


def test_same_rows_as_on_a_disk(address: str, tmp_path: Path) -> None:
    local = write_lines(tmp_path / "a.jsonl", [*chats(300), b"{broken"])
    storage.write_bytes("s3://logs/in/a.jsonl", local.read_bytes())
    assert run_suite(write_suite(tmp_path, ["a.jsonl"]), tmp_path / "out") == 0
    FileSystems.set_options(PipelineOptions([f"--s3_endpoint_url={address}"]))
    assert _run(write_suite(tmp_path, ["s3://logs/in/*.jsonl"]), "s3://logs/out", address) == 0
    for name in ("scores", "trajectories", "rejects"):
        remote = contract.committed_table("s3://logs/out", name)
        assert contract.rows(remote) == [
            row.replace(str(local), "s3://logs/in/a.jsonl") for row in contract.rows(table(tmp_path / "out", name))
        ]
    assert storage.match("s3://logs/out/_staging/**") == []


def test_a_crash_before_the_commit_leaves_nothing_to_readers_and_a_rerun_reuses_blocks(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.write_bytes("s3://logs/crash/a.jsonl", write_lines(tmp_path / "a.jsonl", chats(100)).read_bytes())
    suite = write_suite(tmp_path, ["s3://logs/crash/*.jsonl"])
    with monkeypatch.context() as broken:
        broken.setattr(steps, "commit", _crash)
        assert _run(suite, "s3://logs/crashed", address) == 1
    assert committed_runs("s3://logs/crashed") == []
    markers = [file.uri for file in storage.match("s3://logs/crashed/_staging/**") if file.uri.endswith(".done.json")]
    assert markers
    written: list[str] = []
    with monkeypatch.context() as watched:
        watched.setattr(steps, "write_parts", lambda *given: written.append("a block"))
        assert _run(suite, "s3://logs/crashed", address) == 0
    assert written == []
    assert contract.committed_table("s3://logs/crashed", "scores").num_rows == 500


def test_two_runs_at_once_have_one_winner(address: str, tmp_path: Path) -> None:
    storage.write_bytes("s3://logs/twice/a.jsonl", write_lines(tmp_path / "a.jsonl", chats(200)).read_bytes())
    suite = write_suite(tmp_path, ["s3://logs/twice/*.jsonl"])
    beam = ["--direct_running_mode=in_memory", f"--s3_endpoint_url={address}"]
    both = [start(suite, "s3://logs/both", beam) for _ in range(2)]
    assert [process.wait(timeout=300) for process in both] == [0, 0]
    (manifest,) = committed_runs("s3://logs/both")
    assert contract.committed_table("s3://logs/both", "scores").num_rows == 1000
    listed = {f"s3://logs/both/{file.path}" for files in manifest.tables.values() for file in files}
    assert listed <= {file.uri for file in storage.match("s3://logs/both/*/*/*.parquet")}


def test_an_unknown_bucket_is_no_input(address: str, tmp_path: Path) -> None:
    assert _run(write_suite(tmp_path, ["s3://nowhere/*.jsonl"]), "s3://logs/none", address) == 2


def _crash(*_: object) -> None:
    raise RuntimeError("crashed")
