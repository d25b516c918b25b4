"""Input and output on a Google-compatible server: the same rows as on a disk, and one commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines import storage
from pipelines.cli.main import main
from tests.distributed import store_contract as contract
from tests.distributed.running import missing
from tests.distributed.stores import google_server
from tests.pipelines.runs import chats, run_suite, table, write_lines, write_suite

if missing("fake-gcs-server") is None:

    @pytest.fixture(scope="module")
    def server() -> Iterator[str]:
        with google_server("logs") as address:
            yield address

    @pytest.fixture(autouse=True)
    def address(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server)
        FileSystems.set_options(PipelineOptions(["--no_auth"]))
        yield server
        FileSystems.set_options(PipelineOptions([]))

    def test_files() -> None:
        contract.files_are_whole_listed_copied_and_deleted("gs://logs/files")

    def test_one_commit_wins() -> None:
        contract.of_many_that_create_one_wins("gs://logs/race")

    def test_same_rows_as_on_a_disk(tmp_path: Path) -> None:
        local = write_lines(tmp_path / "a.jsonl", [*chats(300), b"{broken"])
        storage.write_bytes("gs://logs/in/a.jsonl", local.read_bytes())
        assert run_suite(write_suite(tmp_path, ["a.jsonl"]), tmp_path / "out") == 0
        beam = ["--direct_running_mode=in_memory", "--direct_num_workers=1", "--no_auth"]
        suite = write_suite(tmp_path, ["gs://logs/in/*.jsonl"])
        assert main(["run", str(suite), "--output", "gs://logs/out", "--quiet", "--", *beam]) == 0
        for name in ("scores", "trajectories", "rejects"):
            remote = contract.committed_table("gs://logs/out", name)
            assert contract.rows(remote) == [
                row.replace(str(local), "gs://logs/in/a.jsonl") for row in contract.rows(table(tmp_path / "out", name))
            ]
        assert storage.match("gs://logs/out/_staging/**") == []
