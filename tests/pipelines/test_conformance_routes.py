"""Every conformance case of the text graders has one status, whichever way it is graded: in Python, by the filter, by a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from graders import ConfigError
from graders.configured import configure
from pipelines.cli.main import main
from tests.graders.conformance_runner import status_of
from tests.pipelines.runs import run_suite, statuses, write_lines, write_suite
from tests.shared_files import conformance_cases

_TEXT_GRADERS = {
    *("exact", "contains", "not-contains", "regex", "length", "json-schema"),
    *("output-matches", "output-not-matches", "output-contains", "output-not-contains"),
    *("transcript-matches", "transcript-not-matches", "transcript-contains", "transcript-not-contains"),
}
_FIELDS = {"id": "$.id", "messages": "$.messages", "output": "$.output", "reference": "$.reference"}


def _is_of_text(case: dict[str, Any]) -> bool:
    if "type" not in case["grader"]:
        return False
    try:
        return configure(case["grader"], profile=case["profile"]).type in _TEXT_GRADERS
    except ConfigError:
        return False


_CASES = [case for case in conformance_cases() if _is_of_text(case)]


def _record(case: dict[str, Any]) -> dict[str, Any]:
    """The case as a row of a log."""
    return {"id": case["id"], "case": case["id"], **case["input"]}


@pytest.fixture(scope="module", params=[_CASES] if _CASES else [], ids=["text graders"] if _CASES else [])
def cases(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """All cases; tests that need them are none where there are no shared files."""
    found: list[dict[str, Any]] = request.param
    return found


@pytest.fixture(scope="module")
def suite(cases: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One suite of all cases, beside its records: each case's grader grades the case's record alone."""
    folder = tmp_path_factory.mktemp("conformance")
    write_lines(folder / "in.jsonl", map(_record, cases))
    graders = [
        {**case["grader"], "name": case["id"], "profile": case["profile"], "when": {"metadata": {"case": case["id"]}}}
        for case in cases
    ]
    reading = {"paths": ["in.jsonl"], "fields": _FIELDS, "format": "mapped_rows"}
    return write_suite(folder, [], graders, input=reading)


@pytest.fixture(scope="module")
def in_python(cases: list[dict[str, Any]]) -> dict[str, str]:
    """Statuses that `evaluate` gives."""
    return {case["id"]: status_of(case) for case in cases}


def test_evaluate_gives_accepted_statuses(cases: list[dict[str, Any]], in_python: dict[str, str]) -> None:
    assert [case["id"] for case in cases if in_python[case["id"]] not in case["accept"]] == []
    assert {case["profile"] for case in cases} == {"aludel", "dashboard", "vally"}


def test_a_run_gives_the_same(suite: Path, in_python: dict[str, str]) -> None:
    assert run_suite(suite, suite.parent / "out") == 0
    found = statuses(suite.parent / "out")
    assert {one: status for (one, grader), status in found.items() if one == grader} == in_python


def test_the_filter_gives_the_same(
    suite: Path, in_python: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    with (suite.parent / "in.jsonl").open("rb") as records:
        monkeypatch.setattr(sys, "stdin", records)
        assert main(["grade", "--suite", str(suite)]) == 0
    rows = [orjson.loads(line) for line in capfd.readouterr().out.split("\n") if line]
    own = [row for row in rows if row["trajectory_id"] == row["grader_name"]]
    assert {row["grader_name"]: row["status"] for row in own} == in_python
