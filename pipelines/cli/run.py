"""`gradebeam run`: grade logs and commit the scores."""

from __future__ import annotations

import argparse
import os
import sys

from pipelines.cli.exit_codes import BAD_USAGE, DONE, INTERRUPTED, OVER_ALLOWANCE
from pipelines.cli.tables import aligned
from pipelines.commit.committing import read_manifest
from pipelines.plan import RunPlan
from pipelines.progress import Progress
from pipelines.running import RunRequest, already_committed, make_plan
from pipelines.suite_file import SuiteError, load_suite
from pipelines.summary import facts, over_allowance, summary_rows
from schemas.manifest import Manifest
from schemas.suite import Allowance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("suite", help="the suite file (YAML)")
    parser.add_argument("--input", nargs="+", action="extend", default=[], metavar="GLOB", help="read these instead of the suite's input")
    parser.add_argument("--output", metavar="DIR", help="write the tables here instead of the suite's output.path")
    parser.add_argument("--run-id", metavar="ID", help="name of the run (default: a hash of suite, inputs and code)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--refresh-judges", action="store_true", help="ask judges again instead of using cached verdicts")
    parser.add_argument("beam", nargs="*", metavar="-- BEAM OPTIONS", help="options for Beam, after `--`")


def execute(options: argparse.Namespace) -> int:
    """Run; see `pipelines.cli.exit_codes`."""
    try:
        loaded = load_suite(options.suite)
    except SuiteError as error:
        print("\n".join(error.rendered()), file=sys.stderr)
        return BAD_USAGE
    from pipelines.local_runner import run_pipeline, runner_name

    request = RunRequest(tuple(options.input), options.output, options.run_id, options.refresh_judges)
    plan = make_plan(loaded, request, runner_name(options.beam))
    manifest = already_committed(plan)
    if manifest is not None:
        _say(options, f"run {plan.run_id} is committed already; nothing to do")
        _report(options, plan, manifest)
        return DONE
    try:
        with Progress(plan, options.quiet):
            run_pipeline(plan, options.beam)
    except KeyboardInterrupt:
        print("interrupted: nothing is committed; the same command goes on from the blocks that are done", file=sys.stderr)
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # the runner's threads would hold the process until their blocks are done
    except Exception:
        if already_committed(plan) is None:
            raise
        _say(options, f"run {plan.run_id} was committed by another process meanwhile")
    manifest = read_manifest(plan.output, plan.run_id)
    if manifest is None:
        raise RuntimeError(f"the pipeline ended without a commit of {plan.run_id}")
    return _report(options, plan, manifest)


def _report(options: argparse.Namespace, plan: RunPlan, manifest: Manifest) -> int:
    _say(options, aligned(*summary_rows(manifest)))
    for line in facts(manifest):
        _say(options, line)
    _say(options, f"run {manifest.run_id}, {manifest.wall_seconds:.1f} s, tables in {plan.output}")
    exceeding = over_allowance(manifest, Allowance.model_validate(manifest.suite.get("allow", {})))
    for line in exceeding:
        print(f"over the allowance: {line}", file=sys.stderr)
    return OVER_ALLOWANCE if exceeding else DONE


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print(text)
