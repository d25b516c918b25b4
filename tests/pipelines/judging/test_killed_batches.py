"""`kill -9` of a process that judges by a provider's batches, wherever it stands: its reruns submit nothing twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.graders.judges.fault_server import FaultServer, Response, Seen
from tests.pipelines.judging.batch_provider import BatchProvider

QUESTIONS = 10
BATCHES = 4
FIELDS = {
    "mode": "batch",
    "batch": {"max_requests": 3, "poll_seconds": 0.01, "wait_seconds": 0.05},
    "prices": {"input": 2, "output": 10},
}
#: Requests by what they do.
MOMENTS: dict[str, Callable[[Seen], bool]] = {
    "listing": lambda seen: seen.method == "GET" and seen.path.split("?")[0] == "/v1/batches",
    "uploading": lambda seen: seen.path == "/v1/files",
    "creating": lambda seen: seen.method == "POST" and seen.path == "/v1/batches",
    "polling": lambda seen: seen.path.startswith("/v1/batches/"),
    "downloading": lambda seen: seen.path.endswith("/content"),
}


class Killing:
    """The provider, whose process of the moment dies when `dies(request)`: before the request has an effect, or before its reply."""

    def __init__(self) -> None:
        self.provider = BatchProvider()
        self.dies: Callable[[Seen], bool] = lambda seen: False
        self.has_effect = True
        self.cuts = False
        self.process: subprocess.Popen[str] | None = None
        self.killed = 0

    def __call__(self, seen: Seen) -> Response:
        """The response to one request."""
        if self.process is None or not self.dies(seen):
            return self.provider(seen)
        process, self.process = self.process, None
        reply = self.provider(seen) if self.has_effect else Response(0)
        self.killed += 1
        process.kill()
        return Response(raw=reply.raw, cut=20) if self.cuts else Response(0)

    def execute(self, server: FaultServer, folder: Path) -> dict[str, Any] | None:
        """One execution of the run; what it printed, None where it was killed."""
        arguments = [server.url, str(folder), str(QUESTIONS), "embedded", json.dumps(FIELDS)]
        command = [sys.executable, "-m", "tests.pipelines.judging.judged_run", *arguments]
        self.process = process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
        )
        printed, _ = process.communicate(timeout=240)
        return json.loads(printed) if process.returncode == 0 else None

    def check(self, rows: dict[str, Any] | None) -> None:
        """Everything was judged, by exactly these batches."""
        assert rows is not None
        assert rows["pass"] == QUESTIONS
        assert list(self.provider.submitted.values()) == [1] * BATCHES
        assert len(self.provider.batches) == BATCHES
        assert self.provider.single_calls == 0


def _counted(kind: str, number: int) -> Callable[[Seen], bool]:
    seen_so_far = 0

    def dies(seen: Seen) -> bool:
        nonlocal seen_so_far
        seen_so_far += MOMENTS[kind](seen)
        return MOMENTS[kind](seen) and seen_so_far == number

    return dies


@pytest.mark.parametrize("has_effect", [True, False])
@pytest.mark.parametrize(("kind", "number"), [("listing", 1), ("uploading", 2), ("creating", 1), ("creating", 3)])
def test_a_submission_that_dies_is_continued(tmp_path: Path, kind: str, number: int, has_effect: bool) -> None:
    killing = Killing()
    killing.dies, killing.has_effect = _counted(kind, number), has_effect
    with FaultServer(killing) as server:
        assert killing.execute(server, tmp_path) is None
        assert killing.killed == 1
        assert killing.execute(server, tmp_path) == {"pending": BATCHES}
        killing.provider.finish()
        killing.check(killing.execute(server, tmp_path))


@pytest.mark.parametrize(("kind", "number"), [("polling", 1), ("downloading", 1), ("downloading", 4)])
def test_a_pickup_that_dies_is_continued(tmp_path: Path, kind: str, number: int) -> None:
    killing = Killing()
    with FaultServer(killing) as server:
        if kind == "downloading":
            assert killing.execute(server, tmp_path) == {"pending": BATCHES}
            killing.provider.finish()
        killing.dies, killing.cuts = _counted(kind, number), kind == "downloading"
        assert killing.execute(server, tmp_path) is None
        assert killing.killed == 1
        killing.provider.finish()
        killing.check(killing.execute(server, tmp_path))


@pytest.mark.parametrize("seed", range(2))
def test_a_run_that_dies_again_and_again_at_random_submits_nothing_twice(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    killing = Killing()
    rows: dict[str, Any] | None = None
    with FaultServer(killing) as server:
        for execution in range(12):
            left = draw.randrange(14) if execution < 6 else 10_000

            def dies(_: Seen) -> bool:
                nonlocal left
                left -= 1
                return left < 0

            killing.dies, killing.has_effect = dies, draw.random() < 0.7
            rows = killing.execute(server, tmp_path)
            if rows is not None and "pending" in rows:
                killing.provider.finish()
            elif rows is not None:
                break
    assert killing.killed >= 1
    killing.check(rows)
