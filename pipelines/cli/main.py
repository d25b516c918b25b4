"""The command `gradebeam`: one module a verb, imported only when it is called (most need no Beam, and start at once)."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from graders.errors import ConfigError, nearest
from pipelines.cli.exit_codes import BAD_USAGE, DONE, INTERRUPTED
from pipelines.collection import kept_from_collection

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


def command() -> NoReturn:
    """The process `gradebeam`: `main` with what only a process of its own may do to start and end sooner."""
    os.environ.setdefault(
        "PYDANTIC_DISABLE_PLUGINS", "__all__"
    )  # pydantic reads the metadata of every installed package for them
    _open_standard_streams()
    codes: list[int] = []
    atexit.register(_leave, codes)  # first registered, last called
    codes.append(main())
    sys.exit(codes[0])


def _open_standard_streams() -> None:
    """Put the null device where a standard stream is closed: files would be opened in its place, and printing would fail."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))  # noqa: SIM115 - for good


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code (see `pipelines.cli.exit_codes`)."""
    given, beam_options = _parted(list(sys.argv[1:] if arguments is None else arguments))
    called = next((word for word in given if not word.startswith("-")), None)
    if called is not None and called not in VERBS:
        suggestion = nearest(called, VERBS) or f"there are {', '.join(VERBS)}"
        print(f'gradebeam: there is no command "{called}" ({suggestion})', file=sys.stderr)
        return BAD_USAGE
    with kept_from_collection():
        parser = _parser(called)
    options, left = parser.parse_known_args(given)
    if len(left) == 1 and getattr(options, "query", "") is None and not left[0].startswith("-"):
        options.query = left.pop()  # argparse gives up on an optional positional at the first option
    if left:
        parser.error(f"unknown arguments: {' '.join(left)}")
    options.beam = beam_options
    if options.version:
        from pipelines.versions import code_version

        print(f"gradebeam {code_version()}")
        return DONE
    if options.verb is None:
        parser.print_help()
        return BAD_USAGE
    try:
        code = int(_module(options.verb).execute(options))
        sys.stdout.flush()
        return code
    except ConfigError as error:
        print("\n".join(_lines(error, options.verb)), file=sys.stderr)
        return BAD_USAGE
    except (
        BrokenPipeError
    ):  # the reader has had enough (`| head`); what is left unwritten must not be tried again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED


def _leave(codes: Sequence[int]) -> None:
    """End the process when everything else has had its turn: to take the interpreter's modules apart one by one takes long, and helps nobody."""
    if codes:
        with contextlib.suppress(OSError, ValueError):  # output that can't be written is for the interpreter to tell of
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(codes[0])


def _lines(error: ConfigError, verb: str) -> list[str]:
    from pipelines.suite_file import SuiteError

    if isinstance(error, SuiteError):
        return error.rendered()
    return [f"gradebeam {verb}: {problem}" for problem in error.problems]


def _parted(given: list[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and what stands after `--` for Beam. Only `run` passes options on."""
    if "--" not in given or given[0] != "run":
        return given, []
    cut = given.index("--")
    return given[:cut], given[cut + 1 :]


def _parser(called: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gradebeam", description="Grade LLM agents' logs in bulk.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="verb", metavar="COMMAND")
    for verb, text in VERBS.items():
        command = commands.add_parser(verb, help=text, description=text[0].upper() + text[1:] + ".")
        if verb == called:
            _module(verb).add_arguments(command)
    return parser


def _module(verb: str) -> Any:
    return importlib.import_module(f"pipelines.cli.{verb.replace('-', '_')}")
