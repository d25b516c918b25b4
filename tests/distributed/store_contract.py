"""What every object store must do, whichever it is."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from pipelines import storage
from pipelines.commit.committing import committed_runs, read_manifest
from pipelines.remote_tables import open_dataset
from pipelines.sql import Session
from schemas.tables import TABLES
from tests.distributed.running import TIMINGS


def files_are_whole_listed_copied_and_deleted(root: str) -> None:
    data = bytes(range(256)) * 4000
    for name in ("a/one.bin", "a/b/two.bin", "a/three.txt", "c/four.bin"):
        storage.write_bytes(f"{root}/{name}", data)
    storage.write_bytes(f"{root}/empty", b"")

    def names(pattern: str) -> list[str]:
        return [file.uri.removeprefix(root + "/") for file in storage.match(f"{root}/{pattern}")]

    assert names("a/*.bin") == ["a/one.bin"]
    assert names("a/**") == names("a/") == ["a/b/two.bin", "a/one.bin", "a/three.txt"]
    assert names("**/*.bin") == ["a/b/two.bin", "a/one.bin", "c/four.bin"]
    assert names("[ac]/[!o]*") == ["a/three.txt", "c/four.bin"]
    assert names("a/t?ree.txt") == ["a/three.txt"]
    assert names("nothing/*") == storage.match(root.replace("://", "://no-such-") + "/*") == []
    assert [file.uri for file in storage.list_folder(f"{root}/a")] == [f"{root}/a/one.bin", f"{root}/a/three.txt"]
    assert storage.read_bytes(f"{root}/empty") == b""
    assert storage.read_bytes(f"{root}/a/one.bin") == data
    with storage.open_read(f"{root}/a/one.bin") as file:
        file.seek(-300, 2)
        assert file.read(10) == data[-300:-290]
        file.seek(700_000)
        assert file.read(300_000) == data[700_000:1_000_000]
        assert file.read() == data[1_000_000:]
    with pytest.raises(FileNotFoundError):
        storage.read_bytes(f"{root}/a/none")
    storage.copy(f"{root}/a/one.bin", f"{root}/d/copy.bin")
    assert storage.read_bytes(f"{root}/d/copy.bin") == data
    before = storage.match(f"{root}/a/one.bin")[0].version
    storage.write_bytes(f"{root}/a/one.bin", data + b"!")
    assert storage.match(f"{root}/a/one.bin")[0].version != before
    storage.delete([f"{root}/a/one.bin", f"{root}/a/none"])
    assert not storage.exists(f"{root}/a/one.bin")
    assert storage.exists(f"{root}/a/b/two.bin")
    storage.delete_folder(f"{root}/a")
    assert names("a/**") == []


def of_many_that_create_one_wins(root: str) -> None:
    won: list[int] = []

    def create(number: int) -> None:
        if storage.create_if_absent(f"{root}/_commits/r.json", b"%d" % number):
            won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.read_bytes(f"{root}/_commits/r.json") == b"%d" % won[0]


def committed_table(output: str, name: str) -> pa.Table:
    """The committed rows of a table in a store, read as `gradebeam sql` reads them."""
    (manifest,) = committed_runs(output)
    uris = [storage.join(output, file.path) for file in manifest.tables[name]]
    source = open_dataset(uris, TABLES[name])
    assert source.count_rows() == sum(file.rows for file in manifest.tables[name])
    session = Session(output)
    assert next(session.query("select count(*) from scores where passed").rows())[0] > 0
    return session.connection.sql(f"select * from {name}").to_arrow_table().cast(TABLES[name])


def rows(table: pa.Table) -> list[str]:
    """Rows without what differs from place to place and time to time."""
    differing = (*TIMINGS, "run_id", "source_uri", "trajectory_uid")
    return sorted(map(repr, table.drop_columns([name for name in differing if name in table.column_names]).to_pylist()))


def has_no_commit(output: str, run_id: str) -> bool:
    """Whether readers see nothing of a run."""
    return committed_runs(output) == [] and read_manifest(output, run_id) is None
