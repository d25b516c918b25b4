"""The command `gradebeam`: one module a verb, imported only when it is called (most need no Beam, and start at once)."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from graders.errors import ConfigError
from pipelines.cli.exit_codes import BAD_USAGE

#: Verb → one line of help. Each is the module `pipelines.cli.<verb>` (dashes as underscores) with `add_arguments` and `execute`.
VERBS = {
    "run": "grade logs and commit the scores as Parquet tables",
    "check": "check a suite file: everything that can be known without input",
    "inspect": "say which format a file is taken for and why, and show its first trajectories",
    "sql": "query the committed runs of a folder with DuckDB",
    "grade": "grade JSON lines from standard input, one line a trajectory and grader",
    "graders": "list the grader types, or describe one",
    "schema": "print a published JSON Schema: suite, trajectory or score",
    "new-grader": "write a package with a grader of your own, and its test",
    "calibrate": "compare judges with human labels",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code (see `pipelines.cli.exit_codes`)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="gradebeam", description="Grade LLM agents' logs in bulk.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="verb", metavar="COMMAND")
    called = next((word for word in given if not word.startswith("-")), None)
    for verb, text in VERBS.items():
        command = commands.add_parser(verb, help=text, description=text[0].upper() + text[1:] + ".")
        if verb == called:
            importlib.import_module(f"pipelines.cli.{verb.replace('-', '_')}").add_arguments(command)
    options = parser.parse_args(given)
    if options.version:
        from pipelines.versions import code_version

        print(f"gradebeam {code_version()}")
        return 0
    if options.verb is None:
        parser.print_help()
        return BAD_USAGE
    try:
        return int(importlib.import_module(f"pipelines.cli.{options.verb.replace('-', '_')}").execute(options))
    except ConfigError as error:
        for problem in error.problems:
            print(f"gradebeam {options.verb}: {problem}", file=sys.stderr)
        return BAD_USAGE
    except BrokenPipeError:
        sys.stderr.close()
        return 0
