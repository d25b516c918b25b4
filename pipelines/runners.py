"""Running a pipeline: Beam's local runner by default, any other by its options."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import (
    DebugOptions,
    DirectOptions,
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    StandardOptions,
    WorkerOptions,
)
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineResult, PipelineRunner

from pipelines.collection import kept_from_collection
from pipelines.forked_calls import can_fork
from pipelines.graph import BUSY_STEPS, GradeRun
from pipelines.local_runner import LocalRunner
from pipelines.plan import RunPlan
from pipelines.quick_beam import OLD_PYTHON, pickled_plainly
from pipelines.runner_options import LOCAL, check_runner, is_given, parsed_options, runner_name

#: The local runner's mode without gRPC: with several workers, each is a thread of this process. "multi_threading" is the same
#: through servers and channels, which take a quarter of a second to start and stop. Where nobody asks for a mode, the workers
#: are forks of this process instead, if they may be: `forks_workers`.
IN_PROCESS = "in_memory"


@dataclass(frozen=True)
class Runner:
    """A runner and its checked options."""

    name: str
    options: PipelineOptions
    mode_given: bool = False
    """Whether the user chose a mode of the local runner."""

    def forks_workers(self, plan: RunPlan) -> bool:
        """Whether the workers of a local run are forks of this process.

        A run with judges keeps to one process: limits, pace and budgets that it keeps to are then the whole run's.
        """
        return can_fork() and not self.mode_given and plan.judges is None

    @property
    def waits(self) -> bool:
        """Whether the launcher stays until the job is done. That of a template must not: there is no job yet, or not ours."""
        standard = self.options.view_as(StandardOptions)
        return not (standard.no_wait_until_finish or self.options.view_as(GoogleCloudOptions).template_location)

    @property
    def shares_disk(self) -> bool:
        """Whether all worker processes run on this machine."""
        portable = self.options.view_as(PortableOptions)
        return self.name in (LOCAL, "PrismRunner") or portable.environment_type == "LOOPBACK"

    @property
    def most_processes(self) -> int | None:
        """Most worker processes at once, None where the options do not say: limits of judges are divided by it."""
        if self.name == "DataflowRunner":
            workers = self.options.view_as(WorkerOptions)
            most = workers.max_num_workers or workers.num_workers
            if "no_use_multiple_sdk_containers" in (self.options.view_as(DebugOptions).experiments or []):
                return None if most is None else int(most)
            cores = (workers.machine_type or "").rpartition("-")[2]
            return int(most) * int(cores) if most and cores.isdigit() else None
        parallelism = self.options.view_as(FlinkRunnerOptions).parallelism
        return int(parallelism) if parallelism and parallelism > 0 else None

    def check(self, places: Sequence[str]) -> None:
        """Whether the runner has all that it needs for a run that reads from and writes to some places (paths, globs, URIs).

        Raises:
            ConfigError: naming everything that it lacks.
        """
        check_runner(self.options, places)


def choose_runner(beam_arguments: Sequence[str]) -> Runner:
    """The runner that the words after `--` name, with our defaults.

    They are a worker a core locally, no pickled main session, and workers that log what is wrong, not what they do.
    From here on this process reads stores with the same options: inputs are matched and commits looked up before the pipeline starts.

    Raises:
        ConfigError: an option that Beam does not know, or a value that is none.
    """
    options = parsed_options(beam_arguments)
    options.view_as(SetupOptions).save_main_session = False
    direct = options.view_as(DirectOptions)
    mode_given = is_given(beam_arguments, "--direct_running_mode")
    if not mode_given:
        direct.direct_running_mode = IN_PROCESS
    if not is_given(beam_arguments, "--direct_num_workers"):
        direct.direct_num_workers = os.cpu_count() or 1
    if not is_given(beam_arguments, "--default_sdk_harness_log_level"):
        options.view_as(WorkerOptions).default_sdk_harness_log_level = "WARNING"
    FileSystems.set_options(options)
    return Runner(runner_name(options), options, mode_given)


def run_pipeline(plan: RunPlan, runner: Runner) -> None:
    """Run the graph, to its end where the runner waits. The commit is the graph's last step: nobody has to stay for it."""
    result = start(plan, runner)
    if runner.waits:
        result.wait_until_finish()


def start(plan: RunPlan, runner: Runner) -> PipelineResult:
    """Build the graph and hand it to the runner."""
    mode = runner.options.view_as(DirectOptions).direct_running_mode if runner.name == LOCAL else None
    with ExitStack() as around:
        if mode == "multi_processing":
            around.enter_context(_quoted_executable())
            around.enter_context(_quiet_workers())
        elif mode == IN_PROCESS:
            around.enter_context(pickled_plainly())
        with kept_from_collection():
            pipeline = beam.Pipeline(_engine(runner, plan, mode), options=runner.options)
            pipeline | "GradeRun" >> GradeRun(plan)
        return pipeline.run()


def _engine(runner: Runner, plan: RunPlan, local_mode: str | None) -> PipelineRunner | str:
    if local_mode is None:
        return runner.name
    return LocalRunner(runner.forks_workers(plan), BUSY_STEPS) if local_mode == IN_PROCESS else FnApiRunner()


@contextmanager
def _quoted_executable() -> Iterator[None]:
    """The local runner puts `sys.executable` into a shell's command as it stands: a path with a space would start nothing, and hang."""
    unquoted = sys.executable
    sys.executable = shlex.quote(unquoted)
    try:
        yield
    finally:
        sys.executable = unquoted


@contextmanager
def _quiet_workers() -> Iterator[None]:
    """Worker processes load clients of services too, and these lament the age of the Python; what is of use to nobody is not printed."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [before, f"ignore:{OLD_PYTHON}:FutureWarning"]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before
