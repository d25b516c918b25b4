import configparser
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from graders.grading import grade
from graders.trajectory_batch import TrajectoryBatch
from pipelines.new_grader import new_grader
from schemas.trajectory import Trajectory

ROOT = Path(__file__).resolve().parents[2]
ENTRY = {"type": "polite-closing", "phrase": "thank you"}
EVALUATE = f"from graders import evaluate; print(evaluate({ENTRY}, {{'output': 'thank you'}}).status.value)"


def run(folder: Path, *command: str) -> str:
    """What a Python in the new package's folder prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_test_passes_at_once(tmp_path: Path) -> None:
    paths = new_grader("polite-closing", tmp_path)
    assert sorted(path.name for path in paths) == [
        "polite_closing_grader.py",
        "pyproject.toml",
        "test_polite_closing_grader.py",
    ]
    assert "3 passed" in run(tmp_path / "polite-closing", "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_a_suite_finds_it_as_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_grader("polite-closing", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "polite-closing"))
    configured = configure(ENTRY, plugins=("polite_closing_grader",))
    batch = TrajectoryBatch.from_trajectories([Trajectory(output="thank you"), Trajectory(output="bye"), Trajectory()])
    assert [score.status.value for score in grade(configured, batch, {})[0].to_scores()] == ["pass", "fail", "error"]


def test_an_installed_package_is_found_by_its_entry_point(tmp_path: Path) -> None:
    new_grader("polite-closing", tmp_path)
    package = tmp_path / "polite-closing"
    project = configparser.ConfigParser(allow_no_value=True)
    project.read_string((package / "pyproject.toml").read_text())
    (entry,) = project['project.entry-points."gradebeam.graders"'].items()
    name, module = (part.strip('"') for part in entry)
    installed = package / "gradebeam_polite_closing-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: gradebeam-polite-closing\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text(f"[gradebeam.graders]\n{name} = {module}\n")
    assert run(package, "-c", EVALUATE).strip() == "pass"


@pytest.mark.parametrize("name", ["", "Polite", "polite_closing", "-a", "a-", "1a", "a" * 61, "../x", "json-field"])
def test_refuses_a_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"name|type"):
        new_grader(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_refuses_to_write_over_something(tmp_path: Path) -> None:
    (tmp_path / "polite-closing").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        new_grader("polite-closing", tmp_path)
