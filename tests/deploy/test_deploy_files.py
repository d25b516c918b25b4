"""Files in deploy/: linted, pinned to the project's versions, and every command in them that needs no cloud runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from apache_beam.options.pipeline_options import FlinkRunnerOptions
from apache_beam.version import __version__ as BEAM_VERSION

from tests.deploy.flink_rules import FLINK_DEPLOYMENT

_REPOSITORY = Path(__file__).resolve().parents[2]
_DEPLOY = _REPOSITORY / "deploy"
_DOCKERFILES = sorted(_DEPLOY.rglob("Dockerfile"))
_FENCE = re.compile(r"^ *```sh([^\n]*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def _commands() -> list[tuple[str, int]]:
    """Every command of the pages that needs no cloud, with the exit code that the page promises."""
    found = []
    for page in sorted(_DEPLOY.rglob("*.md")):
        for info, body in _FENCE.findall(page.read_text()):
            if "cloud" in info.split():
                continue
            code = re.search(r"exit=(\d+)", info)
            lines = [line.strip() for line in body.replace("\\\n", " ").splitlines() if line.strip()]
            found += [(line, int(code.group(1)) if code else 0) for line in lines]
    return found


def _documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the commands use, for they leave files behind."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("schemas", "graders", "pipelines", "examples"):
        shutil.copytree(_REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(_REPOSITORY / name, folder / name)
    return folder


@pytest.mark.parametrize(("command", "code"), _commands())
def test_commands_of_the_pages_run(command: str, code: int, checkout: Path) -> None:
    words = [sys.executable if word == "python" else word for word in shlex.split(command)]
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr


def test_pages_have_commands() -> None:
    assert len(_commands()) >= 6


@pytest.mark.parametrize("path", _DOCKERFILES, ids=lambda path: path.parent.name)
def test_dockerfiles_name_the_pinned_beam_and_files_that_are_there(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"apache/beam_python3\.12_sdk:(\S+)", text) == [BEAM_VERSION]
    assert f'"apache-beam=={BEAM_VERSION}"' in (_REPOSITORY / "pyproject.toml").read_text()
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert (_REPOSITORY / source).exists(), source


def test_the_flink_deployment_keeps_the_operators_rules() -> None:
    (deployment,) = _documents(_DEPLOY / "flink" / "flinkdeployment.yaml")
    jsonschema.validate(deployment, FLINK_DEPLOYMENT)
    spec = deployment["spec"]
    version = spec["flinkVersion"].removeprefix("v").replace("_", ".")
    assert version in FlinkRunnerOptions.PUBLISHED_FLINK_VERSIONS
    assert spec["image"] == f"flink:{version}"
    assert "job" not in spec


def test_workers_stand_beside_the_task_managers() -> None:
    (deployment,) = _documents(_DEPLOY / "flink" / "flinkdeployment.yaml")
    pod = deployment["spec"]["taskManager"]["podTemplate"]["spec"]
    main, workers = pod["containers"]
    assert main["name"] == "flink-main-container"
    assert workers["command"] + workers["args"] == ["/opt/apache/beam/boot", "--worker_pool"]
    assert workers["ports"] == [{"containerPort": 50000}]
    claims = {volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"]}
    assert claims == {
        item["metadata"]["name"]
        for item in _documents(_DEPLOY / "flink" / "jobserver.yaml")
        if item["kind"].endswith("Claim")
    }


def test_the_job_server_is_of_the_same_flink_and_the_pinned_beam() -> None:
    (deployment,) = _documents(_DEPLOY / "flink" / "flinkdeployment.yaml")
    server, service, _ = _documents(_DEPLOY / "flink" / "jobserver.yaml")
    container = server["spec"]["template"]["spec"]["containers"][0]
    version = deployment["spec"]["flinkVersion"].removeprefix("v").replace("_", ".")
    assert container["image"] == f"apache/beam_flink{version}_job_server:{BEAM_VERSION}"
    assert f"--flink-master={deployment['metadata']['name']}-rest:8081" in container["args"]
    assert {port["containerPort"] for port in container["ports"]} == {port["port"] for port in service["spec"]["ports"]}
    assert service["spec"]["selector"] == server["spec"]["template"]["metadata"]["labels"]
