"""Benchmarks of judging: `python -m tests.benchmarks.bench_judges [throughput | pace | memory]`. Prints what it measured.

throughput: 64 in flight against log-normal latency (median 200 ms), as a share of the ideal: the sum of the latencies that
    were served, divided by 64; start-up, the first call's trial and the last calls' stragglers all count against us. A bare
    client (64 sockets in a loop, nothing judged, nothing stored) runs before and after: what the machine allowed just then.
pace: requests_per_minute 600 with one and with two worker processes; the most that the endpoint saw in any minute.
memory: 100,000 judgments of 50 KB; resident memory every 10,000.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from graders.configured import configure
from graders.trajectory_batch import TrajectoryBatch
from pipelines.judging.plan import judge_plan
from pipelines.judging.process import close_runners, runner_for
from tests.benchmarks.judge_endpoint import endpoint
from tests.graders.judges.examples import LLM_SCORE
from tests.graders.judges.runners import route, trajectories

JUDGE = configure({**LLM_SCORE, "max_evidence_chars": 100_000})


def throughput(judgments: int = 6_000, in_flight: int = 64) -> None:
    """Judgments a second against the ideal, between two runs of the bare client."""
    bare = [_bare(judgments // 2, in_flight)]
    with endpoint(0.2) as server, tempfile.TemporaryDirectory() as folder:
        plan = judge_plan("r_1", folder, [JUDGE], {"only": route(server.url, max_concurrency=in_flight)})
        rows = trajectories(judgments)
        blocks = [
            TrajectoryBatch.from_trajectories(rows[start : start + 1_000]) for start in range(0, judgments, 1_000)
        ]
        runner = runner_for(plan)
        cpu, started = time.process_time(), time.perf_counter()
        futures = [runner.submit(JUDGE, block, {}) for block in blocks]
        passed = sum(int((future.result().status == 0).sum()) for future in futures)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        close_runners()
        counts = server.counts()
    ideal = counts["latency"] / in_flight
    print(
        f"throughput: {passed} verdicts, {wall:.1f} s wall, ideal {ideal:.1f} s: {ideal / wall:.1%} of the ideal; "
        f"{1_000 * cpu / judgments:.2f} ms CPU a judgment; most in flight {counts['most_in_flight']}; "
        f"bare client {', '.join(f'{share:.1%}' for share in [*bare, _bare(judgments // 2, in_flight)])}; "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        flush=True,
    )


def _bare(calls: int, in_flight: int) -> float:
    """The same share for a client that does nothing but send and wait."""
    content = b'{"messages": [], "filler": "%s"}' % (b"x" * 2_000)
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    )
    request = head % len(content) + content

    async def call_often(port: int, count: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(count):
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(answer.split(b"content-length: ")[1].split(b"\r\n")[0]))
        writer.close()

    async def work(port: int) -> None:
        await asyncio.gather(*(call_often(port, calls // in_flight) for _ in range(in_flight)))

    with endpoint(0.2) as server:
        started = time.perf_counter()
        asyncio.run(work(int(server.url.rsplit(":", 1)[1].split("/")[0])))
        wall = time.perf_counter() - started
        return float(server.counts()["latency"]) / in_flight / wall


def pace(processes: int) -> None:
    """The most requests in any minute at a limit of 600, over a little more than a minute and a half."""
    with endpoint(0.05) as server, tempfile.TemporaryDirectory() as folder:
        fields = json.dumps({"requests_per_minute": 600, "max_concurrency": 64})
        module = [sys.executable, "-m", "tests.pipelines.judging.judged_run", server.url, folder]
        commands = [[*module, str(960 // processes), "embedded", fields, f"text{n}"] for n in range(processes)]
        started = time.perf_counter()
        workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
        for worker in workers:
            worker.wait()
        counts = server.counts()
        span = counts["last"] - counts["first"]
        print(
            f"pace, {processes} process(es): {counts['calls']} requests in {span:.1f} s "
            f"({60 * counts['calls'] / span:.0f} a minute), most in any minute {counts['most_in_a_minute']} of 600; "
            f"{time.perf_counter() - started:.0f} s in all"
        )


def memory(judgments: int = 100_000, block_rows: int = 500) -> None:
    """Resident memory while judging evidence of 50 KB a judgment."""
    with endpoint(0.0) as server, tempfile.TemporaryDirectory() as folder:
        plan = judge_plan("r_1", folder, [JUDGE], {"only": route(server.url, max_concurrency=64)})
        runner = runner_for(plan)
        marks = []
        started = time.perf_counter()
        for start in range(0, judgments, block_rows):
            rows = [
                replace(row, trajectory_uid=f"u{start + number}", output=f"{start + number} " + "word " * 10_000)
                for number, row in enumerate(trajectories(block_rows))
            ]
            graded = runner.grade(JUDGE, TrajectoryBatch.from_trajectories(rows), {})
            assert (graded.status == 0).all()
            if (start + block_rows) % 10_000 == 0:
                marks.append(_resident_mb())
                print(f"memory: {start + block_rows:>7} judgments, {marks[-1]:.0f} MB resident", flush=True)
        print(
            f"memory: {time.perf_counter() - started:.0f} s; growth after the first mark {marks[-1] - marks[0]:+.0f} MB"
        )
        close_runners()


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["throughput", "pace", "memory"]
    if "throughput" in chosen:
        throughput()
    if "pace" in chosen:
        pace(1)
        pace(2)
    if "memory" in chosen:
        memory()
