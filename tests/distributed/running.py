"""Running a suite on an engine, each in a process of its own, and comparing what was committed."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.commit.committing import committed_runs
from schemas.tables import TABLES
from tests.distributed.engines import Engine, engine

_REPOSITORY = Path(__file__).resolve().parents[2]
#: Columns that say when, not what.
TIMINGS = ("graded_at", "duration_us")
_KEYS = {
    "scores": ["trajectory_uid", "grader_name"],
    "trajectories": ["source_uri", "source_offset", "trajectory_uid"],
    "rejects": ["source_uri", "source_offset", "reason"],
}


def local(number_of_workers: int = 2) -> list[str]:
    """Beam's options for several processes of the local runner."""
    return ["--direct_running_mode=multi_processing", f"--direct_num_workers={number_of_workers}"]


def embedded() -> list[str]:
    """Beam's options for the portable runner inside the launcher."""
    return ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"]


def prism() -> list[str]:
    """Beam's options for Prism."""
    return ["--runner=PrismRunner", f"--prism_location={engine('prism').path}"]


def flink(slots: int = 2) -> list[str]:
    """Beam's options for Flink's job server with an embedded cluster, which restarts a job that lost a worker."""
    found = engine("flink")
    return [
        "--runner=FlinkRunner",
        "--flink_master=[local]",
        f"--flink_version={found.version.split(',')[0].removeprefix('Flink ')}",
        f"--flink_job_server_jar={found.path}",
        f"--parallelism={slots}",
        "--number_of_execution_retries=3",
    ]


def command(suite: Path, output: str, beam: list[str], *more: str) -> list[str]:
    """The command line of a run."""
    return [
        sys.executable,
        "-m",
        "pipelines",
        "run",
        str(suite),
        "--output",
        output,
        "--run-id",
        "same",
        "--quiet",
        *more,
        "--",
        *beam,
    ]


def run(suite: Path, output: str, beam: list[str], *more: str) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    return subprocess.run(
        command(suite, output, beam, *more), capture_output=True, text=True, timeout=1500, check=False, cwd=_REPOSITORY
    )


def start(suite: Path, output: str, beam: list[str]) -> subprocess.Popen[bytes]:
    """Start a run and return at once."""
    return subprocess.Popen(
        command(suite, output, beam), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=_REPOSITORY
    )


def committed_rows(output: str) -> dict[str, pa.Table]:
    """The committed rows of the one run, by table, sorted, without timings."""
    (manifest,) = committed_runs(output)
    return {name: _sorted(output, name, [file.path for file in manifest.tables[name]]) for name in _KEYS}


def same_rows(one: dict[str, pa.Table], other: dict[str, pa.Table]) -> list[str]:
    """The tables whose rows differ."""
    return [name for name in one if not one[name].equals(other[name])]


@contextlib.contextmanager
def worker_pool() -> Iterator[tuple[list[str], Callable[[], list[int]]]]:
    """An external worker pool: Beam's options that use it, and the processes of its workers. It starts `python` from its PATH."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    module = "apache_beam.runners.worker.worker_pool_main"
    pool = subprocess.Popen(
        [sys.executable, "-m", module, f"--service_port={port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=_REPOSITORY,
        env={**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])},
    )
    try:
        _await(lambda: _answers(port), 120)
        yield (
            ["--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"],
            lambda: children(pool.pid),
        )
    finally:
        for child in children(pool.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, 9)
        pool.kill()
        pool.wait()


def children(parent: int) -> list[int]:
    """Processes started by a process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            if int(status.read_text().rsplit(")", 1)[1].split()[1]) == parent:
                found.append(int(status.parent.name))
    return found


def await_blocks(staging: Path, count: int, process: subprocess.Popen[bytes]) -> int:
    """Wait until a run has finished `count` blocks or ended; how many it has."""
    _await(lambda: process.poll() is not None or _markers(staging) >= count, 600)
    return _markers(staging)


def missing(name: str) -> str | None:
    """Why an engine can't be used, None where it can."""
    found: Engine = engine(name)
    return found.problem or (None if found.path else "not fetched")


def _markers(staging: Path) -> int:
    return len(list(staging.rglob("*.done.json"))) if staging.exists() else 0


def _sorted(output: str, name: str, paths: list[str]) -> pa.Table:
    table = pa.concat_tables(pq.ParquetFile(Path(output) / path).read() for path in paths).cast(TABLES[name])
    kept = table.drop_columns([column for column in TIMINGS if column in table.column_names])
    return kept.sort_by([(key, "ascending") for key in _KEYS[name]]).combine_chunks()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _await(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s")
        time.sleep(0.1)
