"""Options for Beam, checked before anything starts: none misspelt, none that the runner needs and lacks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeVar

from apache_beam.options.pipeline_options import (
    DirectOptions,
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    PrismRunnerOptions,
    SetupOptions,
    StandardOptions,
    WorkerOptions,
    _BeamArgumentParser,
)

from graders.errors import ConfigError, Problem, nearest
from pipelines import object_stores
from pipelines.storage import is_remote

OptionsView = TypeVar("OptionsView", bound=PipelineOptions)

#: The default runner.
LOCAL = "FnApiRunner"
_LOCAL_NAMES = frozenset({LOCAL, "DirectRunner"})
_EMBEDDED = "embed"
_FLINK_STARTS_ITSELF = frozenset({"[local]", "[auto]"})

#: Options that Flink's job server knows and Beam for Python does not list (Beam's FlinkPipelineOptions, in snake case).
FLINK_JOB_SERVER_OPTIONS = (
    "allow_non_restored_state",
    "attached_mode",
    "auto_watermark_interval",
    "checkpoint_timeout_millis",
    "checkpointing_interval",
    "checkpointing_mode",
    "disable_metrics",
    "execution_mode_for_batch",
    "execution_retry_delay",
    "externalized_checkpoints_enabled",
    "fail_on_checkpointing_errors",
    "faster_copy",
    "finish_bundle_before_checkpointing",
    "flink_conf_dir",
    "latency_tracking_interval",
    "max_bundle_size",
    "max_bundle_time_mills",
    "min_pause_between_checkpoints",
    "num_concurrent_checkpoints",
    "number_of_execution_retries",
    "object_reuse",
    "operator_chaining",
    "re_iterable_group_by_key_result",
    "retain_externalized_checkpoints_on_cancellation",
    "savepoint_path",
    "state_backend",
    "state_backend_storage_path",
)


class Options(PipelineOptions):
    """Beam's options. Beam asks for a view of them hundreds of times while it builds a graph, and makes a parser each time: one does."""

    def view_as(self, cls: type[OptionsView]) -> OptionsView:
        """The options as a class of Beam's declares them; changes to any view are changes to all."""
        views = self.__dict__.setdefault("_gradebeam_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        view: OptionsView = views[cls]
        return view

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in super().__getstate__().items() if name != "_gradebeam_views"}


