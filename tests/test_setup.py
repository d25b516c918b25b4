"""What a fresh clone is set up from: dependencies declared, the lock complete, CI calling make."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
LOCKS = ("requirements.lock", "requirements-models.lock", "requirements-testing.lock", "requirements-distributed.lock")
OWN = {"schemas", "graders", "pipelines", "tests"}
#: Import name → distribution, where they differ.
DISTRIBUTIONS = {
    "apache_beam": "apache-beam",
    "botocore": "boto3",
    "google": "apache-beam",
    "hcl2": "python-hcl2",
    "re2": "google-re2",
    "stdnum": "python-stdnum",
    "yaml": "pyyaml",
}


def _imported(folder: str) -> set[str]:
    names: set[str] = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - OWN - set(sys.stdlib_module_names)


def _declared(section: str) -> set[str]:
    block = re.search(rf"^{section} = \[(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)
    assert block is not None
    return {name.lower() for name in re.findall(r'"([A-Za-z0-9-]+)', block[1])}


@pytest.mark.parametrize("folder", ["schemas", "graders", "pipelines"])
def test_every_import_is_a_declared_dependency(folder: str) -> None:
    optional = {"boto3"}  # imported where s3:// is used
    needed = {DISTRIBUTIONS.get(name, name) for name in _imported(folder)}
    assert needed - optional <= _declared("dependencies")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_and_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert entries
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)


def test_the_lock_holds_every_declared_dependency() -> None:
    locked = set(
        re.findall(r"^([a-z0-9-]+)(?:\[[a-z0-9,]+\])?==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    )
    assert _declared("dependencies") | _declared("dev") <= locked


def test_ci_runs_lint_types_and_tests_by_make() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "make lint" in script
    assert script.rstrip().endswith("make test")
    assert "-m mypy" in (ROOT / "Makefile").read_text(encoding="utf-8")
