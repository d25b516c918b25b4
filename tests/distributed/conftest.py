"""Engines that have to be fetched are tested by `make test-distributed` only; what was not to be had is said at the end."""

from __future__ import annotations

import os
from typing import Any

from tests.distributed.running import missing

WANTED = os.environ.get("GRADEBEAM_DISTRIBUTED") == "1"
_ENGINES = {"prism": "Prism", "flink": "Flink", "fake-gcs-server": "Google Cloud Storage", "spark": "Spark"}

collect_ignore_glob = (
    [] if WANTED else ["test_engines.py", "test_lost_worker.py", "test_google_store.py", "test_spark.py"]
)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say loudly what did not run."""
    if WANTED:
        for name, title in _ENGINES.items():
            problem = missing(name)
            if problem is not None:
                terminalreporter.write_line(f"{title} NOT RUN: {problem}", red=True, bold=True)
