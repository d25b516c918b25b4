from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.cli.run import add_arguments
from pipelines.preflight import format_problems
from pipelines.sql import Session
from tests.pipelines.cli.conftest import EXAMPLES, Command

SUITE = "graders:\n  - {name: greets, type: contains, texts: [hello]}\n"
LINE = '{"id": "%s", "messages": [{"role": "assistant", "content": "hello there"}]}\n'


def test_prints_rates_with_n_coverage_interval_and_the_place(gradebeam: Command, tmp_path: Path) -> None:
    code, out, _ = gradebeam("run", EXAMPLES / "tickets.yaml", "--output", tmp_path / "out")
    assert code == 0
    header, _, first, *_ = out.splitlines()
    assert header.split("  ")[0] == "grader"
    assert all(word in header for word in ("pass rate", "95 % interval", "n", "coverage"))
    assert first.split()[:2] == ["valid-json", "85.0%"]
    assert f"tables in {tmp_path / 'out'}" in out


def test_running_again_does_nothing(gradebeam: Command, graded: Path) -> None:
    code, out, _ = gradebeam("run", EXAMPLES / "tickets.yaml", "--output", graded, "--run-id", "tickets")
    assert code == 0
    assert out.startswith("run tickets is committed already; nothing to do\n")


def test_quiet_prints_nothing(gradebeam: Command, graded: Path) -> None:
    assert gradebeam("run", EXAMPLES / "tickets.yaml", "--output", graded, "--run-id", "tickets", "--quiet") == (
        0,
        "",
        "",
    )


def test_several_inputs_then_beam_options(
    gradebeam: Command, tmp_path: Path, suite_file: Callable[[str], Path]
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(LINE % name)
    code, out, _ = gradebeam(
        "run", suite_file(SUITE), "--input", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--output", tmp_path / "out",
        "--", "--direct_num_workers=1", "--direct_running_mode=in_memory",
    )  # fmt: skip
    assert code == 0
    assert "2 trajectories of 2 records in 2 files" in out


@pytest.mark.parametrize("workers", ["-1", "some"])
def test_a_number_of_workers_that_is_none_is_exit_2(
    gradebeam: Command, tmp_path: Path, suite_file: Callable[[str], Path], workers: str
) -> None:
    (tmp_path / "a.jsonl").write_text(LINE % "a")
    code, _, err = gradebeam(
        "run", suite_file(SUITE), "--input", tmp_path / "a.jsonl", "--output", tmp_path / "out",
        "--", f"--direct_num_workers={workers}",
    )  # fmt: skip
    assert code == 2
    assert "--direct_num_workers" in err
    assert workers in err


def test_rejects_beyond_the_allowance_are_exit_12(
    gradebeam: Command, tmp_path: Path, suite_file: Callable[[str], Path]
) -> None:
    (tmp_path / "a.jsonl").write_text(LINE % "a" + "not json\n")
    code, _, err = gradebeam("run", suite_file(SUITE), "--input", tmp_path / "a.jsonl", "--output", tmp_path / "out")
    assert code == 12
    assert "1 of 2 records were rejected" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graders: [a\nname: b\n", ":2: it is not YAML:"),
        ("", ":1: it is empty"),
        ("graders: []\n", ":1: graders: there are no graders"),
        (SUITE, "there is no input: name files with `input.paths` or --input"),
        ("input: {paths: [nothing-*.jsonl]}\n" + SUITE, 'nothing-*.jsonl"'),
        ("grader: []\n" + SUITE, ':1: grader: unknown field (did you mean "graders"?)'),
    ],
)
def test_a_newcomers_mistakes_are_told_in_a_line(
    gradebeam: Command, suite_file: Callable[[str], Path], text: str, message: str
) -> None:
    code, out, err = gradebeam("run", suite_file(text))
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_missing_suite(gradebeam: Command) -> None:
    assert gradebeam("run", "no-such.yaml") == (2, "", "no-such.yaml: there is no such file\n")


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_an_output_that_is_a_file(
    gradebeam: Command, tmp_path: Path, suite_file: Callable[[str], Path], below: str
) -> None:
    (tmp_path / "a.jsonl").write_text(LINE % "a")
    code, _, err = gradebeam(
        "run", suite_file(SUITE), "--input", tmp_path / "a.jsonl", "--output", f"{tmp_path}/a.jsonl{below}"
    )
    assert code == 2
    assert f"{tmp_path}/a.jsonl is a file" in err


def test_an_unknown_format_is_refused_before_anything_is_read(
    gradebeam: Command, tmp_path: Path, suite_file: Callable[[str], Path]
) -> None:
    (tmp_path / "a.jsonl").write_text(LINE % "a")
    suite = suite_file("input: {paths: [a.jsonl], format: mesages}\n" + SUITE)
    code, _, err = gradebeam("run", suite, "--output", tmp_path / "out")
    assert code == 2
    assert "input.format" in err
    assert not (tmp_path / "out").exists()


def test_format_problems_of_unknown_fields() -> None:
    (problem,) = format_problems("auto", {"outptu": "$.x"})
    assert problem.path[:2] == ("input", "fields")
    assert format_problems("auto", {"output": "$.x"}) == []
    assert format_problems("messages", None) == []


def test_arguments_leave_no_room_for_abbreviated_globs() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(["suite.yaml", "--input", "a", "b", "--input", "c"])
    assert options.input == ["a", "b", "c"]


def test_the_examples_count_what_their_dirty_day_holds(graded: Path) -> None:
    rows = Session(str(graded)).query(
        "SELECT parse_status, count(*) FROM trajectories WHERE run_id = 'support' GROUP BY 1 ORDER BY 1"
    )
    assert list(rows.rows()) == [("duplicate", 1), ("ok", 198), ("rejected", 3)]
    reasons = Session(str(graded)).query("SELECT reason FROM rejects WHERE run_id = 'support' ORDER BY 1")
    assert [row[0] for row in reasons.rows()] == ["invalid_json", "no_messages", "truncated_tail"]
