"""A worker that is killed in the middle of a run: the run, or its rerun, ends right."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.distributed.mixed_logs import write_mixed_logs, write_mixed_suite
from tests.distributed.running import (
    await_blocks,
    committed_rows,
    flink,
    missing,
    prism,
    run,
    same_rows,
    start,
    worker_pool,
)

_ENGINES = {name: options for name, options in {"prism": prism, "flink": flink}.items() if missing(name) is None}


@pytest.mark.parametrize("name", sorted(_ENGINES))
def test_no_row_is_lost_or_doubled_when_a_worker_is_killed(name: str, tmp_path: Path) -> None:
    write_mixed_logs(tmp_path / "logs", 6000, 30)
    suite = write_mixed_suite(tmp_path, "logs/*")
    beam = _ENGINES[name]()
    with worker_pool() as (environment, workers):
        process = start(suite, str(tmp_path / "out"), [*beam, *environment])
        finished = await_blocks(tmp_path / "out" / "_staging", 3, process)
        assert 3 <= finished < 30
        killed = workers()
        assert killed
        for worker in killed:
            os.kill(worker, signal.SIGKILL)
        process.wait(timeout=900)
        if process.returncode != 0:
            assert not (tmp_path / "out" / "_commits").exists()
            again = run(suite, str(tmp_path / "out"), [*beam, *environment])
            assert again.returncode == 0, again.stderr[-2000:]
    assert run(suite, str(tmp_path / "one"), ["--direct_running_mode=in_memory"]).returncode == 0
    assert same_rows(committed_rows(str(tmp_path / "out")), committed_rows(str(tmp_path / "one"))) == []
