"""`gradebeam calibrate`: judges against human labels."""

from __future__ import annotations

import argparse

import orjson

from pipelines.calibration import calibrate
from pipelines.cli.exit_codes import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("folder", help="the folder that `gradebeam run` wrote to")
    parser.add_argument(
        "labels",
        help="CSV with the columns trajectory_id (or trajectory_uid), label (pass or fail) and, where labels differ by judge, grader",
    )
    parser.add_argument("--run", metavar="ID", help="this run instead of the latest one")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(options: argparse.Namespace) -> int:
    """Print how each judge agrees with the labels; 2 for labels or runs that can't be used."""
    report = calibrate(options.folder, options.labels, options.run)
    if options.json:
        print(orjson.dumps(report.to_json(), option=orjson.OPT_INDENT_2).decode())
    else:
        print(report.to_text())
    return DONE
