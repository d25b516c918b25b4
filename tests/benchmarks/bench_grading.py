"""`make bench`: this, DuckDB and a hand-written script do the same job side by side; all three must agree on every verdict.

`python -m tests.benchmarks.bench_grading [--repeats 5] [--workloads small large] [--scale 1.0] [--growth]`
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from tests.benchmarks.workloads import GRADERS, WORKLOADS, write_suite, write_workload

#: How many times as fast as each of the others a workload should be graded.
TARGETS = {"small": {"duckdb": 1.5, "script": 2.0}, "large": {"duckdb": 1.0, "script": 2.0}}
#: How many times as long ten times the records may take, and how much memory any number of them.
MOST_GROWTH = 10.5
MOST_MIB = 1024


@dataclass
class Measured:
    """Wall seconds and peak memory (of the whole process tree, in MiB) of some runs."""

    seconds: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)


def main() -> int:
    """Run the benchmark and print its table; 1 where verdicts differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument(
        "--growth", action="store_true", help="also ten times each workload, to see how time and memory grow"
    )
    options = parser.parse_args()
    agree = True
    with tempfile.TemporaryDirectory(prefix="gradebeam-bench-") as name:
        for workload in options.workloads:
            records, words, messages = WORKLOADS[workload]
            agree &= bench(Path(name), workload, int(records * options.scale), words, messages, options.repeats)
            if options.growth:
                growth(Path(name), workload, int(records * options.scale), words, messages)
    return 0 if agree else 1


def bench(folder: Path, workload: str, records: int, words: int, messages: int, repeats: int) -> bool:
    """One workload on all three; prints the table; whether they agree."""
    log, suite = folder / f"{workload}.jsonl", folder / f"{workload}.yaml"
    write_workload(log, records, words, messages)
    write_suite(suite, log)
    cores = str(os.cpu_count() or 1)
    commands = {
        "gradebeam": [
            sys.executable,
            "-m",
            "pipelines",
            "run",
            str(suite),
            "--quiet",
            "--output",
            str(folder / "ours"),
        ],
        "duckdb": [
            sys.executable,
            "-m",
            "tests.benchmarks.rival_duckdb",
            str(log),
            str(folder / "duck.parquet"),
            cores,
        ],
        "script": [sys.executable, "-m", "tests.benchmarks.rival_script", str(log), str(folder / "script"), cores],
    }
    measured = {system: Measured() for system in commands}
    for _ in range(repeats):
        for system, command in commands.items():  # one after the other, so that a noisy minute hits all alike
            for left in ("ours", "script"):
                if system[:4] in left or (system == "gradebeam" and left == "ours"):
                    shutil.rmtree(folder / left, ignore_errors=True)
            measure(command, measured[system])
    size = log.stat().st_size
    print(
        f"\n{workload}: {records:,} records, {size / records:,.0f} B each, {size / 1e6:,.0f} MB, ten graders, {cores} cores, medians of {repeats}"
    )
    print(f"{'':10}  {'s':>7}  {'records/s':>10}  {'MB/s':>6}  {'peak MiB':>8}  {'times ours':>10}")
    ours = statistics.median(measured["gradebeam"].seconds)
    for system, result in measured.items():
        seconds = statistics.median(result.seconds)
        print(
            f"{system:10}  {seconds:7.2f}  {records / seconds:10,.0f}  {size / seconds / 1e6:6.0f}  {max(result.peak_mib):8.0f}  {seconds / ours:10.2f}"
        )
    for system, target in TARGETS[workload].items():
        ratio = statistics.median(measured[system].seconds) / ours
        word = "reached" if ratio >= target else "missed"
        print(f"target: {target:g} times the speed of {system}: {ratio:.2f}, {word}")
    differing = differences(folder)
    print(f"verdicts: {records * len(GRADERS):,} compared, {differing:,} differ")
    return differing == 0


def growth(folder: Path, workload: str, records: int, words: int, messages: int) -> None:
    """Print how much longer ten times the records take, and at what memory."""
    measured = []
    log, suite, output = folder / "growth.jsonl", folder / "growth.yaml", folder / "growth"
    for count, repeats in ((records, 3), (10 * records, 1)):
        write_workload(log, count, words, messages)
        write_suite(suite, log)
        result = Measured()
        for _ in range(repeats):
            shutil.rmtree(output, ignore_errors=True)
            measure([sys.executable, "-m", "pipelines", "run", str(suite), "--quiet", "--output", str(output)], result)
        measured.append(result)
    log.unlink()
    shutil.rmtree(output)
    seconds = [statistics.median(result.seconds) for result in measured]
    times, peak = seconds[1] / seconds[0], max(measured[1].peak_mib)
    word = "reached" if times <= MOST_GROWTH and peak < MOST_MIB else "missed"
    print(
        f"target: ten times the records take at most {MOST_GROWTH} times as long, in less than {MOST_MIB} MiB: "
        f"{times:.1f} ({seconds[0]:.2f} s, {seconds[1]:.2f} s), {peak:.0f} MiB, {word}"
    )


def measure(command: list[str], into: Measured) -> None:
    """Run a command; its wall time and the peak of its process tree's memory."""
    started = time.perf_counter()
    process = subprocess.Popen(command)
    peak = [0.0]
    watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
    watcher.start()
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    into.seconds.append(time.perf_counter() - started)
    watcher.join()
    into.peak_mib.append(peak[0])


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_resident_mib(pid) for pid in _tree(process.pid)))
        time.sleep(0.05)


def _tree(root: int) -> list[int]:
    pids = [root]
    for pid in pids:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                pids += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return pids


def _resident_mib(pid: int) -> float:
    """Proportional set size, so that shared pages count once."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def differences(folder: Path) -> int:
    """How many (trajectory, grader) pairs are not in all three with one verdict."""
    connection = duckdb.connect()
    row = connection.execute(
        f"""
        WITH verdicts AS (
          SELECT trajectory_id, grader_name, passed, 1 AS system FROM read_parquet('{folder}/ours/scores/*/*.parquet')
          UNION ALL SELECT trajectory_id, grader_name, passed, 2 FROM read_parquet('{folder}/duck.parquet')
          UNION ALL SELECT trajectory_id, grader_name, passed, 3 FROM read_parquet('{folder}/script/*.parquet'))
        SELECT count(*) FROM (SELECT trajectory_id, grader_name FROM verdicts GROUP BY ALL
          HAVING count(*) <> 3 OR count(DISTINCT system) <> 3 OR count(DISTINCT passed) <> 1 OR count(passed) <> 3)
        """
    ).fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    sys.exit(main())
