"""`make bench-spans`: how many megabytes of a span export a second of one core takes through a whole run, and through each stage of it.

`python -m tests.benchmarks.bench_spans [--repeats 3] [--workloads otlp …] [--words 12 60 300] [--megabytes 120] [--profile STAGE]`

CPU seconds (user and system) of the whole process tree, less those of a run over one trace; one cheap grader.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from pipelines import steps
from pipelines.graph import bucket_count
from pipelines.running import RunRequest, make_plan
from pipelines.suite_file import load_suite
from tests.benchmarks.span_workloads import WORKLOADS, write_spans

TARGET = 30.0
STAGES = ("split", "spill", "read", "grade", "write")
_GRADERS = [{"name": "refusal", "type": "regex", "pattern": "(?i)i (can't|cannot|will not)", "evidence": False}]


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS), choices=list(WORKLOADS))
    parser.add_argument("--words", nargs="+", type=int, default=[12, 60, 300])
    parser.add_argument("--megabytes", type=float, default=120)
    parser.add_argument("--stages-only", action="store_true", help="leave the whole run out")
    parser.add_argument("--profile", choices=STAGES, help="where the time of one stage goes")
    options = parser.parse_args()
    print("MB/s of one core (CPU time, medians); bytes a span are the export's bytes by its spans")
    print(
        f"{'workload':20} {'words':>5} {'MB':>5} {'B a span':>8} {'run':>6} {'peak MiB':>8}",
        *(f"{name:>6}" for name in STAGES),
    )
    for workload in options.workloads:
        for words in options.words:
            with tempfile.TemporaryDirectory(prefix="gradebeam-bench-") as name:
                bench(Path(name), workload, words, options)
    return 0


def bench(folder: Path, workload: str, words: int, options: argparse.Namespace) -> None:
    """One workload; prints its row."""
    whole, tiny = folder / "whole", folder / "tiny"
    suites = {}
    for where, megabytes in ((whole, options.megabytes), (tiny, 0.001)):
        where.mkdir()
        write_spans(where, workload, megabytes, words)
        suites[where] = write_suite(where)
    size = sum(path.stat().st_size for path in whole.glob("*.jsonl"))
    told: dict[str, list[float]] = {name: [] for name in ("run", *STAGES)}
    peak = spans = 0
    for _ in range(options.repeats):
        if not options.stages_only:
            start_up, _ = run_seconds(suites[tiny], tiny)
            seconds, used = run_seconds(suites[whole], whole)
            told["run"].append(size / 1e6 / (seconds - start_up))
            peak = max(peak, used)
        measured, spans = stage_seconds(suites[whole], options.profile)
        for name, seconds in measured.items():
            told[name].append(size / 1e6 / max(seconds, 1e-9))
    speeds = {name: statistics.median(values) if values else 0.0 for name, values in told.items()}
    shown = (f"{speeds[name]:6.0f}" for name in STAGES)
    print(
        f"{workload:20} {words:5} {size / 1e6:5.0f} {size / spans:8.0f} {speeds['run']:6.1f} {peak / 2**20:8.0f}",
        *shown,
        "" if options.stages_only else f"  target {TARGET:g}: {'reached' if speeds['run'] >= TARGET else 'missed'}",
        flush=True,
    )


def write_suite(folder: Path) -> Path:
    """One cheap grader over a folder's logs."""
    suite = {
        "name": "spans",
        "input": {"paths": [str(folder / "*.jsonl")]},
        "graders": _GRADERS,
        "allow": {"errors": 1},
    }
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    return path


def run_seconds(suite: Path, folder: Path) -> tuple[float, int]:
    """(CPU seconds, peak resident bytes) of `gradebeam run`, its children included."""
    output = folder / "graded"
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "pipelines", "run", str(suite), "--quiet", "--output", str(output)]
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def stage_seconds(suite: Path, profiled: str | None) -> tuple[dict[str, float], int]:
    """CPU seconds of each stage, its steps called one after another in this process; and how many records there were."""
    with tempfile.TemporaryDirectory(prefix="gradebeam-stages-") as output:
        plan = make_plan(load_suite(str(suite)), RunRequest(output=output), "stages")
        seconds = dict.fromkeys(STAGES, 0.0)

        def through(stage: str, step: Any, elements: Iterable[Any]) -> list[Any]:
            step.setup()
            with _clock(seconds, stage, profiled == stage):
                return [made for element in elements for made in step.process(element)]

        blocks = [tagged.value for tagged in through("split", steps.SplitDoFn(plan), plan.inputs)]
        pointers = through("spill", steps.SpillDoFn(plan, bucket_count(plan.inputs)), blocks)
        grouped: dict[str, list[Any]] = {}
        for bucket, pointer in pointers:
            grouped.setdefault(bucket, []).append(pointer)
        buckets = through("read", steps.BucketDoFn(), grouped.items())
        records = 0
        read, grade, write = steps.ReadDoFn(plan), steps.GradeDoFn(plan.graders[0]), steps.WriteDoFn(plan.for_writing())
        for bucket in buckets:  # as in a run, a bucket goes through all of them before the next
            loaded = through("read", read, [bucket])
            records += sum(block.loaded.records for block in loaded)
            through("write", write, through("grade", grade, loaded))
        return seconds, records


@contextmanager
def _clock(seconds: dict[str, float], stage: str, is_profiled: bool) -> Iterator[None]:
    profile = cProfile.Profile()
    started = time.process_time()
    if is_profiled:
        profile.enable()
    yield
    if is_profiled:
        profile.disable()
    seconds[stage] += time.process_time() - started
    if is_profiled:
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    sys.exit(main())
