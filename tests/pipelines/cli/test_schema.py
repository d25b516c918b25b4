from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from graders.registry import grader_types
from pipelines.json_schemas import score_schema, suite_schema, trajectory_schema
from tests.pipelines.cli.conftest import EXAMPLES, Command

SUITE = Draft202012Validator(suite_schema())


def _errors(validator: Draft202012Validator, value: Any) -> list[str]:
    return [error.message for error in validator.iter_errors(value)]


@pytest.mark.parametrize("contract", ["suite", "trajectory", "score"])
def test_each_is_a_schema(gradebeam: Command, contract: str) -> None:
    code, out, _ = gradebeam("schema", contract)
    assert code == 0
    Draft202012Validator.check_schema(json.loads(out))


def test_an_unknown_contract_is_exit_2(gradebeam: Command) -> None:
    assert gradebeam("schema", "sweet")[0] == 2


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_the_example_suites_are_valid(path: Path) -> None:
    assert _errors(SUITE, yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("name", sorted(grader_types()))
def test_every_graders_example_is_valid(name: str) -> None:
    assert _errors(SUITE, {"graders": [{"name": "g", "type": name, **grader_types()[name].example}]}) == []


@pytest.mark.parametrize(
    "suite",
    [
        {},
        {"graders": []},
        {"graders": [{"type": "regx", "pattern": "a"}]},
        {"graders": [{"type": "regex"}]},
        {"graders": [{"type": "contains", "texts": ["a"], "casesensitive": True}]},
        {"graders": [{"type": "contains", "texts": ["a"], "weight": -1}]},
        {"graders": [{"profile": "vally", "type": "no-such"}]},
        {"graders": [{"type": "contains", "texts": ["a"]}], "inptu": {}},
        {"graders": [{"type": "contains", "texts": ["a"]}], "input": {"pahts": []}},
        {"graders": [{"type": "contains", "texts": ["a"]}], "routes": {"r": {"model": "m"}}},
    ],
)
def test_wrong_suites_are_not(suite: dict[str, Any]) -> None:
    assert _errors(SUITE, suite)


def test_a_suite_of_one_profile_is_free_in_form() -> None:
    assert _errors(SUITE, {"profile": "vally", "graders": [{"type": "turn-count", "config": {"max": 3}}]}) == []


def test_inspected_trajectories_are_valid(gradebeam: Command) -> None:
    validator = Draft202012Validator(trajectory_schema())
    _, out, _ = gradebeam("inspect", "--json", "-n", 100, *sorted((EXAMPLES / "logs").iterdir()))
    lines = out.splitlines()
    assert len(lines) > 200
    for line in lines:
        assert _errors(validator, json.loads(line)) == []


def test_graded_rows_are_valid(gradebeam: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    validator = Draft202012Validator(score_schema())
    with (EXAMPLES / "logs/support-2026-11-28.jsonl").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, out, _ = gradebeam("grade", "--suite", EXAMPLES / "support.yaml")
    assert code == 0
    for line in out.splitlines():
        assert _errors(validator, json.loads(line)) == []
    assert _errors(validator, {**json.loads(line), "status": "maybe"})
    assert _errors(validator, {**json.loads(line), "score": 1.5})
