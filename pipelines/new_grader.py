"""`gradebeam new-grader NAME`: a package with one grader, found by its entry point, and a test that passes at once."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from graders.errors import ConfigError
from graders.registry import ENTRY_POINT_GROUP, grader_types

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST_NAME = 60

_GRADER = Template('''\
"""`$name`: passes when the output holds the phrase."""

from graders.grader import GraderConfig, RowGrader
from schemas.score import ErrorType, Score, error, verdict
from schemas.trajectory import Trajectory


class ${cls}Config(GraderConfig):
    """What a suite may say of this grader: every field is checked when the suite loads."""

    phrase: str


class $cls(RowGrader[${cls}Config]):
    """Called once a trajectory. An exception here is an error of that row alone."""

    type = "$name"
    config_model = ${cls}Config
    example = {"phrase": "thank you"}

    def grade_row(self, trajectory: Trajectory) -> Score:
        if trajectory.output is None:
            return error(ErrorType.MISSING_OUTPUT, "the trajectory has no output")
        found = self.config.phrase in trajectory.output
        return verdict(found, "the phrase is there" if found else "the phrase is missing")
''')

_TEST = Template('''\
"""Tests of `$name`: run `pytest` in this folder."""

import pytest
from $module import $cls, ${cls}Config

from graders.trajectory_batch import TrajectoryBatch
from schemas.score import Status
from schemas.trajectory import Trajectory


@pytest.mark.parametrize(
    ("output", "status"),
    [("thank you, done", Status.PASS), ("done", Status.FAIL), (None, Status.ERROR)],
)
def test_status(output: str | None, status: Status) -> None:
    grader = $cls(${cls}Config(phrase="thank you"))
    batch = TrajectoryBatch.from_trajectories([Trajectory(output=output)])
    (score,) = grader.grade_batch(batch).to_scores()
    assert score.status is status
''')

_PROJECT = Template("""\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "gradebeam-$name"
version = "0.1.0"
description = "The GradeBeam grader $name"
requires-python = ">=3.10"
dependencies = ["gradebeam"]

[project.entry-points."$group"]
$name = "$module"

[tool.setuptools]
py-modules = ["$module"]

[tool.pytest.ini_options]
pythonpath = ["."]
""")


def new_grader(name: str, folder: Path) -> list[Path]:
    """Write the package `<folder>/<name>` and give the paths of its files: the grader, its test and its project file.

    Once installed (`pip install -e <folder>/<name>`), suites can say `type: <name>`; without installing, `plugins:
    [<module>]` works where the module can be imported.

    Raises:
        ConfigError: the name is not kebab-case, is a type already, or the package's folder exists.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ConfigError(f'"{name}" is no name for a grader: use kebab-case, such as "polite-closing"')
    if name in grader_types():
        raise ConfigError(f'"{name}" is a grader type already')
    package = folder / name
    if package.exists():
        raise ConfigError(f"{package} exists already")
    module = name.replace("-", "_") + "_grader"
    words = {
        "name": name,
        "module": module,
        "cls": "".join(part.capitalize() for part in name.split("-")),
        "group": ENTRY_POINT_GROUP,
    }
    package.mkdir(parents=True)
    texts = {f"{module}.py": _GRADER, f"test_{module}.py": _TEST, "pyproject.toml": _PROJECT}
    paths = []
    for file_name, template in texts.items():
        path = package / file_name
        path.write_text(template.substitute(words), encoding="utf-8")
        paths.append(path)
    return paths
