from __future__ import annotations

from pathlib import Path

from tests.pipelines.cli.conftest import Command


def test_writes_a_package_and_says_what_to_do_with_it(gradebeam: Command, tmp_path: Path) -> None:
    code, out, _ = gradebeam("new-grader", "polite-closing", "--folder", tmp_path)
    assert code == 0
    package = tmp_path / "polite-closing"
    assert sorted(path.name for path in package.iterdir()) == [
        "polite_closing_grader.py",
        "pyproject.toml",
        "test_polite_closing_grader.py",
    ]
    assert f"pip install -e {package}" in out


def test_a_name_that_cannot_be_is_exit_2(gradebeam: Command, tmp_path: Path) -> None:
    code, _, err = gradebeam("new-grader", "regex", "--folder", tmp_path)
    assert code == 2
    assert err == 'gradebeam new-grader: "regex" is a grader type already\n'
