"""Sessions of Pi, OpenClaw, Droid and Cursor."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from typing import Any

import pytest

from pipelines.formats.containers.cli_sessions import CliSessions
from tests.pipelines.formats.reading_helper import Outcome, read


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def event(
    own: str, parent: str | None, message: dict[str, Any] | None = None, kind: str = "message", **more: Any
) -> dict[str, Any]:
    value = {"type": kind, "id": own, "parentId": parent, "timestamp": f"2026-11-30T10:00:0{len(own)}Z", **more}
    return value if message is None else {**value, "message": message}


def usage(given: int, answered: int, cached: int) -> dict[str, Any]:
    return {"input": given, "output": answered, "cacheRead": cached, "cacheWrite": 2, "cost": {"total": 0.25}}


HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-11-30T10:00:00Z", "cwd": "/w"}
CALL = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}}
PI = [
    HEADER,
    event("a", None, kind="model_change", provider="p", modelId="m"),
    event("b", "a", {"role": "user", "content": "fix it"}),
    event("c", "b", {"role": "assistant", "model": "m-1", "stopReason": "toolUse", "usage": usage(5, 3, 10),
                     "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Looking."}, CALL]}),
    event("d", "c", {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": True,
                     "content": [{"type": "text", "text": "no such file"}]}),
    event("x", "d", {"role": "assistant", "content": [{"type": "text", "text": "wrong way"}], "usage": usage(1, 1, 1)}),
    event("e", "d", kind="compaction", summary="we looked", firstKeptEntryId="d"),
    event("f", "e", {"role": "assistant", "stopReason": "length", "usage": usage(7, 4, 0),
                     "content": [{"type": "text", "text": "Done"}]}),
]  # fmt: skip


def balanced(outcome: Outcome) -> Any:
    assert outcome.records == outcome.accounted
    assert outcome.detected is not None
    assert outcome.detected.container.name == "cli_sessions"
    (made,) = outcome.normalised.trajectories
    return made


@pytest.mark.parametrize("packed", [False, True])
def test_a_session_of_pi(packed: bool) -> None:
    data = lines(*PI)
    outcome = read(gzip.compress(data) if packed else data)
    made = balanced(outcome)
    assert [(message.role, message.text, message.flags) for message in made.messages] == [
        ("user", "fix it", ()),
        ("assistant", "Looking.", ()),
        ("tool", "no such file", ()),
        ("user", "we looked", ("compaction_summary",)),
        ("assistant", "Done", ()),
    ]
    assert [(call.name, call.arguments_raw, call.id) for call in made.tool_calls] == [("read", '{"path":"a.py"}', "c1")]
    assert [(result.tool_call_id, result.is_error) for result in made.tool_results] == [("c1", True)]
    told = made.usage
    assert (told.input_tokens, told.output_tokens, told.cached_input_tokens, told.cost_usd) == (
        26,
        7,
        10,
        Decimal("0.5"),
    )
    assert (made.trajectory_id, made.model, made.outcome, made.output) == ("s-1", "m-1", "limit", "Done")
    assert made.metadata["cwd"] == "/w"
    assert outcome.normalised.skipped == {"session_event_without_message": 2, "abandoned_branch": 1}


def test_a_session_of_droid() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": False}
    made = balanced(read(lines(
        {"type": "session_start", "id": "d-1", "title": "fixing", "cwd": "/w"},
        {"type": "message", "id": "1", "timestamp": "2026-11-30T10:00:00Z", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}},
        {"type": "message", "id": "2", "parentId": "1", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]}},
        {"type": "message", "id": "3", "parentId": "2", "message": {"role": "user", "content": [result]}},
        {"type": "message", "id": "4", "parentId": "3", "message": {"role": "assistant", "content": [{"type": "text", "text": "there"}]}},
    )))  # fmt: skip
    assert (made.trajectory_id, made.input, made.output) == ("d-1", "go", "there")
    assert [(answer.text, answer.is_error) for answer in made.tool_results] == [("ok", False)]


def test_a_transcript_of_cursor() -> None:
    made = balanced(read(lines(
        {"role": "user", "message": {"content": [{"type": "text", "text": "go"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Read", "input": {"path": "a"}}]}},
        {"role": "assistant", "message": {"content": "found"}},
    )))  # fmt: skip
    assert [message.role for message in made.messages] == ["user", "assistant", "assistant"]
    assert [(call.name, call.arguments_raw) for call in made.tool_calls] == [("Read", '{"path":"a"}')]
    assert made.output == "found"


def test_hostile_lines_are_rejects_and_cycles_end() -> None:
    outcome = read(
        lines(
            HEADER,
            event("a", "b", {"role": "user", "content": "hi"}),
            event("b", "a", {"role": "assistant", "content": "ho"}),
            3,
            {"type": "message", "message": 5},
        )
    )
    assert [each.reason.value for each in outcome.normalised.rejects] == ["not_an_object", "unknown_format"]
    assert balanced(outcome).output == "ho"


def test_lines_of_other_formats_are_not_taken() -> None:
    for value in (
        {"role": "user", "message": "text"},
        {"role": "user", "content": "x"},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "x"}},
    ):
        assert CliSessions().detect(value) is None
