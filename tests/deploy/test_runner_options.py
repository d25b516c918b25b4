"""Options for Beam: misspelt ones and missing ones are named before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from graders.errors import ConfigError
from pipelines import object_stores
from pipelines.cli.main import main
from pipelines.runners import choose_runner
from tests.pipelines.runs import chats, write_lines, write_suite

_DATAFLOW = (
    "--runner=DataflowRunner",
    "--project=p",
    "--region=r",
    "--temp_location=gs://t/t",
    "--sdk_container_image=i",
)


@pytest.fixture(autouse=True)
def fresh_options(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(object_stores, "is_installed", lambda module: True)
    yield
    FileSystems.set_options(PipelineOptions([]))


def _problems(arguments: Sequence[str], places: Sequence[str] = ("/in/*.jsonl", "/out")) -> list[str]:
    try:
        choose_runner(arguments).check(places)
    except ConfigError as error:
        return [
            f"{'.'.join(map(str, problem.path))}: {problem.suggestion or problem.message}" for problem in error.problems
        ]
    return []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--runer=PrismRunner"], ['--runer: did you mean "--runner"?']),
        (
            ["--direct_num_worker", "3"],
            ['--direct_num_worker: did you mean "--direct_num_workers"?', "3: options are --name=value"],
        ),
        (["stray"], ["stray: options are --name=value"]),
        (["--zzqqx=1"], ["--zzqqx: Beam has no such option"]),
        (["--flink_conf_dir=x"], ["--flink_conf_dir: only Flink knows this option, and the runner is FnApiRunner"]),
        (["--direct_num_workers=many"], [": argument --direct_num_workers: invalid int value: 'many'"]),
    ],
)
def test_words_that_beam_would_drop_are_errors(arguments: list[str], named: list[str]) -> None:
    assert _problems(arguments) == named


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--runner=PortableRunner"], ["--job_endpoint", "--environment_type"]),
        (["--runner=PortableRunner", "--job_endpoint=h:1"], ["--environment_type"]),
        (["--runner=PortableRunner", "--job_endpoint=h:1", "--environment_type=EXTERNAL"], ["--environment_config"]),
        (["--runner=PortableRunner", "--job_endpoint=h:1", "--environment_type=PROCESS"], ["--environment_config"]),
        (["--runner=PrismRunner", "--prism_location=/no/prism"], ["--prism_location"]),
        (["--runner=FlinkRunner", "--job_endpoint=h:1", "--flink_master=f:8081"], ["--environment_type"]),
        (
            ["--runner=DataflowRunner"],
            ["--project", "--region", "--temp_location", "--sdk_container_image", "--runner"],
        ),
        ([*_DATAFLOW[:3], "--temp_location=/tmp", _DATAFLOW[4]], ["--temp_location", "--runner"]),
    ],
)
def test_options_that_a_runner_lacks_are_named_together(arguments: list[str], named: list[str]) -> None:
    assert [problem.split(":")[0] for problem in _problems(arguments)] == named


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--runner=DirectRunner", "--direct_num_workers=2"],
        ["--runner=PortableRunner", "--job_endpoint=embed"],
        ["--runner=PortableRunner", "--job_endpoint=h:1", "--environment_type=EXTERNAL", "--environment_config=h:2"],
        ["--runner=PortableRunner", "--job_endpoint=h:1", "--sdk_container_image=i", "--number_of_execution_retries=3"],
    ],
)
def test_enough_options_pass(arguments: list[str]) -> None:
    assert _problems(arguments) == []


def test_flink_with_a_job_server_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "server.jar"
    arguments = ["--runner=FlinkRunner", "--flink_master=[local]", f"--flink_job_server_jar={jar}", "--parallelism=2"]
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert [problem.split(":")[0] for problem in _problems(arguments)] == ["--runner", "--flink_job_server_jar"]
    jar.touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert _problems([*arguments, "--number_of_execution_retries=3"]) == []


def test_dataflow_takes_stores_only() -> None:
    assert _problems(_DATAFLOW, ["gs://in/*.jsonl", "s3://in/*", "gs://out"]) == []
    assert len(_problems(_DATAFLOW, ["gs://in/*.jsonl", "/local"])) == 1


def test_missing_libraries_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "is_installed", lambda module: False)
    assert _problems([], ["s3://in/*", "/out"]) == [": pip install 'gradebeam[aws]'"]
    assert _problems(_DATAFLOW, ["gs://in/*", "gs://out"]) == [
        "--runner: pip install 'gradebeam[gcp]'",
        ": pip install 'gradebeam[gcp]'",
    ]


def test_unknown_stores_are_named() -> None:
    assert _problems([], ["hdfs://n/in/*", "/out"]) == [": gs://, s3:// or local paths"]


def test_launchers_of_templates_do_not_wait() -> None:
    assert choose_runner([]).waits
    assert not choose_runner(["--no_wait_until_finish"]).waits
    assert not choose_runner([*_DATAFLOW, "--template_location=gs://t/template.json"]).waits


def test_nothing_starts_when_an_option_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(tmp_path / "a.jsonl", chats(2))
    suite = write_suite(tmp_path, ["a.jsonl"])
    assert main(["run", str(suite), "--output", str(tmp_path / "out"), "--", "--runner=PortableRunner"]) == 2
    assert "--job_endpoint" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
