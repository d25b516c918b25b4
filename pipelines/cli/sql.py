"""`gradebeam sql`: DuckDB over the committed runs of a folder."""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from graders.errors import ConfigError
from pipelines import storage
from pipelines.cli.exit_codes import BAD_USAGE, DONE
from pipelines.cli.tables import print_table
from pipelines.sql import Result, Session

ENGINES = ("duckdb", "bigquery", "spark", "trino", "athena")
_MAX_TABLE_ROWS = 1_000
_MAX_CELL = 80
_HISTORY = "~/.gradebeam_sql_history"
_PROMPT_HELP = """\
Statements end with `;`. The views are scores, trajectories, graders, runs and rejects.
  .tables   the views and their columns
  .quit     leave (or Ctrl-D)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("folder", help="the folder that `gradebeam run` wrote to")
    parser.add_argument("query", nargs="?", help="the SQL; without it a prompt, or statements from standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", dest="form", action="store_const", const="csv", help="print CSV")
    form.add_argument("--json", dest="form", action="store_const", const="json", help="print a JSON array of objects")
    parser.add_argument(
        "--ddl", choices=ENGINES, metavar="ENGINE", help="print the views' definitions: " + ", ".join(ENGINES)
    )
    parser.set_defaults(form="table")


def execute(options: argparse.Namespace) -> int:
    """Query; 2 for wrong SQL."""
    if not storage.is_remote(options.folder) and not Path(options.folder).is_dir():
        raise ConfigError(f'there is no folder "{options.folder}"')
    if options.ddl:
        from pipelines.ddl import ddl

        print(ddl(options.ddl, options.folder))
        return DONE
    session = Session(options.folder)
    if not session.run_ids:
        print(f"no run is committed in {options.folder}: the views are empty", file=sys.stderr)
    if options.query is not None:
        return _run(session, options.query, options.form)
    if sys.stdin.isatty():
        _prompt(session, options.form)
        return DONE
    return _run(session, sys.stdin.read(), options.form)


def _run(session: Session, sql: str, form: str) -> int:
    import duckdb

    try:
        _print(session.query(sql), form)
    except duckdb.Error as error:
        print(f"gradebeam sql: {error}", file=sys.stderr)
        return BAD_USAGE
    return DONE


def _print(result: Result, form: str) -> None:
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows([_text(value, "") for value in row] for row in result.rows())
    elif form == "json":
        _print_json(result)
    elif result.columns:
        _print_aligned(result)


def _print_json(result: Result) -> None:
    names = _distinct(result.columns)
    separator = "["
    for row in result.rows():
        values = dict(zip(names, row, strict=True))
        print(
            separator, orjson.dumps(values, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode(), sep="\n", end=""
        )
        separator = ","
    print("\n]" if separator == "," else "[]")


def _print_aligned(result: Result) -> None:
    rows = result.rows()
    first = list(itertools.islice(rows, _MAX_TABLE_ROWS))
    numeric = [_numeric(row[i] for row in first) for i in range(len(result.columns))]
    print_table(result.columns, [[_cell(value) for value in row] for row in first], numeric)
    left = sum(1 for _ in rows)
    if left:
        print(f"({left:,} more rows: --csv and --json print all)")


def _prompt(session: Session, form: str) -> None:
    _use_history()
    print(f"{len(session.run_ids):,} committed runs. {_PROMPT_HELP}")
    statement = ""
    while True:
        try:
            line = input("gradebeam> " if not statement else "       ...> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            statement = ""
            continue
        if not statement and line.strip() in (".quit", ".exit", "quit", "exit"):
            return
        if not statement and line.strip().startswith("."):
            _dot_command(session, line.strip())
            continue
        statement += line + "\n"
        if statement.rstrip().endswith(";"):
            _run(session, statement, form)
            statement = ""


def _dot_command(session: Session, command: str) -> None:
    if command != ".tables":
        print(_PROMPT_HELP)
        return
    for name, columns in _views(session):
        print(f"{name}: {columns}")


def _views(session: Session) -> Iterator[tuple[str, str]]:
    for name in ("scores", "trajectories", "graders", "runs", "rejects"):
        described = session.query(f"DESCRIBE {name}")
        yield name, ", ".join(f"{row[0]} {row[1]}" for row in described.rows())


def _use_history() -> None:
    try:
        import readline
    except ImportError:  # Python without readline (Windows): plain lines
        return
    import atexit

    path = os.path.expanduser(_HISTORY)
    if os.path.exists(path):
        readline.read_history_file(path)
    readline.set_history_length(1_000)
    atexit.register(readline.write_history_file, path)


def _numeric(values: Iterable[Any]) -> bool:
    found = [value for value in values if value is not None]
    return bool(found) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in found
    )


def _cell(value: Any) -> str:
    text = " ".join(_text(value, "–").split())
    return text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"


def _text(value: Any, null: str) -> str:
    if value is None:
        return null
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, list | dict | tuple):
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _plain(value: Any) -> Any:
    """What JSON has no type for: decimals as numbers, all else as text."""
    if isinstance(value, Decimal):
        return float(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _distinct(names: list[str]) -> list[str]:
    """Names as keys of an object: a second `count` becomes `count_1`, so that no column is lost."""
    taken: set[str] = set()
    result = []
    for name in names:
        candidate, number = name, 0
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        result.append(candidate)
    return result
