"""Records that are whole conversations, mapped rows and the presets."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from graders.errors import ConfigError
from pipelines.formats.container import Container, Normalised, SourceRecord
from pipelines.formats.containers.eval_rows import AzureRows, QuestionAnswerRows, VertexRows
from pipelines.formats.containers.mapped_rows import MappedRows
from pipelines.formats.containers.messages import Messages
from pipelines.identity import trajectory_uid
from schemas.reject import RejectReason
from schemas.trajectory import Trajectory, Usage

TALK = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


def normalise(container: Container, *values: Any) -> Normalised:
    return container.normalise([SourceRecord(value, "u", number * 100, 10) for number, value in enumerate(values)])


def one(container: Container, value: Any) -> Trajectory:
    result = normalise(container, value)
    assert (result.records_used, result.rejects, result.skipped) == (1, [], {})
    (made,) = result.trajectories
    return made


def test_a_record_with_everything() -> None:
    made = one(
        Messages(),
        {
            "id": 12345678901234567890,
            "session_id": "s1",
            "parent_id": "p1",
            "timestamp": 1743768000000,
            "model": "m-1",
            "agent": "helper",
            "input": "the task",
            "output": "the answer",
            "expected": {"b": 1, "a": 2},
            "messages": TALK,
            "usage": {
                "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            "cost": 1e-7,
            "latency_sec": 1.5,
            "metadata": {"tenant": "x", "n": 1, "model": "inner"},
            "tags": ["a", "b"],
            "flag": True,
            "nothing": None,
            "trace_id": "t1",
            "tools": [{"name": "f"}],
        },
    )  # fmt: skip
    assert made.trajectory_id == "12345678901234567890"
    assert made.trajectory_uid == trajectory_uid("u", 0, 0)
    assert (made.group_id, made.parent_id, made.model, made.agent) == ("s1", "p1", "m-1", "helper")
    assert made.event_time == datetime(2025, 4, 4, 12, tzinfo=timezone.utc)
    assert (made.input, made.output, made.output_rule, made.reference) == (
        "the task",
        "the answer",
        "field",
        '{"b":1,"a":2}',
    )
    assert made.usage == Usage(10, 5, 4, 2, Decimal("1.00E-7"), 1500)
    assert list(made.metadata.items()) == [
        ("flag", "true"), ("model", "inner"), ("n", "1"), ("tags", '["a","b"]'), ("tenant", "x"), ("trace_id", "t1"),
    ]  # fmt: skip
    assert made.issues == ()
    assert made.bytes == 10


def test_a_bare_record() -> None:
    made = one(Messages(), {"messages": TALK})
    assert (made.trajectory_id, made.input, made.output, made.output_rule) == (
        "u#0",
        "q",
        "a",
        "last_assistant_message",
    )
    assert made.usage == Usage()
    assert made.metadata == {}


def test_an_empty_output_field_is_an_output() -> None:
    made = one(Messages(), {"messages": TALK, "output": ""})
    assert (made.output, made.output_rule) == ("", "field")


def test_no_final_text() -> None:
    made = one(Messages(), {"messages": TALK[:1]})
    assert (made.output, made.output_rule, made.issues) == (None, None, ("no_final_text",))


@pytest.mark.parametrize("key", ["messages", "conversations", "conversation"])
def test_conversations_as_lists_and_as_json_text(key: str) -> None:
    text = '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]'
    assert one(Messages(), {key: TALK}).messages == one(Messages(), {key: text}).messages


def test_lists_of_lists_are_one_trajectory_each() -> None:
    result = normalise(Messages(), {"id": "x", "messages": [TALK, TALK]})
    assert [made.trajectory_id for made in result.trajectories] == ["x", "x#1"]
    assert len({made.trajectory_uid for made in result.trajectories}) == 2
    assert result.records_used == 1


def test_system_text_beside_the_messages() -> None:
    made = one(Messages(), {"system": "be brief", "messages": TALK})
    assert made.messages[0].role == "system"
    assert "system" not in made.metadata


def test_an_error_is_an_outcome_and_an_event() -> None:
    made = one(Messages(), {"messages": TALK, "error": {"type": "timeout", "message": "too late"}})
    assert made.outcome == "error"
    assert [(event.type, event.name, event.text) for event in made.events] == [("error", "timeout", "too late")]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, RejectReason.NOT_AN_OBJECT),
        (42, RejectReason.NOT_AN_OBJECT),
        ([], RejectReason.NOT_AN_OBJECT),
        ({}, RejectReason.UNKNOWN_FORMAT),
        ({"a": 1}, RejectReason.UNKNOWN_FORMAT),
        ({"messages": []}, RejectReason.NO_MESSAGES),
        ({"messages": None}, RejectReason.NO_MESSAGES),
        ({"messages": [1, {"x": 2}]}, RejectReason.NO_MESSAGES),
    ],
)
def test_what_is_no_conversation(value: Any, reason: RejectReason) -> None:
    result = normalise(Messages(), value)
    assert [entry.reason for entry in result.rejects] == [reason]
    assert result.records_used == 0


def test_long_nested_metadata_is_cut() -> None:
    made = one(Messages(), {"messages": TALK, "big": list(range(1000)), "long": "x" * 5000})
    assert len(made.metadata["big"]) == 1000
    assert made.metadata["big"].endswith("…")
    assert len(made.metadata["long"]) == 5000


def test_mapped_rows() -> None:
    fields = {
        "id": "$.meta.id", "input": "$.body.q", "output": "$['the answer']", "reference": "$.gold[0]", "metadata.tenant": "$.meta.who",
        "event_time": "$.at", "reference_tool_calls": "$.calls",
    }  # fmt: skip
    row = {
        "meta": {"id": 7, "who": "x"}, "body": '{"q": "why?"}', "the answer": "because", "gold": ["since"], "at": "2025-04-04T12:00:00Z",
        "calls": [{"name": "f", "arguments": {}}], "left": 1,
    }  # fmt: skip
    made = one(MappedRows(fields), row)
    assert (made.trajectory_id, made.input, made.output, made.output_rule, made.reference) == (
        "7",
        "why?",
        "because",
        "field",
        "since",
    )
    assert [(message.role, message.text) for message in made.messages] == [("user", "why?"), ("assistant", "because")]
    assert made.metadata == {"left": "1", "tenant": "x"}
    assert made.extra_json == '{"reference_tool_calls":[{"name":"f","arguments":{}}]}'


def test_mapped_messages_are_the_conversation_and_the_output_stands_beside_them() -> None:
    made = one(MappedRows({"messages": "$.chat", "output": "$.final"}), {"chat": TALK, "final": "other"})
    assert [message.text for message in made.messages] == ["q", "a"]
    assert (made.output, made.output_rule) == ("other", "field")


def test_a_row_without_the_mapped_fields_is_a_reject() -> None:
    result = normalise(MappedRows({"output": "$.answer"}), {"text": "x"}, 5, {"answer": ""})
    assert [entry.reason for entry in result.rejects] == [RejectReason.MISSING_FIELD, RejectReason.NOT_AN_OBJECT]
    assert "`text`" in result.rejects[0].detail
    assert [made.output for made in result.trajectories] == [""]


@pytest.mark.parametrize("fields", [{}, {"id": "$.a"}, {"output": "$.a["}, {"out": "$.a"}])
def test_bad_mappings_are_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"input\.fields"):
        MappedRows(fields)


def test_vertex_rows() -> None:
    made = one(
        VertexRows(),
        {
            "prompt": "p", "response": "r", "predicted_trajectory": [{"tool_name": "f", "tool_input": {"a": 1}}],
            "reference_trajectory": '[{"tool_name": "g", "tool_input": {}}]', "reference": "gold",
        },
    )  # fmt: skip
    assert [(message.role, message.text) for message in made.messages] == [
        ("user", "p"),
        ("assistant", None),
        ("assistant", "r"),
    ]
    assert [(call.name, call.arguments_raw) for call in made.tool_calls] == [("f", '{"a":1}')]
    assert (made.input, made.output, made.reference) == ("p", "r", "gold")
    assert made.extra_json == '{"reference_tool_calls":[{"name":"g","arguments":{}}]}'


def test_azure_rows_of_messages() -> None:
    response = [
        {
            "role": "assistant",
            "content": [{"type": "tool_call", "tool_call_id": "c", "name": "f", "arguments": {"x": 1}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "tool_result", "tool_result": {"w": 1}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ]
    made = one(AzureRows(), {"query": [{"role": "user", "content": "q"}], "response": response, "ground_truth": "g"})
    assert [message.role for message in made.messages] == ["user", "assistant", "tool", "assistant"]
    assert [(result.text, result.tool_call_id) for result in made.tool_results] == [('{"w":1}', "c")]
    assert (made.input, made.output, made.reference) == ("q", "done", "g")


def test_question_answer_rows() -> None:
    made = one(QuestionAnswerRows(), {"id": "1", "question": "q", "answer": "a", "expected": "e", "tenant": "x"})
    assert (made.trajectory_id, made.input, made.output, made.reference) == ("1", "q", "a", "e")
    assert made.metadata == {"tenant": "x"}
    only = one(QuestionAnswerRows(), {"input": "q", "reference": "e"})
    assert (only.output, only.reference, only.issues) == (None, "e", ("no_final_text",))
