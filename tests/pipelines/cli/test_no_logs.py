"""Files that are no logs: each kind is told in its own words, by `inspect` and in a run, and the files beside it are graded."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.cli.conftest import Command
from tests.pipelines.reading.loading import load
from tests.pipelines.runs import chats, only_manifest, run_suite, table, write_lines, write_suite


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"messages": pa.array([], pa.string())}), buffer)
    return buffer.getvalue()


def archive() -> bytes:
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    return buffer.getvalue()


KINDS: dict[str, tuple[bytes, str, str]] = {
    "no bytes": (b"", "empty_file", "is empty: it has no bytes at all"),
    "blanks": (b" \r\n\n", "empty_file", "is empty: it holds only blanks"),
    "a byte order mark": (b"\xef\xbb\xbf", "empty_file", "is empty: it holds only blanks"),
    "gzipped nothing": (gzip.compress(b""), "empty_file", "is empty: it has no bytes at all"),
    "an empty array": (b"[\n]\n", "empty_file", "is empty: an array without elements"),
    "only a header": (b"id,output\n", "empty_file", "is empty: a table with a header and no rows"),
    "a table without rows": (parquet(), "empty_file", "is empty: a table without rows"),
    "an empty archive": (archive(), "empty_file", "is an empty zip archive"),
    "a pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n",
        "git_lfs_pointer",
        "is a Git LFS pointer, not the data: run `git lfs pull`",
    ),
    "a page": (b"<!DOCTYPE html>\n<html><body>502</body></html>\n", "html_page", "is an HTML or XML page, not a log"),
    "a gzipped page": (gzip.compress(b"<html>504</html>"), "html_page", "is an HTML or XML page, not a log"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_own_reason_and_sentence(kind: str, tmp_path: Path) -> None:
    data, reason, sentence = KINDS[kind]
    (tmp_path / "log.jsonl").write_bytes(data)
    loaded = load(tmp_path / "log.jsonl")
    assert (loaded.reasons, loaded.records, loaded.trajectories) == ([reason], 1, [])
    assert loaded.rejects[0].detail.startswith(f"{tmp_path / 'log.jsonl'} {sentence}")


def test_a_run_names_them_and_grades_the_others(tmp_path: Path) -> None:
    for number, (data, _, _) in enumerate(KINDS.values()):
        (tmp_path / f"bad-{number:02d}.jsonl").write_bytes(data)
    write_lines(tmp_path / "good.jsonl", chats(4))
    assert run_suite(write_suite(tmp_path, ["*.jsonl"]), tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert (manifest.records, manifest.trajectories) == (len(KINDS) + 4, 4)
    rows = table(tmp_path / "out", "rejects").sort_by("source_uri").to_pylist()
    assert [(Path(row["source_uri"]).name, row["reason"]) for row in rows] == [
        (f"bad-{number:02d}.jsonl", reason) for number, (_, reason, _) in enumerate(KINDS.values())
    ]
    assert all(sentence in row["detail"] for row, (_, _, sentence) in zip(rows, KINDS.values(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_inspect_says_it(kind: str, gradebeam: Command, tmp_path: Path) -> None:
    data, reason, sentence = KINDS[kind]
    (tmp_path / "log.jsonl").write_bytes(data)
    code, out, _ = gradebeam("inspect", tmp_path / "log.jsonl")
    assert code == 0
    assert sentence in out
    assert f"rejected at 0: {reason}: " in out
