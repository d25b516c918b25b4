from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.cli.conftest import EXAMPLES, Command

LOGS = EXAMPLES / "logs"
CHAT = [
    {"role": "user", "content": "Where is it?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}]},
    {"role": "tool", "tool_call_id": "c", "content": "here"},
    {"role": "assistant", "content": "Here."},
]  # fmt: skip


def test_format_reason_and_first_trajectories(gradebeam: Command) -> None:
    code, out, _ = gradebeam("inspect", LOGS / "support-2026-11-28.jsonl", "-n", 2)
    assert code == 0
    lines = out.splitlines()
    assert lines[1] == "  format: messages"
    assert "`messages` is a list of messages (50 of the first 50 records)" in lines[2]
    assert lines[3] == "  read as: lines"
    assert [line.split()[0] for line in lines if line.startswith("  conv-")] == ["conv-28-0000", "conv-28-0001"]
    assert any(line.startswith("        → lookup_order(") for line in lines)
    assert any(line.startswith("    output (last_assistant_message): ") for line in lines)


def test_compressed(gradebeam: Command) -> None:
    _, out, _ = gradebeam("inspect", LOGS / "support-2026-11-30.jsonl.gz", "-n", 1)
    assert "  format: messages\n" in out
    assert "  read as: lines, compressed with gzip\n" in out


def test_rejects_are_shown_with_place_and_reason(gradebeam: Command) -> None:
    _, out, _ = gradebeam("inspect", LOGS / "support-2026-11-29.jsonl", "-n", 100)
    assert "invalid_json" in out
    assert "truncated_tail" in out
    assert "no_messages" in out


def test_parquet_with_a_column_of_structs(gradebeam: Command, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"id": "p1", "messages": [{"role": "assistant", "content": "hi"}]}])
    pq.write_table(table, tmp_path / "log.parquet")
    _, out, _ = gradebeam("inspect", tmp_path / "log.parquet")
    assert "  read as: parquet\n" in out
    assert "\n  p1  (offset 0, " in out


def test_one_json_document(gradebeam: Command, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps({"id": "d", "messages": CHAT}, indent=2))
    _, out, _ = gradebeam("inspect", tmp_path / "one.json")
    assert "  read as: documents\n" in out
    assert '        → find({"q": 1})\n' in out


def test_an_unknown_shape_says_how_to_map_it(gradebeam: Command, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"ticket": 1, "reply_text": "It is on its way."}\n')
    code, out, _ = gradebeam("inspect", tmp_path / "rows.jsonl")
    assert code == 0
    assert "  format: unknown\n" in out
    assert "input: {fields: {output: $.reply_text}}" in out


def test_read_as_a_suite_says(gradebeam: Command) -> None:
    _, out, _ = gradebeam("inspect", LOGS / "tickets.jsonl", "--suite", EXAMPLES / "tickets.yaml", "-n", 1)
    assert "  format: mapped_rows\n  why: its first line is a JSON value of its own; the suite maps its fields\n" in out
    assert "    reference: " in out


def test_json_is_the_whole_trajectory(gradebeam: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "messages": CHAT, "metadata": {"tenant": "x"}}) + "\n")
    _, out, _ = gradebeam("inspect", tmp_path / "a.jsonl", "--json")
    (line,) = out.splitlines()
    trajectory = json.loads(line)
    assert trajectory["output"] == "Here."
    assert [message["role"] for message in trajectory["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert trajectory["tool_calls"][0]["arguments_raw"] == '{"q": 1}'
    assert trajectory["metadata"] == {"tenant": "x"}


def test_a_log_of_one_event_a_line_is_grouped(gradebeam: Command, tmp_path: Path) -> None:
    spans = [
        {
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": f"eee19b7ec3c1b17{i}",
            "name": "chat",
            "startTimeUnixNano": str(1_700_000_000_000_000_000 + i),
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}])}},
                {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "yes"}]}])}},
            ],
        }
        for i in range(2)
    ]  # fmt: skip
    lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) for span in spans]
    (tmp_path / "spans.jsonl").write_text("\n".join(lines) + "\n")
    _, out, _ = gradebeam("inspect", tmp_path / "spans.jsonl")
    assert "  format: otlp\n" in out
    assert "one event a record, grouped" in out
    assert out.count("5b8efff798038103d269b633813fc60c  (offset") == 1


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file(gradebeam: Command, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "empty.jsonl").write_bytes(content)
    code, out, _ = gradebeam("inspect", tmp_path / "empty.jsonl")
    assert code == 0
    assert "  format: unreadable\n" in out
    assert "rejected at 0: empty_file" in out


def test_nothing_there_and_no_such_format_are_exit_2(gradebeam: Command) -> None:
    assert gradebeam("inspect", "no-such-*.jsonl") == (2, "", 'gradebeam inspect: nothing matches "no-such-*.jsonl"\n')
    code, _, err = gradebeam("inspect", LOGS / "tickets.jsonl", "--format", "mesages")
    assert code == 2
    assert 'did you mean "messages"?' in err
