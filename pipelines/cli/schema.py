"""`gradebeam schema`: a published JSON Schema."""

from __future__ import annotations

import argparse

import orjson

from pipelines.cli.exit_codes import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("contract", choices=("suite", "trajectory", "score"), help="which")


def execute(options: argparse.Namespace) -> int:
    """Print it."""
    from pipelines import json_schemas

    made = {
        "suite": json_schemas.suite_schema,
        "trajectory": json_schemas.trajectory_schema,
        "score": json_schemas.score_schema,
    }
    print(orjson.dumps(made[options.contract](), option=orjson.OPT_INDENT_2).decode())
    return DONE
