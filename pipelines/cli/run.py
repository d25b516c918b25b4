"""`gradebeam run`: grade logs and commit the scores."""

from __future__ import annotations

import argparse
import os
import sys
import traceback

from graders.judges import JudgeGrader
from graders.judges.estimate import Estimate
from pipelines import storage
from pipelines.cli.exit_codes import (
    BAD_USAGE,
    DONE,
    INTERNAL_FAILURE,
    INTERRUPTED,
    OVER_ALLOWANCE,
    WAITING_FOR_BATCH,
)
from pipelines.cli.tables import print_table
from pipelines.collection import kept_from_collection
from pipelines.commit.committing import clean_up, read_manifest
from pipelines.memory import keep_memory
from pipelines.plan import RunPlan
from pipelines.preflight import check_access
from pipelines.progress import Progress
from pipelines.quick_beam import load_beam
from pipelines.running import RunRequest, already_committed, make_plan, places
from pipelines.suite_file import SuiteError, load_suite
from pipelines.summary import facts, over_allowance, summary_rows
from schemas.manifest import Manifest
from schemas.suite import Allowance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("suite", help="the suite file (YAML)")
    parser.add_argument(
        "--input",
        nargs="+",
        action="extend",
        default=[],
        metavar="GLOB",
        help="read these instead of the suite's input",
    )
    parser.add_argument("--output", metavar="DIR", help="write the tables here instead of the suite's output.path")
    parser.add_argument("--run-id", metavar="ID", help="name of the run (default: a hash of suite, inputs and code)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument(
        "--refresh-judges", action="store_true", help="ask judges again instead of using cached verdicts"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="where the run is committed: once more, under the next free run id; judges are asked only what they failed to answer",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what the judges would take, in calls, tokens and dollars; ask nothing",
    )
    parser.usage = f"{parser.prog} SUITE [options] [-- Beam options]"


def execute(options: argparse.Namespace) -> int:
    """Run; see `pipelines.cli.exit_codes`."""
    try:
        with kept_from_collection():
            loaded = load_suite(options.suite)
    except SuiteError as error:
        print("\n".join(error.rendered()), file=sys.stderr)
        return BAD_USAGE
    keep_memory()  # before there are threads, for each new one would take an arena of its own
    with kept_from_collection():
        load_beam(local=not options.beam)
        from pipelines.runners import choose_runner, run_pipeline

    request = RunRequest(tuple(options.input), options.output, options.run_id, options.refresh_judges, options.again)
    runner = choose_runner(options.beam)
    runner.check(places(loaded, request))
    plan = make_plan(loaded, request, runner.name, shares_disk=runner.shares_disk, processes=runner.most_processes)
    if options.dry_run:
        return _estimate(plan)
    manifest = already_committed(plan)
    if manifest is not None:
        _say(options, f"run {plan.run_id} is committed already; nothing to do")
        _report(options, plan, manifest)
        return DONE
    check_access(plan)
    try:
        with Progress(plan, options.quiet):
            run_pipeline(plan, runner)
    except KeyboardInterrupt:
        print(
            "interrupted: nothing is committed; the same command goes on from the blocks that are done", file=sys.stderr
        )
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # the runner's threads would hold the process until their blocks are done
    except Exception as error:
        winner = already_committed(plan)
        if winner is None:
            traceback.print_exc()
            print(_failure(error), file=sys.stderr)
            return INTERNAL_FAILURE
        clean_up(plan, winner)
        _say(options, f"run {plan.run_id} was committed by another process meanwhile ({type(error).__name__} here)")
    manifest = read_manifest(plan.output, plan.run_id)
    if manifest is None and not runner.waits:
        _say(options, f"run {plan.run_id} is handed to {runner.name}; it is committed when {plan.commit_uri} is there")
        return DONE
    if manifest is None and storage.exists(plan.waiting_uri):
        _say(options, "waiting for the provider's batches: run the same command again later")
        return WAITING_FOR_BATCH
    if manifest is None:
        raise RuntimeError(f"the pipeline ended without a commit of {plan.run_id}")
    return _report(options, plan, manifest)


def _estimate(plan: RunPlan) -> int:
    from pipelines.dry_run import estimate

    estimator = estimate(plan)
    rows = [[name, *_figures(one)] for name, one in estimator.by_grader.items()]
    print_table(
        ["judge", "judgments", "questions", "cached", "input tokens", "output tokens at most", "USD", "USD at worst"],
        [*rows, ["all", *_figures(estimator.total)]],
    )
    return DONE


def _figures(estimated: Estimate) -> list[str]:
    counts = (
        estimated.judgments,
        estimated.requests,
        estimated.cached,
        estimated.input_tokens,
        estimated.max_output_tokens,
    )
    costs = (estimated.cost_usd, estimated.worst_cost_usd)
    return [*(f"{count:,}" for count in counts), *("unknown" if cost is None else f"{cost:.6f}" for cost in costs)]


def _report(options: argparse.Namespace, plan: RunPlan, manifest: Manifest) -> int:
    if not options.quiet:
        print_table(*summary_rows(manifest))
    for line in facts(manifest):
        _say(options, line)
    _say(options, f"run {manifest.run_id}, {manifest.wall_seconds:.1f} s, tables in {plan.output}")
    exceeding = over_allowance(manifest, Allowance.model_validate(manifest.suite.get("allow", {})))
    for line in exceeding:
        print(f"over the allowance: {line}", file=sys.stderr)
    judges = [grader.name for grader in plan.graders if isinstance(grader.grader, JudgeGrader)]
    failed = sum(manifest.graders[name].counts.get("error", 0) for name in judges if name in manifest.graders)
    if failed and exceeding:
        print(_ask_again(failed), file=sys.stderr)
    elif failed:
        _say(options, _ask_again(failed))
    return OVER_ALLOWANCE if exceeding else DONE


def _ask_again(failed: int) -> str:
    return (
        f"judges could not answer {failed:,} times: the same command with --again asks those questions again, and no others "
        "(a new run; the answers there are cost nothing)"
    )


def _failure(error: BaseException) -> str:
    """The last word on a failed pipeline: runners wrap the fault in pages of their own frames."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (
        f"gradebeam run: failed: {lines[-1].strip()}\n"
        "nothing is committed; the same command goes on from the blocks that are done"
    )


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print(text)
