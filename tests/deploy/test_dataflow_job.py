"""The job that Dataflow would get, built without network or credentials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2

from pipelines.plan import RunPlan
from pipelines.runners import choose_runner, start
from pipelines.suite_file import load_suite
from schemas.manifest import InputFile
from tests.pipelines.runs import GRADERS, write_suite

_IMAGE = "europe-docker.pkg.dev/acme/gradebeam/gradebeam:0.1.0"
_OPTIONS = (
    "--runner=DataflowRunner",
    "--dry_run=True",
    "--no_auth",
    "--project=acme",
    "--region=europe-west1",
    "--temp_location=gs://acme-tmp/temp",
    "--staging_location=gs://acme-tmp/staging",
    f"--sdk_container_image={_IMAGE}",
    "--sdk_location=container",
)


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    with mock.patch.object(GoogleCloudOptions, "validate", return_value=[]):
        yield
    FileSystems.set_options(PipelineOptions([]))


def _plan(folder: Path, files: int) -> RunPlan:
    loaded = load_suite(str(write_suite(folder, ["gs://acme-logs/*.jsonl"])))
    inputs = tuple(
        InputFile(
            uri=f"gs://acme-logs/2026/11/{number % 30 + 1:02d}/part-{number:06d}.jsonl.gz",
            size=50_000_000 + number * 7919 % 9_999_991,
            fingerprint=f"{number * 2_654_435_761 % 2**62}",
        )
        for number in range(files)
    )
    return RunPlan(
        run_id="r_1",
        output="gs://acme-scores/graded",
        suite=loaded.suite,
        suite_hash=loaded.suite_hash,
        normalised_suite=loaded.normalised,
        graders=loaded.graders,
        inputs=inputs,
        inputs_fingerprint="f",
        code_version="0.1.0+0",
        versions={},
        runner="DataflowRunner",
        started_at="2026-11-30T00:00:00+00:00",
    )


def _job(folder: Path, files: int) -> Any:
    runner = choose_runner(_OPTIONS)
    plan = _plan(folder, files)
    runner.check([plan.output, *(file.uri for file in plan.inputs)])
    return start(plan, runner).job


def test_every_grader_is_a_named_step(tmp_path: Path) -> None:
    job = _job(tmp_path, 3)
    names = {transform.unique_name for transform in job.proto_pipeline.components.transforms.values()}
    assert {f"GradeRun/GradeBlocks/Grade/{grader['name']}" for grader in GRADERS} <= names
    assert {"GradeRun/MatchInputs", "GradeRun/Blocks/SplitIntoBlocks", "GradeRun/Commit"} <= names


def test_it_is_a_batch_job_of_our_image(tmp_path: Path) -> None:
    job = _job(tmp_path, 3)
    assert job.proto.type == 1
    images = set()
    for environment in job.proto_pipeline.components.environments.values():
        payload = beam_runner_api_pb2.DockerPayload.FromString(environment.payload)
        if payload.container_image:
            images.add(payload.container_image)
    assert images == {_IMAGE}


def test_the_job_stays_small_with_many_inputs(tmp_path: Path) -> None:
    small = len(_job(tmp_path, 10).proto_pipeline.SerializeToString())
    large = len(_job(tmp_path, 20_000).proto_pipeline.SerializeToString())
    assert small < 200_000
    assert (large - small) / 20_000 < 60


def test_steps_hold_neither_inputs_nor_the_graders_of_others(tmp_path: Path) -> None:
    plan = _plan(tmp_path, 100)
    assert plan.for_steps().inputs == plan.for_writing().inputs == plan.for_commit().inputs == ()
    assert plan.for_steps().graders == ()
    assert plan.for_steps().normalised_suite == {}
    assert plan.for_writing().graders == plan.for_commit().graders == plan.graders
    assert plan.for_commit().normalised_suite == plan.normalised_suite
    assert plan.for_steps().staging == plan.staging
