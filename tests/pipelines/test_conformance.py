"""`evaluate`, `gradebeam grade` and `gradebeam run` give the same verdict for each conformance case that asks no judge."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from graders import ConfigError, evaluate
from graders.configured import configure
from graders.grader import CompositeGrader
from graders.judges.judge_grader import JudgeGrader
from pipelines.cli.main import main
from pipelines.filtering import LineGrader
from pipelines.formats.detection import detect
from pipelines.sql import Session
from pipelines.suite_file import load_suite
from tests.shared_files import conformance_cases

_JUDGE_KEYS = ("judge", "judges", "judge_reply", "judge_error")


def _comparable(case: dict[str, Any]) -> bool:
    try:
        grader = configure(case["grader"], profile=case["profile"]).grader
    except ConfigError:
        return False
    return not isinstance(grader, JudgeGrader | CompositeGrader)


CASES = [case for case in conformance_cases() if "type" in case["grader"] and _comparable(case)]
RECORDS = [
    {
        **{key: value for key, value in case["input"].items() if key not in _JUDGE_KEYS},
        "metadata": {"case": str(number)},
    }
    for number, case in enumerate(CASES)
]
#: One set of cases where the shared files are there, none where they are not.
with_cases = pytest.mark.parametrize("count", [len(CASES)] if CASES else [])


@lru_cache(maxsize=1)
def _evaluated() -> list[str]:
    pairs = zip(CASES, RECORDS, strict=True)
    return [evaluate(case["grader"], record, profile=case["profile"]).status.value for case, record in pairs]


def _suite(folder: Path, numbers: range) -> Path:
    own = [{"name": f"case-{i}", "when": {"metadata": {"case": str(i)}}} for i in numbers]
    graders = [{**CASES[i]["grader"], "profile": CASES[i]["profile"], **own[i - numbers.start]} for i in numbers]
    path = folder / f"suite-{numbers.start}.yaml"
    path.write_text(json.dumps({"graders": graders, "allow": {"errors": 1, "rejects": 0}}), encoding="utf-8")
    return path


@with_cases
def test_the_filter_agrees_with_evaluate(tmp_path: Path, count: int) -> None:
    found = []
    for number, record in enumerate(RECORDS):
        with LineGrader(load_suite(str(_suite(tmp_path, range(number, number + 1))))) as grader:
            (row,) = grader.grade([(0, json.dumps(record).encode(), False)], []).rows
        found.append(row["status"])
    assert found == _evaluated()
    assert len(found) == count


@with_cases
def test_a_run_agrees_with_evaluate(tmp_path: Path, count: int) -> None:
    log = tmp_path / "log"
    log.mkdir()
    for record in RECORDS:
        name = detect([record], "log").container.name
        with (log / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    suite = _suite(tmp_path, range(count))
    arguments = ["run", str(suite), "--input", str(log), "--output", str(tmp_path / "out"), "--quiet"]
    assert main(arguments) == 0, list(Session(str(tmp_path / "out")).query("FROM rejects").rows())
    query = "SELECT status FROM scores ORDER BY split_part(grader_name, '-', 2)::INT"
    assert [row[0] for row in Session(str(tmp_path / "out")).query(query).rows()] == _evaluated()
