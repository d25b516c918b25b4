"""A judge endpoint in its own process for benchmarks: `python -m tests.benchmarks.judge_endpoint MEDIAN_SECONDS SIGMA SEED`.

Answers well after a log-normal latency. Prints its URL; on a line of input prints its counts as JSON and goes on.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path
from typing import Any

from tests.graders.judges.fault_server import GOOD, FaultServer, Response, Seen, completion


class Endpoint:
    """A running endpoint. `counts()` asks it what it has seen."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def counts(self) -> dict[str, Any]:
        """`calls`, `latency` (sum of seconds), `most_in_flight`, `most_in_a_minute`, `first` and `last` arrival."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        counts: dict[str, Any] = json.loads(self._line())
        return counts

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def endpoint(median: float, sigma: float = 0.5, seed: int = 1) -> Iterator[Endpoint]:
    """An endpoint in its own process."""
    command = [sys.executable, "-m", "tests.benchmarks.judge_endpoint", str(median), str(sigma), str(seed)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    try:
        yield Endpoint(process)
    finally:
        process.kill()
        process.wait()


def most_in_a_minute(times: list[float]) -> int:
    """The most arrivals in any 60 seconds."""
    most = start = 0
    for end, at in enumerate(times):
        while times[start] <= at - 60:
            start += 1
        most = max(most, end - start + 1)
    return most


def _serve(median: float, sigma: float, seed: int) -> None:
    draw = random.Random(seed)
    arrivals: list[float] = []
    latencies: list[float] = []

    def answer(seen: Seen) -> Response:
        arrivals.append(time.monotonic())
        latencies.append(draw.lognormvariate(log(median), sigma) if median else 0.0)
        return Response(body=completion(GOOD), delay=latencies[-1])

    server = FaultServer(answer)
    server.keep_requests = False
    with server:
        print(server.url, flush=True)
        for _ in sys.stdin:
            counts = {
                "calls": server.calls,
                "latency": sum(latencies),
                "most_in_flight": server.most_in_flight,
                "most_in_a_minute": most_in_a_minute(sorted(arrivals)),
                "first": min(arrivals, default=0.0),
                "last": max(arrivals, default=0.0),
            }
            print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    _serve(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
