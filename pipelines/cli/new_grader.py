"""`gradebeam new-grader`: a package with a grader of one's own, and its test."""

from __future__ import annotations

import argparse
from pathlib import Path

from pipelines.cli.exit_codes import DONE
from pipelines.new_grader import new_grader


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("name", help="the grader's type, in kebab-case (polite-closing)")
    parser.add_argument("--folder", default=".", help="where the package's folder is made (default: here)")


def execute(options: argparse.Namespace) -> int:
    """Write the package and say what to do with it; 2 for a name that can't be used."""
    paths = new_grader(options.name, Path(options.folder))
    for path in paths:
        print(path)
    package = paths[0].parent
    print(f"\nTry it:  pytest {package}")
    print(f"Use it:  pip install -e {package}, then `type: {options.name}` in any suite")
    return DONE
