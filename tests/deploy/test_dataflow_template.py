"""The flex template: its parameters are the command's options, in both directions, and its launcher translates them."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import hcl2
import pytest

from pipelines.cli import run as run_verb

_FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "dataflow"
_METADATA: dict[str, Any] = json.loads((_FOLDER / "metadata.json").read_text())
_PARAMETERS: dict[str, dict[str, Any]] = {each["name"]: each for each in _METADATA["parameters"]}
#: Parameters that Beam takes, and options of ours that make no sense in a template.
_BEAMS = {"sdk_container_image"}
_NOT_IN_A_TEMPLATE = {"quiet", "help", "dry_run"}
_SAMPLES = {
    "suite": ("gs://b/suite.yaml", "suite.yaml"),
    "input": ("gs://b/*.jsonl; s3://c/**/x.parquet", "/local/*.jsonl"),
    "output": ("s3://b/graded", "graded"),
    "run_id": ("r_2026-11-30", "1st"),
    "refresh_judges": ("true", "yes"),
    "again": ("true", "1"),
    "sdk_container_image": ("europe-docker.pkg.dev/p/r/gradebeam:0.1.0", "an image"),
}


def _launcher() -> ModuleType:
    spec = importlib.util.spec_from_file_location("launcher", _FOLDER / "launcher.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run_options() -> set[str]:
    parser = argparse.ArgumentParser(prog="gradebeam run")
    run_verb.add_arguments(parser)
    return {action.dest for action in parser._actions} - _NOT_IN_A_TEMPLATE


def test_parameters_are_the_options_of_the_command() -> None:
    assert set(_PARAMETERS) - _BEAMS == _run_options()
    launcher = _launcher()
    assert {"suite", *launcher.OPTIONS, *launcher.SWITCHES} == _run_options()


@pytest.mark.parametrize("name", sorted(_PARAMETERS))
def test_patterns_accept_what_is_right_and_nothing_else(name: str) -> None:
    right, wrong = _SAMPLES[name]
    patterns = _PARAMETERS[name]["regexes"]
    assert all(re.search(pattern, right) for pattern in patterns)
    assert not all(re.search(pattern, wrong) for pattern in patterns)
    assert set(_PARAMETERS[name]) == {"name", "label", "helpText", "isOptional", "regexes"}


def test_every_parameter_reaches_the_command(tmp_path: Path) -> None:
    (tmp_path / "given.yaml").write_text("name: s\n")
    words = _launcher().command_line(
        [
            f"--suite={tmp_path / 'given.yaml'}",
            "--input=gs://b/*.jsonl; gs://c/*.gz",
            "--output=gs://b/graded",
            "--run_id=r_1",
            "--refresh_judges=true",
            "--runner=DataflowRunner",
            "--sdk_container_image=image",
        ],
        tmp_path,
    )
    assert (tmp_path / "suite.yaml").read_text() == "name: s\n"
    assert words == [
        *("run", str(tmp_path / "suite.yaml"), "--input", "gs://b/*.jsonl", "gs://c/*.gz", "--output", "gs://b/graded"),
        *("--run-id", "r_1", "--refresh-judges", "--", "--no_wait_until_finish"),
        *("--runner=DataflowRunner", "--sdk_container_image=image"),
    ]


def test_empty_parameters_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "given.yaml").write_text("name: s\n")
    words = _launcher().command_line(
        [f"--suite={tmp_path / 'given.yaml'}", "--input=", "--refresh_judges=false"], tmp_path
    )
    assert words == ["run", str(tmp_path / "suite.yaml"), "--", "--no_wait_until_finish"]
    with pytest.raises(ValueError, match="suite"):
        _launcher().command_line(["--output=gs://b"], tmp_path)


def test_terraform_parses_and_passes_known_parameters() -> None:
    main = hcl2.loads((_FOLDER / "terraform" / "main.tf").read_text())
    variables = hcl2.loads((_FOLDER / "terraform" / "variables.tf").read_text())
    resources = {_bare(kind): body for each in main["resource"] for kind, body in each.items()}
    job = next(iter(resources["google_dataflow_flex_template_job"].values()))
    passed = {_bare(name) for name in job["parameters"]} - {"__is_block__"}
    assert passed <= set(_PARAMETERS)
    assert {name for name, each in _PARAMETERS.items() if not each["isOptional"]} <= passed
    declared = {_bare(name) for each in variables["variable"] for name in each}
    used = set(re.findall(r"var\.([a-z_]+)", (_FOLDER / "terraform" / "main.tf").read_text()))
    assert used == declared


def _bare(name: str) -> str:
    return name.strip('"')
