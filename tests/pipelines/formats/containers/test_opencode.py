"""OpenCode sessions: exported whole, and as the files of its stores in any order."""

from __future__ import annotations

import dataclasses
import json
import random
from decimal import Decimal
from typing import Any

import pytest

from pipelines.formats.container import SourceRecord
from pipelines.formats.containers.opencode import OpenCode
from tests.pipelines.formats.reading_helper import read, run

SESSION = {
    "id": "ses_1",
    "parentID": "ses_0",
    "title": "fixing",
    "directory": "/w",
    "time": {"created": 1_764_489_600_000},
}
TOKENS = {"input": 5, "output": 3, "reasoning": 1, "cache": {"read": 10, "write": 2}}


def part(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": f"prt_{number}", "sessionID": "ses_1", "messageID": f"msg_{number // 10}", "type": kind, **more}


MESSAGES: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1_764_489_600_001}},
        [part(10, "text", text="fix it"), part(11, "text", text="<file>", synthetic=True), part(12, "text", text="no", ignored=True)],
    ),
    (
        {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "modelID": "m-1", "tokens": TOKENS, "cost": 0.25, "finish": "tool-calls"},
        [
            part(20, "step-start"),
            part(21, "reasoning", text="hm"),
            part(22, "text", text="Looking."),
            part(23, "tool", callID="c1", tool="read", state={"status": "completed", "input": {"path": "a"}, "output": "text"}),
            part(24, "tool", callID="c2", tool="bash", state={"status": "error", "input": {"command": "x"}, "error": "not found"}),
            part(25, "tool", callID="c3", tool="bash", state={"status": "running", "input": {}}),
            part(26, "step-finish", tokens=TOKENS, cost=0.25),
        ],
    ),
    (
        {"id": "msg_3", "sessionID": "ses_1", "role": "assistant", "modelID": "m-1", "tokens": TOKENS, "cost": 0.25, "finish": "stop"},
        [part(30, "text", text="Done.")],
    ),
]  # fmt: skip
EXPORT = {"info": SESSION, "messages": [{"info": info, "parts": parts} for info, parts in MESSAGES]}
STORES = [SESSION, *(info for info, _ in MESSAGES), *(each for _, parts in MESSAGES for each in parts)]


def test_an_export() -> None:
    outcome = read(json.dumps(EXPORT, indent=2).encode())
    assert outcome.detected is not None
    assert (outcome.detected.container.name, outcome.records, outcome.accounted) == ("opencode", 1, 1)
    (made,) = outcome.normalised.trajectories
    assert [(message.role, message.text, message.flags) for message in made.messages] == [
        ("user", "fix it", ()),
        ("user", "<file>", ("injected",)),
        ("assistant", "Looking.", ()),
        ("tool", "text", ()),
        ("tool", "not found", ()),
        ("assistant", "Done.", ()),
    ]
    assert [(call.name, call.arguments_raw, call.id, call.message_index) for call in made.tool_calls] == [
        ("read", '{"path":"a"}', "c1", 2),
        ("bash", '{"command":"x"}', "c2", 2),
        ("bash", "{}", "c3", 2),
    ]
    assert [(result.tool_call_id, result.is_error) for result in made.tool_results] == [("c1", False), ("c2", True)]
    told = made.usage
    assert (told.input_tokens, told.output_tokens, told.cached_input_tokens, told.cost_usd) == (
        34,
        6,
        20,
        Decimal("0.5"),
    )
    assert (made.trajectory_id, made.parent_id, made.model, made.outcome) == ("ses_1", "ses_0", "m-1", "ok")
    assert (made.input, made.output, made.metadata["title"]) == ("fix it", "Done.", "fixing")
    assert made.event_time is not None
    assert made.event_time.isoformat() == "2025-11-30T08:00:00+00:00"


@pytest.mark.parametrize("seed", range(4))
def test_the_files_of_the_stores_in_any_order(seed: int) -> None:
    (expected,) = read(json.dumps(EXPORT).encode()).normalised.trajectories
    values = list(STORES)
    random.Random(seed).shuffle(values)
    records = [SourceRecord(value, f"f{number}", 0, 10) for number, value in enumerate(values)]
    pieces, result = run(records, OpenCode())
    assert (len(pieces), result.records_used) == (len(values), len(values))
    (made,) = result.trajectories
    same = {"trajectory_uid": "", "source_uri": "", "bytes": 0}
    assert dataclasses.replace(made, **same) == dataclasses.replace(expected, **same)


def test_parts_whose_message_is_missing_are_told() -> None:
    records = [
        SourceRecord(value, "f", number, 10) for number, value in enumerate(STORES) if value.get("id") != "msg_3"
    ]
    (made,) = run(records, OpenCode())[1].trajectories
    assert made.output == "Done."
    assert "message_of_parts_missing" in made.issues


def test_a_session_in_which_nothing_was_said_is_skipped() -> None:
    _, result = run([SourceRecord(SESSION, "f", 0, 10)], OpenCode())
    assert (result.trajectories, result.skipped) == ([], {"session_without_messages": 1})


def test_messages_with_an_info_of_their_own_are_not_taken() -> None:
    for value in (
        {"info": {}, "messages": [{"role": "user", "content": "x"}]},
        {"id": "ses_1"},
        {"sessionID": 5, "role": "user"},
    ):
        assert OpenCode().detect(value) is None
