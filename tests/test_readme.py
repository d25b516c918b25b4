"""The README's commands, suites, SQL and Python run as they stand, and its tables say what the code says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from graders.registry import grader_types
from pipelines.cli.exit_codes import BAD_USAGE
from pipelines.cli.main import VERBS, main
from pipelines.sql import Session
from pipelines.suite_file import load_suite
from tests.readme_tables import README, code_blocks, rewritten

ROOT = README.parent
TEXT = README.read_text(encoding="utf-8")
COMMANDS = [line[2:] for block in code_blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with the examples and one committed run in `graded`."""
    working = tmp_path_factory.mktemp("a working folder")
    (working / "examples").symlink_to(ROOT / "examples")
    arguments = ["run", str(ROOT / "examples/support.yaml"), "--output", str(working / "graded"), "--quiet"]
    assert main(arguments) == 0
    return working


def test_the_tables_are_those_of_the_code() -> None:
    assert rewritten(TEXT) == TEXT, "python -m tests.readme_tables"


def test_there_are_commands_to_test() -> None:
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize("command", [each for each in COMMANDS if not set(each) & set("<>|")])
def test_a_command(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    program, *arguments = shlex.split(command)
    assert program == "gradebeam"
    assert main(arguments) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", [each for each in COMMANDS if set(each) & set("<>|")])
def test_a_command_of_the_shell(command: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("query", list(code_blocks("sql")))
def test_a_query(query: str, folder: Path) -> None:
    assert list(Session(str(folder / "graded")).query(query).rows())


@pytest.mark.parametrize("block", list(code_blocks("yaml")))
def test_a_suite(block: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(block, encoding="utf-8")
    assert load_suite(str(path)).graders


@pytest.mark.parametrize("block", list(code_blocks("python")))
def test_python(block: str) -> None:
    exec(compile(block, str(README), "exec"), {"__name__": "readme"})


def test_every_make_target_that_is_named_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)[`\s]", TEXT)) - {"of"} <= targets


def test_every_grader_that_is_named_is_there() -> None:
    section = TEXT.split("### What other evaluation systems do")[1].split("### Aludel's view")[0]
    named = {
        word
        for cell in re.findall(r"\| ([^|]*) \|$", section, re.MULTILINE)
        for word in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", cell)
    }
    assert len(named) > 30
    assert named <= grader_types().keys()


def test_every_verb_is_in_the_readme() -> None:
    assert {verb for verb in VERBS if f"gradebeam {verb}" in TEXT} == set(VERBS)


def test_the_demos_figures_are_those_of_the_examples(folder: Path) -> None:
    shown = re.findall(r"^([a-z-]+) +([0-9.]+)% .*?% +([0-9]+) +([0-9]+) ", TEXT, re.MULTILINE)
    assert [row[0] for row in shown] == ["no-refusal", "refund-arguments"]
    query = "SELECT round(100 * avg(passed::INT), 1), count(passed), count(*) FILTER (WHERE NOT passed) FROM scores WHERE grader_name = '{}'"
    for name, rate, n, failed in shown:
        (row,) = Session(str(folder / "graded")).query(query.format(name)).rows()
        assert row == (float(rate), int(n), int(failed))


def test_the_exit_codes_that_are_named() -> None:
    assert f"· {BAD_USAGE} bad usage or configuration" in TEXT
