"""One suite with every deterministic grader over many mixed records, on every engine: seconds, memory, and whether rows are the same.

`python -m tests.distributed.bench_engines --records 200000 --files 40`
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from tests.distributed.mixed_logs import write_mixed_logs, write_mixed_suite
from tests.distributed.running import (
    children,
    command,
    committed_rows,
    embedded,
    flink,
    local,
    missing,
    prism,
    same_rows,
)

_ENGINES = {
    "one process, one thread": lambda: ["--direct_running_mode=in_memory", "--direct_num_workers=1"],
    "two forks": lambda: ["--direct_num_workers=2"],
    "one process, two threads": lambda: ["--direct_running_mode=in_memory", "--direct_num_workers=2"],
    "two processes": local,
    "embedded portable": embedded,
    "Prism": prism,
    "Flink, 1 slot": lambda: flink(1),
    "Flink, 2 slots": flink,
}


def main() -> int:
    """Run; 1 where an engine fails or its rows differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--only", nargs="*", default=list(_ENGINES), help="names of engines")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_mixed_logs(folder / "logs", options.records, options.files)
        size = sum(path.stat().st_size for path in (folder / "logs").iterdir())
        suite = write_mixed_suite(folder, "logs/*")
        print(
            f"{options.records:,} records in {options.files} files, {size / 1e6:,.0f} MB as stored, {os.cpu_count()} cores"
        )
        expected: dict[str, pa.Table] | None = None
        for engine in options.only:
            problem = missing(engine.split(",")[0].lower()) if engine.split(",")[0] in ("Prism", "Flink") else None
            if problem is not None:
                print(f"{engine:26} NOT RUN: {problem}")
                continue
            output = str(folder / f"out {engine}")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.monotonic()
            with tempfile.TemporaryFile("w+") as said_by_run:
                process = subprocess.Popen(
                    command(suite, output, _ENGINES[engine]()), stdout=subprocess.DEVNULL, stderr=said_by_run
                )
                memory = _peak_memory(process)
                said_by_run.seek(0)
                complaint = said_by_run.read().strip()[-300:]
            seconds = time.monotonic() - started
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if process.returncode:
                failures += 1
                print(f"{engine:26} FAILED: {complaint}")
                continue
            rows = committed_rows(output)
            differing = same_rows(rows, expected) if expected is not None else []
            expected = expected or rows
            failures += bool(differing)
            said = f"ROWS DIFFER in {', '.join(differing)}" if differing else "same rows"
            print(
                f"{engine:26} {seconds:7.1f} s  {cpu:7.1f} s CPU  {rows['scores'].num_rows:,} scores  {said}"
                f"  largest process {memory:,.0f} MB",
                flush=True,
            )
    return 1 if failures else 0


def _peak_memory(process: subprocess.Popen[bytes]) -> float:
    """Wait for a run; the largest resident set of its processes in MB, looked at twice a second.

    (The kernel's own figure for ended children counts the moment between fork and exec, when a child is as large as this process.)
    """
    peak = 0
    while process.poll() is None:
        family = [process.pid]
        for member in family:
            family += children(member)
            with contextlib.suppress(OSError, ValueError):
                peak = max(peak, int(Path(f"/proc/{member}/statm").read_text().split()[1]))
        time.sleep(0.5)
    return peak * resource.getpagesize() / 1e6


if __name__ == "__main__":
    sys.exit(main())
