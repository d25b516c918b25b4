"""Dockerfiles and manifests pass their linters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_DOCKERFILES = sorted(_DEPLOY.rglob("Dockerfile"))


@pytest.mark.parametrize("path", _DOCKERFILES, ids=lambda path: path.parent.name)
def test_dockerfiles_pass_the_linter(path: Path) -> None:
    done = subprocess.run([_tool("hadolint"), str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", sorted((_DEPLOY / "flink").glob("*.yaml")), ids=lambda path: path.stem)
def test_manifests_pass_the_linter(path: Path) -> None:
    rules = "{extends: default, rules: {line-length: {max: 120}}}"
    done = subprocess.run(
        [_tool("yamllint"), "-s", "-d", rules, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout


def _tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)
