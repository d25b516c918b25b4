"""What the tests of the command share: calling it in this process, and one committed run of the examples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"

#: (exit code, standard output, standard error).
Called = tuple[int, str, str]
Command = Callable[..., Called]


@pytest.fixture
def gradebeam(capfd: pytest.CaptureFixture[str]) -> Command:
    """The command, called in this process."""

    def call(*arguments: Any) -> Called:
        capfd.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the committed runs of two example suites."""
    folder = tmp_path_factory.mktemp("graded")
    for name in ("tickets", "support"):
        code = main(["run", str(EXAMPLES / f"{name}.yaml"), "--output", str(folder), "--run-id", name, "--quiet"])
        assert code == 0
    return folder


@pytest.fixture
def suite_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a suite file and gives its path."""

    def write(text: str) -> Path:
        path = tmp_path / "suite.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
