"""One suite with every deterministic grader gives the same rows on every engine that can be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.distributed.mixed_logs import write_mixed_logs, write_mixed_suite
from tests.distributed.running import (
    committed_rows,
    embedded,
    flink,
    local,
    missing,
    prism,
    run,
    same_rows,
    worker_pool,
)

_LOOPBACK: dict[str, Callable[[], list[str]]] = {
    "multi_processing": local,
    "embedded": embedded,
    **({"prism": prism} if missing("prism") is None else {}),
    **({"flink": flink} if missing("flink") is None else {}),
}
_EXTERNAL = {name: _LOOPBACK[name] for name in ("prism", "flink") if name in _LOOPBACK}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, pa.Table]]:
    """A suite over mixed logs, and its rows in one process."""
    folder = tmp_path_factory.mktemp("mixed")
    write_mixed_logs(folder / "logs", 4000, 20)
    suite = write_mixed_suite(folder, "logs/*")
    done = run(suite, str(folder / "one"), ["--direct_running_mode=in_memory", "--direct_num_workers=1"])
    assert done.returncode == 0, done.stderr[-2000:]
    return suite, committed_rows(str(folder / "one"))


def test_the_mixed_logs_hold_what_they_should(mixed: tuple[Path, dict[str, pa.Table]]) -> None:
    rows = mixed[1]
    assert rows["scores"].num_rows > 100_000
    assert set(rows["trajectories"]["parse_status"].to_pylist()) == {"ok", "rejected", "duplicate"}
    assert rows["rejects"].num_rows > 10


@pytest.mark.parametrize("name", sorted(_LOOPBACK))
def test_rows_do_not_depend_on_the_engine(name: str, mixed: tuple[Path, dict[str, pa.Table]], tmp_path: Path) -> None:
    suite, expected = mixed
    done = run(suite, str(tmp_path / "out"), _LOOPBACK[name]())
    assert done.returncode == 0, done.stderr[-2000:]
    assert same_rows(committed_rows(str(tmp_path / "out")), expected) == []


@pytest.mark.parametrize("name", sorted(_EXTERNAL))
def test_rows_do_not_depend_on_where_workers_run(
    name: str, mixed: tuple[Path, dict[str, pa.Table]], tmp_path: Path
) -> None:
    suite, expected = mixed
    with worker_pool() as (environment, _):
        done = run(suite, str(tmp_path / "out"), [*_EXTERNAL[name](), *environment])
    assert done.returncode == 0, done.stderr[-2000:]
    assert same_rows(committed_rows(str(tmp_path / "out")), expected) == []
