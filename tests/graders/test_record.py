from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.record import to_trajectory
from schemas.trajectory import Message, ToolCall, ToolResult, Trajectory
from schemas.trajectory_batch import to_record_batch


def test_an_empty_record_knows_nothing() -> None:
    trajectory = to_trajectory({})
    assert trajectory == Trajectory(source_format="record")
    assert (trajectory.output, trajectory.reference, trajectory.usage.input_tokens) == (None, None, None)


def test_openai_messages() -> None:
    trajectory = to_trajectory(
        {
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "Weather "}, {"type": "text", "text": "in Rome?"}],
                },
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "21 C"},
                {"role": "assistant", "content": "21 degrees."},
            ]
        }
    )
    assert trajectory.messages == (
        Message("system", "Be brief."),
        Message("user", "Weather in Rome?"),
        Message("assistant", None),
        Message("tool", "21 C", tool_call_id="c1"),
        Message("assistant", "21 degrees."),
    )
    assert trajectory.tool_calls == (ToolCall("weather", '{"city": "Rome"}', "c1", 2),)
    assert trajectory.tool_results == (ToolResult("21 C", "c1", None, None, 3),)
    assert (trajectory.output, trajectory.output_rule) == ("21 degrees.", "last_assistant_message")


def test_anthropic_messages() -> None:
    trajectory = to_trajectory(
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Let me look."},
                        {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "is_error": True,
                            "content": [{"type": "text", "text": "no"}],
                        }
                    ],
                },
            ]
        }
    )
    assert trajectory.messages == (Message("assistant", "Let me look."), Message("user", None))
    assert trajectory.tool_calls == (ToolCall("read", '{"path":"a"}', "t1", 0),)
    assert trajectory.tool_results == (ToolResult("no", "t1", None, True, 1),)


@pytest.mark.parametrize(
    ("record", "output"),
    [
        ({"output": ""}, ""),
        ({"output": None, "messages": [{"role": "assistant", "content": "a"}]}, None),
        ({"messages": [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]}, "a"),
        ({"messages": [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": None}]}, None),
        ({"messages": [{"role": "user", "content": "b"}]}, None),
        ({"output": {"a": 1}}, '{"a":1}'),
    ],
)
def test_output(record: dict[str, Any], output: str | None) -> None:
    assert to_trajectory(record).output == output


def test_vally_events() -> None:
    trajectory = to_trajectory(
        {
            "events": [
                {"type": "turn_start", "data": {"turnId": "1"}},
                {"type": "user_message", "data": {"content": "go"}},
                {"type": "assistant_message", "data": {"content": "on it"}},
                {"type": "tool_call", "data": {"toolName": "bash", "toolCallId": "1", "arguments": {"command": "ls"}}},
                {
                    "type": "tool_result",
                    "data": {"toolName": "bash", "toolCallId": "1", "success": False, "result": {"code": 1}},
                },
                {"type": "token_usage", "data": {"inputTokens": 5, "outputTokens": 2}},
                {"type": "token_usage", "data": {"inputTokens": 7}},
                {"type": "skill_activation", "data": {"name": "review", "path": "/x"}},
                {"type": "error", "data": {"message": "boom"}},
                {"type": "turn_end"},
            ]
        }
    )
    assert trajectory.messages == (Message("user", "go"), Message("assistant", "on it"))
    assert trajectory.tool_calls == (ToolCall("bash", '{"command":"ls"}', "1", None),)
    assert trajectory.tool_results == (ToolResult('{"code":1}', "1", "bash", True),)
    assert (trajectory.usage.input_tokens, trajectory.usage.output_tokens) == (12, 2)
    assert [(event.type, event.name, event.text) for event in trajectory.events] == [
        ("turn_start", None, None),
        ("skill_activation", "review", None),
        ("error", None, "boom"),
        ("turn_end", None, None),
    ]
    assert trajectory.output == "on it"


def test_messages_outrank_message_events() -> None:
    record = {"messages": [], "events": [{"type": "assistant_message", "data": {"content": "a"}}]}
    assert to_trajectory(record).messages == ()


def test_metrics_and_other_keys_are_kept() -> None:
    trajectory = to_trajectory(
        {"metrics": {"wallTimeMs": 5, "tokenUsage": {"inputTokens": 3}}, "context": "c", "id": 7}
    )
    assert trajectory.extra_json == '{"metrics":{"wallTimeMs":5,"tokenUsage":{"inputTokens":3}},"context":"c"}'
    assert (trajectory.usage.latency_ms, trajectory.usage.input_tokens, trajectory.usage.output_tokens) == (5, 3, None)
    assert trajectory.trajectory_id == "7"


def test_metadata_becomes_text() -> None:
    assert to_trajectory({"metadata": {"tenant": "a", "n": 1, "tags": ["x"], "none": None}}).metadata == {
        "tenant": "a",
        "n": "1",
        "tags": '["x"]',
        "none": "",
    }


@pytest.mark.parametrize(
    "record",
    [
        5,
        {"messages": "hello"},
        {"messages": ["a"]},
        {"messages": [{"content": "a"}]},
        {"events": [{"data": {}}]},
        {"messages": [{"role": "user", "content": [5]}]},
    ],
)
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(TypeError):
        to_trajectory(record)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "type", "role"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["output", "reference", "input", "metadata", "metrics", "other"]), JSON, max_size=4
    ),
    st.lists(JSON),
)
def test_any_record_becomes_storable_or_is_refused(fields: dict[str, Any], contents: list[Any]) -> None:
    record = {**fields, "messages": [{"role": "assistant", "content": content} for content in contents]}
    try:
        trajectory = to_trajectory(record)
    except TypeError:
        return
    assert to_record_batch([trajectory]).num_rows == 1
