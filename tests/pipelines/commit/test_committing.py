"""After a commit a run's folders hold what its manifest lists, whatever another execution left there."""

from pathlib import Path

import pytest

from pipelines import steps
from tests.pipelines.runs import chats, only_manifest, rows, run_suite, write_lines, write_suite


def names(output: Path) -> set[str]:
    tables = ("scores", "trajectories", "rejects", "graders", "runs")
    return {
        path.relative_to(output).as_posix()
        for table in tables
        for path in (output / table).rglob("*")
        if path.is_file()
    }


def listed(output: Path) -> set[str]:
    return {file.path for files in only_manifest(output).tables.values() for file in files}


def test_files_of_an_execution_that_was_stopped_are_deleted(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", chats(5))
    suite = write_suite(tmp_path, ["a.jsonl"])
    left = tmp_path / "out" / "scores" / "run=mine" / "part-of-another.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"rows of an execution that never committed")
    other = left.parent.parent / "run=other" / "part.parquet"
    other.parent.mkdir()
    other.write_bytes(b"another run's")
    assert run_suite(suite, tmp_path / "out", "--run-id", "mine") == 0
    assert names(tmp_path / "out") == listed(tmp_path / "out") | {"scores/run=other/part.parquet"}


@pytest.mark.parametrize("step", ["publish", "commit"])
def test_an_execution_that_is_overtaken_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    write_lines(tmp_path / "a.jsonl", [*chats(5), "broken"])
    suite = write_suite(tmp_path, ["a.jsonl"])
    output = tmp_path / "out"
    original = getattr(steps, step)
    overtaken: list[bool] = []

    def overtake(*given: object) -> object:
        made = original(*given) if step == "publish" else None
        if not overtaken:
            overtaken.append(True)
            assert (
                run_suite(suite, output, "--run-id", "mine") == 0
            )  # reuses the staged parts, commits, and deletes them
        return made if step == "publish" else original(*given)

    monkeypatch.setattr(steps, step, overtake)
    assert run_suite(suite, output, "--run-id", "mine") == 0
    assert overtaken
    assert names(output) == listed(output)
    assert not (output / "_staging" / "mine").exists()
    assert {row["status"] for row in rows(output, "scores")} == {"pass", "fail"}
