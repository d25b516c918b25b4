"""`gradebeam check`: everything that can be known of a suite without its input."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from graders.configured import ConfiguredGrader
from graders.judges.routing import used_routes
from pipelines.cli.exit_codes import BAD_USAGE, DONE
from pipelines.preflight import format_problems
from pipelines.suite_file import LoadedSuite, SuiteError, line_of, load_suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("suites", nargs="+", metavar="SUITE", help="suite files (YAML or JSON)")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also say how each grader will work: a pattern's tier, and why"
    )


def execute(options: argparse.Namespace) -> int:
    """Print every problem and warning with its line; 2 when a suite can't be run (warnings refuse nothing)."""
    code = DONE
    for path in options.suites:
        try:
            _report(path, options.verbose)
        except SuiteError as error:
            print("\n".join(error.rendered()), file=sys.stderr)
            code = BAD_USAGE
    return code


def _report(path: str, verbose: bool) -> None:
    loaded = _loaded(path)
    root, _ = _parsed(path)
    for warning in loaded.warnings:
        print(f"{path}:{line_of(root, warning.path)}: warning: {warning}")
    count = len(loaded.graders)
    print(f"{path}: ok, {count} grader{'s' if count != 1 else ''}")
    if budgets := budgets_of(loaded):
        print(
            f"{path}: note: {', '.join(budgets)}: on one machine, kept over all executions of a run; on Flink and Dataflow each worker "
            "has its share, and one that is started anew, or the run's next execution, begins with its whole share"
        )
    if verbose:
        for grader in loaded.graders:
            print("\n".join(_explained(grader)))


def budgets_of(loaded: LoadedSuite) -> list[str]:
    """The budgets for judges that a suite sets, as paths."""
    places: list[tuple[str, Any]] = [("limits", loaded.suite.limits)]
    places += [(f"routes.{name}", route) for name, route in used_routes(loaded.graders, loaded.suite.routes).items()]
    return [
        f"{place}.{name}"
        for place, config in places
        for name in ("max_calls", "max_cost_usd")
        if getattr(config, name) is not None
    ]


def _loaded(path: str) -> LoadedSuite:
    """The suite.

    Raises:
        SuiteError: with all its problems, those of the input's format included.
    """
    loaded = None
    error = SuiteError([], [], path)
    try:
        loaded = load_suite(path)
    except SuiteError as found:
        error = found
    try:
        root, document = _parsed(path)
    except (OSError, ValueError, yaml.YAMLError):
        raise error from None
    config = document.get("input") if isinstance(document, dict) else None
    problems = format_problems(config.get("format", "auto"), config.get("fields")) if isinstance(config, dict) else []
    if loaded is None or problems:
        lines = [line_of(root, problem.path) for problem in problems]
        raise SuiteError([*error.problems, *problems], [*error.lines, *lines], path)
    return loaded


def _parsed(path: str) -> tuple[Any, Any]:
    text = Path(path).read_text(encoding="utf-8-sig")
    return yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)


def _explained(grader: ConfiguredGrader) -> list[str]:
    head = f"  {grader.name}: {grader.type} {grader.grader_hash}"
    if grader.profile:
        head += f" (written for {grader.profile})"
    return [head, *(f"    {line}" for line in grader.grader.explain())]
