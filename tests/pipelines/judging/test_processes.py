"""Judging processes that die, and several at once: nothing is paid for twice, no limit is broken."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.graders.judges.fault_server import GOOD, FaultServer, Response, Seen, completion

IN_FLIGHT = 64


def _start(
    server: FaultServer, folder: Path, count: int, kind: str, text: str = "answer", **fields: object
) -> subprocess.Popen[str]:
    arguments = [server.url, str(folder), str(count), kind, json.dumps({"max_concurrency": IN_FLIGHT, **fields}), text]
    command = [sys.executable, "-m", "tests.pipelines.judging.judged_run", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])


@pytest.mark.parametrize("kind", ["embedded", "distributed"])
def test_a_killed_run_repeats_no_more_than_what_was_in_flight(tmp_path: Path, kind: str) -> None:
    arrivals: list[float] = []

    def answer(seen: Seen) -> Response:
        arrivals.append(seen.at)
        return Response(body=completion(GOOD), delay=0.05)

    server = FaultServer(answer)
    server.keep_requests = False
    with server:
        first = _start(server, tmp_path, 2_000, kind)
        end = time.monotonic() + 120
        while server.calls < 900 and time.monotonic() < end:
            time.sleep(0.005)
        first.kill()
        first.wait()
        died = time.monotonic()
        before = server.calls
        assert 900 <= before < 2_000
        second = _start(server, tmp_path, 2_000, kind)
        result = json.loads(second.communicate(timeout=240)[0])
    unflushed = 0 if kind == "embedded" else sum(died - 2.0 <= at <= died for at in arrivals)
    assert result["pass"] == 2_000
    assert result["attempts"] == server.calls - before
    assert server.calls - 2_000 <= IN_FLIGHT + unflushed
    assert result["cached"] == 2_000 - result["attempts"]


def test_two_worker_processes_keep_one_pace_and_one_budget(tmp_path: Path) -> None:
    server = FaultServer(lambda seen: Response(body=completion(GOOD), delay=0.01))
    with server:
        limits = {"requests_per_minute": 1_800, "max_calls": 90}
        workers = [_start(server, tmp_path, 60, "embedded", text, **limits) for text in ("one", "two")]
        results = [json.loads(worker.communicate(timeout=120)[0]) for worker in workers]
    times = sorted(seen.at for seen in server.seen)
    assert len(times) == 90 == sum(result["attempts"] for result in results)
    assert sum(result["error"] for result in results if "error" in result) == 30
    assert times[-1] - times[0] >= (90 - 1) * 60 / 1_800 * 0.97


def test_two_worker_processes_keep_one_concurrency(tmp_path: Path) -> None:
    server = FaultServer(lambda seen: Response(body=completion(GOOD), delay=0.03))
    with server:
        workers = [_start(server, tmp_path, 60, "embedded", text, max_concurrency=6) for text in ("one", "two")]
        results = [json.loads(worker.communicate(timeout=120)[0]) for worker in workers]
    assert sum(result["pass"] for result in results) == 120
    assert server.most_in_flight <= 6
