"""`gradebeam grade`: a filter from JSON lines to rows of `scores`, one line a trajectory and grader."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

import orjson

from pipelines.cli.exit_codes import DONE, GATE_FAILED, GATE_INCONCLUSIVE, OVER_ALLOWANCE
from pipelines.collection import kept_from_collection
from pipelines.filtering import GradedLines, LineGrader
from pipelines.line_stream import arriving_lines
from pipelines.suite_file import load_suite
from schemas.score import Status
from schemas.suite import Allowance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("--suite", required=True, help="the suite file; of its input, only format and fields count")
    parser.add_argument(
        "--require-pass",
        action="store_true",
        help="exit with 10 when a trajectory's overall verdict is a fail, with 11 when one has none for an error",
    )


def execute(options: argparse.Namespace) -> int:
    """Grade standard input to its end; verdicts alone never change the exit code unless they are required to pass.

    A line that is no trajectory goes to standard error, as one JSON object with its place and reason. As in a run, rejects
    or errors beyond the suite's allowance are exit code 12.
    """
    with kept_from_collection():
        loaded = load_suite(options.suite)
        line_grader = LineGrader(loaded)
    tally = _Tally()
    with line_grader as grader:
        for arrived in arriving_lines(sys.stdin.fileno(), loaded.suite.input.max_record_bytes):
            graded = grader.grade(arrived.lines, arrived.oversize)
            tally.add(graded)
            _write(graded)
    if options.require_pass:
        if tally.verdicts[Status.FAIL]:
            return GATE_FAILED
        if tally.verdicts[Status.ERROR] or tally.rejects:
            return GATE_INCONCLUSIVE
    exceeding = tally.exceeding(loaded.suite.allow)
    for line in exceeding:
        print(f"over the allowance: {line}", file=sys.stderr)
    return OVER_ALLOWANCE if exceeding else DONE


class _Tally:
    """What has gone by so far."""

    def __init__(self) -> None:
        self.records = self.rejects = 0
        self.verdicts: Counter[Status] = Counter()
        self._rows: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()

    def add(self, graded: GradedLines) -> None:
        self.records += graded.records
        self.rejects += len(graded.rejects)
        self.verdicts.update(graded.verdicts)
        self._rows.update(row["grader_name"] for row in graded.rows)
        self._errors.update(row["grader_name"] for row in graded.rows if row["status"] == Status.ERROR.value)

    def exceeding(self, allow: Allowance) -> list[str]:
        found = []
        if self.records and self.rejects / self.records > allow.rejects:
            found.append(
                f"{self.rejects:,} of {self.records:,} records were rejected, more than allow.rejects = {allow.rejects:g}"
            )
        for name, errors in sorted(self._errors.items()):
            total = self._rows[name]
            if errors / total > allow.errors:
                found.append(
                    f'"{name}" could not grade {errors:,} of {total:,}, more than allow.errors = {allow.errors:g}'
                )
        return found


def _write(graded: GradedLines) -> None:
    for reject in graded.rejects:
        print(orjson.dumps(asdict(reject)).decode(), file=sys.stderr)
    sys.stdout.write("".join(_json(row) + "\n" for row in graded.rows))
    sys.stdout.flush()


def _json(row: dict[str, Any]) -> str:
    return orjson.dumps(row, default=str).decode()
