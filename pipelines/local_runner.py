"""Running a pipeline: Beam's local runner by default, any other by its options."""

from __future__ import annotations

import os
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, SetupOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from pipelines.graph import GradeRun
from pipelines.plan import RunPlan

LOCAL = "FnApiRunner"
_LOCAL_NAMES = frozenset({LOCAL, "DirectRunner"})


def runner_name(beam_arguments: Sequence[str]) -> str:
    """The runner that the options name; the local one by default."""
    named = PipelineOptions(list(beam_arguments)).view_as(StandardOptions).runner
    return LOCAL if named is None or named in _LOCAL_NAMES else str(named)


def run_pipeline(plan: RunPlan, beam_arguments: Sequence[str]) -> None:
    """Run the graph to its end. The commit is its last step."""
    options = pipeline_options(beam_arguments)
    name = runner_name(beam_arguments)
    pipeline = beam.Pipeline(FnApiRunner() if name == LOCAL else name, options=options)
    pipeline | "GradeRun" >> GradeRun(plan)
    pipeline.run().wait_until_finish()


def pipeline_options(beam_arguments: Sequence[str]) -> PipelineOptions:
    """Options with our defaults: all cores locally, and no pickled main session."""
    options = PipelineOptions(list(beam_arguments))
    options.view_as(SetupOptions).save_main_session = False
    direct = options.view_as(DirectOptions)
    if not any(argument.startswith("--direct_running_mode") for argument in beam_arguments):
        direct.direct_running_mode = "multi_threading"
    if not any(argument.startswith("--direct_num_workers") for argument in beam_arguments):
        direct.direct_num_workers = os.cpu_count() or 1
    return options