class _Parser(_BeamArgumentParser):
    """Raises where argparse would print a page of usage and exit."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


def runner_name(options: PipelineOptions) -> str:
    """The runner that the options name, without its package; the local one by default."""
    named = options.view_as(StandardOptions).runner
    name = LOCAL if named is None else str(named).rsplit(".", 1)[-1]
    return LOCAL if name in _LOCAL_NAMES else name


def parsed_options(arguments: Sequence[str]) -> PipelineOptions:
    """Beam's options of the words after `--`.

    Raises:
        ConfigError: with every word that is no option of Beam (which itself would drop it silently), or a value that is none.
    """
    parser = _Parser(allow_abbrev=False)
    for kind in {str(each): each for each in PipelineOptions.__subclasses__()}.values():
        kind._add_argparse_args(parser)
    known = sorted(flag for action in parser._actions for flag in action.option_strings if flag.startswith("--"))
    extra = [f"--{name}" for name in FLINK_JOB_SERVER_OPTIONS if f"--{name}" not in known]
    for flag in extra:
        parser.add_argument(flag, nargs="?")
    parsed, unknown = parser.parse_known_args(list(arguments))
    problems = [_unknown(word, [*known, *extra]) for word in unknown]
    options = Options(list(arguments))
    if not problems and runner_name(options) not in ("FlinkRunner", "PortableRunner"):
        problems = [
            Problem((flag,), f"only Flink knows this option, and the runner is {runner_name(options)}")
            for flag in extra
            if getattr(parsed, flag.removeprefix("--")) is not None
        ]
    if problems:
        raise ConfigError(problems)
    return options


def check_runner(options: PipelineOptions, places: Sequence[str]) -> None:
    """Whether a runner has what it needs. `places` are the URIs that the run reads from and writes to.

    Raises:
        ConfigError: with everything that is missing.
    """
    name = runner_name(options)
    checks = {
        LOCAL: _local,
        "FlinkRunner": _flink,
        "PortableRunner": _portable,
        "PrismRunner": _prism,
        "DataflowRunner": _dataflow,
    }
    problems = list(checks[name](options)) if name in checks else []
    if name == "DataflowRunner":
        local = sorted({place for place in places if not is_remote(place)})
        if local:
            more = f" (and {len(local) - 1:,} more)" if len(local) > 1 else ""
            what = f"\"{local[0]}\"{more} lies on this machine, which Dataflow's workers can't see"
            problems.append(Problem(("--runner",), what, "read and write gs:// or s3://"))
    problems += _store_problems(places)
    if problems:
        raise ConfigError(problems)


def _unknown(word: str, known: Sequence[str]) -> Problem:
    flag = word.split("=", 1)[0]
    if not flag.startswith("--"):
        return Problem((word,), "belongs to no option of Beam", "options are --name=value")
    return Problem((flag,), "Beam has no such option", nearest(flag, known))


def _local(options: PipelineOptions) -> Iterator[Problem]:
    workers = options.view_as(DirectOptions).direct_num_workers
    if workers < 0:
        yield Problem(("--direct_num_workers",), f"{workers} is no number of workers", "0 is one for each core")


def _flink(options: PipelineOptions) -> Iterator[Problem]:
    flink = options.view_as(FlinkRunnerOptions)
    portable = options.view_as(PortableOptions)
    jar = flink.flink_job_server_jar
    if portable.job_endpoint is None:
        if not _java():
            yield Problem(
                ("--runner",),
                "FlinkRunner starts Flink's job server, which needs Java",
                "install Java 17, or name a running one with --job_endpoint",
            )
        if jar is not None and "://" not in jar and not os.path.isfile(jar):
            yield Problem(("--flink_job_server_jar",), f'there is no file "{jar}"')
    if flink.flink_master not in _FLINK_STARTS_ITSELF:
        yield from _environment(options)


def _portable(options: PipelineOptions) -> Iterator[Problem]:
    endpoint = options.view_as(PortableOptions).job_endpoint
    if endpoint is None:
        yield Problem(
            ("--job_endpoint",),
            "PortableRunner needs the address of a job server",
            "host:port, or `embed` for one in this process",
        )
    if endpoint != _EMBEDDED:
        yield from _environment(options)


def _environment(options: PipelineOptions) -> Iterator[Problem]:
    """Where the workers' Python comes from. Beam's default is a container of its own image, without GradeBeam."""
    portable = options.view_as(PortableOptions)
    kind = (portable.environment_type or "DOCKER").upper()
    configured = portable.environment_config is not None
    image = options.view_as(WorkerOptions).sdk_container_image
    if kind == "EXTERNAL" and not configured and portable.lookup_environment_option("external_service_address") is None:
        yield Problem(
            ("--environment_config",),
            "workers of type EXTERNAL need the address of their pool",
            "--environment_config=host:50000",
        )
    if kind == "PROCESS" and not configured and portable.lookup_environment_option("process_command") is None:
        yield Problem(("--environment_config",), "workers of type PROCESS need the command that starts one")
    image = image or portable.lookup_environment_option("docker_container_image")
    if kind == "DOCKER" and not configured and image is None and not _ships_code(options):
        what = "workers would run Beam's own image, which has no gradebeam in it"
        how = "EXTERNAL with --environment_config=host:50000, LOOPBACK, or --sdk_container_image of deploy/container"
        yield Problem(("--environment_type",), what, how)


def _prism(options: PipelineOptions) -> Iterator[Problem]:
    location = options.view_as(PrismRunnerOptions).prism_location
    if location is not None and "://" not in location and not os.path.isfile(location):
        yield Problem(
            ("--prism_location",),
            f'there is no file "{location}"',
            "`make test-distributed` builds one, or leave it out and Beam downloads it",
        )


def _dataflow(options: PipelineOptions) -> Iterator[Problem]:
    google = options.view_as(GoogleCloudOptions)
    if not (object_stores.is_installed("apitools") and object_stores.is_installed("google.cloud.dataflow")):
        yield Problem(("--runner",), "DataflowRunner needs Google's libraries", "pip install 'gradebeam[gcp]'")
    for flag in ("project", "region", "temp_location"):
        if not getattr(google, flag):
            yield Problem((f"--{flag}",), "DataflowRunner needs it")
    temporary = google.temp_location
    if temporary and not temporary.startswith("gs://"):
        yield Problem(("--temp_location",), f'"{temporary}" is no gs:// location')
    if options.view_as(WorkerOptions).sdk_container_image is None and not _ships_code(options):
        what = "workers would run Beam's own image, which has no gradebeam in it"
        yield Problem(("--sdk_container_image",), what, "build and push the image of deploy/dataflow")


def _ships_code(options: PipelineOptions) -> bool:
    setup = options.view_as(SetupOptions)
    return bool(setup.setup_file or setup.extra_packages or setup.requirements_file)


def _store_problems(places: Sequence[str]) -> Iterator[Problem]:
    for scheme in sorted({place.split("://", 1)[0] for place in places if is_remote(place)}):
        problem = object_stores.store_problem(scheme)
        if problem is not None:
            yield problem


def _java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or (home is not None and os.path.isfile(os.path.join(home, "bin", "java")))


def is_given(arguments: Sequence[str], flag: str) -> bool:
    """Whether an option is among the words."""
    return any(word == flag or word.startswith(flag + "=") for word in arguments)
