"""Small runs for tests: logs written, suites run, committed rows read back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from pipelines.cli.main import main
from pipelines.commit.committing import committed_runs
from schemas.manifest import Manifest
from schemas.tables import TABLES

#: Columns of `scores` and `trajectories` that say when and where, not what.
TIMINGS = ("graded_at", "duration_us", "run_id")

GRADERS: list[dict[str, Any]] = [
    {"name": "refusal", "type": "regex", "pattern": "(?i)cannot"},
    {"name": "no-error", "type": "transcript-not-matches", "pattern": "(?i)error"},
    {"name": "greets", "type": "contains", "texts": ["hello"]},
    {"name": "short", "type": "length", "max": 6, "unit": "words"},
    {"name": "right", "type": "exact"},
]


def chat(number: int, answer: str, **more: Any) -> dict[str, Any]:
    """A chat record of one question and one answer."""
    turns = [{"role": "user", "content": f"question {number}"}, {"role": "assistant", "content": answer}]
    return {"id": f"t-{number}", "messages": turns, "reference": "hello there", **more}


def chats(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Records whose verdicts differ from one to the next."""
    answers = ["hello there", "I cannot do that", "an Error: hello, it went wrong and I am sorry for it", "ok"]
    return [chat(number, f"{answers[number % 4]}{' ' * (number % 3)}") for number in range(start, start + count)]


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """Write JSON lines (bytes and strings as they are)."""
    lines = [
        record if isinstance(record, bytes) else record.encode() if isinstance(record, str) else orjson.dumps(record)
        for record in records
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def write_suite(folder: Path, paths: Sequence[str], graders: Sequence[dict[str, Any]] = GRADERS, **more: Any) -> Path:
    """Write a suite file that reads `paths`; big allowances, so that exit codes speak of other things."""
    suite = {
        "name": "test",
        "input": {"paths": list(paths)},
        "graders": list(graders),
        "allow": {"rejects": 1, "errors": 1},
    }
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump({**suite, **more}, sort_keys=False, allow_unicode=True))
    return path


def run_suite(suite: Path, output: Path, *arguments: str) -> int:
    """`gradebeam run` in this process, one worker; its exit code."""
    beam = [] if "--" in arguments else ["--", "--direct_running_mode=in_memory", "--direct_num_workers=1"]
    return main(["run", str(suite), "--output", str(output), "--quiet", *arguments, *beam])


def command(suite: Path, output: Path, *arguments: str) -> list[str]:
    """The command line of a run in a process of its own."""
    return [sys.executable, "-m", "pipelines", "run", str(suite), "--output", str(output), "--quiet", *arguments]


def run_process(suite: Path, output: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`gradebeam run` in a process of its own."""
    return subprocess.run(command(suite, output, *arguments), capture_output=True, text=True, timeout=300, check=False)


def only_manifest(output: Path) -> Manifest:
    """The manifest of the one committed run."""
    (manifest,) = committed_runs(str(output))
    return manifest


def table(output: Path, name: str, manifest: Manifest | None = None) -> pa.Table:
    """The committed rows of a table."""
    files = (manifest or only_manifest(output)).tables[name]
    parts = [pq.ParquetFile(output / file.path).read() for file in files]
    return pa.concat_tables(parts).cast(TABLES[name])


def rows(output: Path, name: str, without: Sequence[str] = TIMINGS) -> list[dict[str, Any]]:
    """The committed rows of a table in a fixed order, without the columns that differ from run to run."""
    read = table(output, name)
    kept = read.drop_columns([column for column in without if column in read.column_names])
    return sorted(kept.to_pylist(), key=lambda row: orjson.dumps(row, default=str, option=orjson.OPT_NON_STR_KEYS))


def statuses(output: Path) -> dict[tuple[str, str], str]:
    """(trajectory id, grader) → status."""
    read = table(output, "scores")
    names = ("trajectory_id", "grader_name", "status")
    return {
        (one, grader): status for one, grader, status in zip(*(read[name].to_pylist() for name in names), strict=True)
    }
