from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.tables import SCORES
from tests.graders.judges.fault_server import FaultServer
from tests.pipelines.cli.conftest import EXAMPLES, Command

SUITE = """\
graders:
  - {name: refund, type: contains, texts: [refund]}
  - {name: short, type: length, max: 3, unit: words}
"""
GOOD = '{"id": "good", "messages": [{"role": "assistant", "content": "your refund"}]}\n'
BAD = '{"id": "bad", "messages": [{"role": "assistant", "content": "no"}]}\n'
SILENT = '{"id": "silent", "messages": [{"role": "user", "content": "hello?"}]}\n'

Filter = Callable[..., tuple[int, list[dict[str, Any]], list[str]]]


@pytest.fixture
def filtered(
    gradebeam: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite_file: Callable[[str], Path]
) -> Filter:
    """(lines, suite, options…) → (exit code, rows, lines of standard error)."""

    def run(lines: str | bytes, suite: str = SUITE, *options: str) -> tuple[int, list[dict[str, Any]], list[str]]:
        source = tmp_path / "in.jsonl"
        source.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
        with source.open() as file:
            monkeypatch.setattr("sys.stdin", file)
            code, out, err = gradebeam("grade", "--suite", suite_file(suite), *options)
        return code, [json.loads(line) for line in out.splitlines()], err.splitlines()

    return run


def test_one_row_a_trajectory_and_grader_in_the_shape_of_scores(filtered: Filter) -> None:
    code, rows, err = filtered(GOOD + BAD)
    assert (code, err) == (0, [])
    assert [(row["trajectory_id"], row["grader_name"], row["status"], row["passed"]) for row in rows] == [
        ("good", "refund", "pass", True),
        ("good", "short", "pass", True),
        ("bad", "refund", "fail", False),
        ("bad", "short", "pass", True),
    ]
    assert all(list(row) == SCORES.names for row in rows)
    assert rows[0]["run_id"] is None
    assert rows[0]["source_uri"] == "stdin"
    assert rows[2]["source_offset"] == len(GOOD)
    assert rows[0]["evidence"] == [{"message_index": 0, "start": 5, "end": 11, "quote": "refund"}]


@pytest.mark.parametrize(
    ("lines", "code"), [(GOOD, 0), (GOOD + BAD, 10), (GOOD + SILENT, 11), (BAD + SILENT, 10), (GOOD + "{", 11), ("", 0)]
)
def test_require_pass(filtered: Filter, lines: str, code: int) -> None:
    assert filtered(lines, SUITE, "--require-pass")[0] == code


def test_required_pass_follows_the_suites_weights(filtered: Filter) -> None:
    advisory = SUITE.replace("texts: [refund]", "texts: [refund], weight: 0")
    assert filtered(BAD, advisory, "--require-pass")[0] == 0


def test_a_line_that_is_no_trajectory_is_told_on_standard_error(filtered: Filter) -> None:
    code, rows, err = filtered(GOOD + "not json\n" + BAD)
    assert code == 12
    assert [row["trajectory_id"] for row in rows] == ["good", "good", "bad", "bad"]
    reject = json.loads(err[0])
    assert (reject["reason"], reject["source_offset"], reject["excerpt"]) == ("invalid_json", len(GOOD), "not json")
    assert err[1] == "over the allowance: 1 of 3 records were rejected, more than allow.rejects = 0.01"


def test_rejects_and_errors_within_the_allowance_are_exit_0(filtered: Filter) -> None:
    assert filtered(GOOD + "not json\n", SUITE + "allow: {rejects: 0.5}\n")[0] == 0
    code, _, err = filtered(GOOD + SILENT)
    assert code == 12
    assert err[0] == 'over the allowance: "refund" could not grade 1 of 2, more than allow.errors = 0.01'
    assert filtered(GOOD + SILENT, SUITE + "allow: {errors: 0.5}\n")[0] == 0


def test_a_mapped_row(filtered: Filter) -> None:
    suite = "input: {fields: {output: $.answer.text, id: $.n}}\n" + SUITE
    code, rows, _ = filtered('{"n": 7, "answer": {"text": "a refund"}}\n', suite)
    assert code == 0
    assert [(row["trajectory_id"], row["status"]) for row in rows] == [("7", "pass"), ("7", "pass")]


def test_conditions_leave_rows_out(filtered: Filter) -> None:
    suite = SUITE.replace("unit: words", "unit: words, when: {grader: refund, status: pass}")
    _, rows, _ = filtered(GOOD + BAD, suite)
    assert [(row["trajectory_id"], row["grader_name"]) for row in rows] == [
        ("good", "refund"),
        ("good", "short"),
        ("bad", "refund"),
    ]


def test_an_event_of_a_session_is_rejected_with_the_way_out(filtered: Filter) -> None:
    event = '{"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "hi"}}\n'
    code, rows, err = filtered(event)
    assert (code, rows) == (12, [])
    assert "use `gradebeam run`" in json.loads(err[0])["detail"]


def test_a_format_of_sessions_is_refused_at_the_start(filtered: Filter) -> None:
    code, rows, err = filtered(GOOD, "input: {format: claude_code}\n" + SUITE)
    assert (code, rows) == (2, [])
    assert "use `gradebeam run`" in err[0]


def test_dirty_lines(filtered: Filter) -> None:
    lines = b"\xef\xbb\xbf" + GOOD.encode().replace(b"\n", b"\r\n") + b"\n  \n" + BAD.encode().replace(b"no", b"n\xff")
    code, rows, err = filtered(lines)
    assert (code, err) == (0, [])
    assert [row["trajectory_id"] for row in rows] == ["good", "good", "bad", "bad"]


def test_a_line_over_the_limit_is_rejected_and_its_neighbours_are_graded(filtered: Filter) -> None:
    suite = "input: {max_record_bytes: 200}\nallow: {rejects: 1}\n" + SUITE
    code, rows, err = filtered(GOOD + GOOD.replace("your", "your " * 100) + BAD, suite)
    assert code == 0
    assert [row["trajectory_id"] for row in rows] == ["good", "good", "bad", "bad"]
    assert json.loads(err[0])["reason"] == "too_large"


def test_the_same_verdicts_as_a_run(filtered: Filter, graded: Path) -> None:
    from pipelines.sql import Session

    _, rows, _ = filtered((EXAMPLES / "logs/tickets.jsonl").read_bytes(), (EXAMPLES / "tickets.yaml").read_text())
    query = "SELECT trajectory_id, grader_name, status, score, explanation, details_json FROM scores WHERE run_id = 'tickets'"
    of_run = {tuple(row) for row in Session(str(graded)).query(query).rows()}
    fields = ("trajectory_id", "grader_name", "status", "score", "explanation", "details_json")
    assert {tuple(row[name] for name in fields) for row in rows} == of_run
    assert len(rows) == 120


def test_a_judge_without_its_key_is_exit_2(filtered: Filter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    code, _, err = filtered(GOOD, (EXAMPLES / "judges.yaml").read_text())
    assert code == 2
    assert "JUDGE_KEY" in err[0]


def test_it_streams_and_imports_neither_beam_nor_duckdb(suite_file: Callable[[str], Path]) -> None:
    script = (
        "import sys; from pipelines.cli.main import main; code = main(sys.argv[1:]);"
        "print([name for name in ('apache_beam', 'duckdb', 'httpx') if name in sys.modules]); sys.exit(code)"
    )
    command = [sys.executable, "-c", script, "grade", "--suite", str(suite_file(SUITE))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name, line in (("good", GOOD), ("bad", BAD)):
            process.stdin.write(line)
            process.stdin.flush()
            rows = [json.loads(process.stdout.readline()) for _ in range(2)]  # before the next line is written
            assert {row["trajectory_id"] for row in rows} == {name}
        process.stdin.close()
        assert process.stdout.read() == "[]\n"
    assert process.returncode == 0


JUDGED = """\
graders:
  - name: tone
    type: llm-score
    criterion: Is it polite?
    levels: [{score: 0, description: rude}, {score: 1, description: polite}]
    threshold: 1
routes:
  local: {base_url: "%s", model: small%s}
"""


def test_a_judge_is_asked_over_http(filtered: Filter) -> None:
    with FaultServer() as server:
        code, rows, _ = filtered(GOOD, JUDGED % (server.url, ""))
    assert code == 0
    (row,) = rows
    assert (row["status"], row["native_score"], row["judge_route"], row["input_tokens"]) == ("pass", 1.0, "local", 100)


def test_a_filter_does_not_wait_for_a_providers_batch(filtered: Filter) -> None:
    code, rows, err = filtered(GOOD, JUDGED % ("http://localhost:1/v1", ", mode: batch"))
    assert (code, rows) == (2, [])
    assert "routes.local.mode: a filter can't wait" in err[0]
