"""The nine message dialects: one small example each, and the traps of each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.formats.dialects import dialect_of, normalise_messages
from pipelines.formats.dialects.conversation import Conversation


def talk_of(*items: Any) -> Conversation:
    talk = Conversation()
    normalise_messages(items, talk)
    return talk


def said(talk: Conversation) -> list[tuple[str, str | None]]:
    return [(message.role, message.text) for message in talk.messages]


def called(talk: Conversation) -> list[tuple[str, str, str | None, int | None]]:
    return [(call.name, call.arguments_raw, call.id, call.message_index) for call in talk.calls]


def answered(talk: Conversation) -> list[tuple[str | None, str | None, bool | None]]:
    return [(result.text, result.tool_call_id, result.is_error) for result in talk.results]


#: Every dialect's way to say: a question, a call, its answer, the final word.
EXAMPLES: dict[str, list[Any]] = {
    "openai_chat": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "assistant", "content": "done"},
    ],
    "openai_responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "do"}, {"type": "output_text", "text": "ne"}]},
    ],
    "anthropic": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "r"}]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "do"}, {"type": "text", "text": "ne"}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "id": "c1", "response": {"output": "r"}}}]},
        {"role": "model", "parts": [{"text": "do"}, {"text": "ne"}]},
    ],
    "otel_genai": [
        {"role": "user", "parts": [{"type": "text", "content": "q"}]},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "r"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"},
    ],
    "langchain": [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": "q"}},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c1"}]}},
        {"type": "tool", "content": "r", "tool_call_id": "c1"},
        {"type": "ai", "content": "done"},
    ],
    "vercel_ai": [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": {"a": 1}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "f", "output": {"type": "text", "value": "r"}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ],
    "sharegpt": [
        {"from": "human", "value": "q"},
        {"from": "function_call", "value": '{"name": "f", "arguments": {"a": 1}, "id": "c1"}'},
        {"from": "observation", "value": "r"},
        {"from": "gpt", "value": "done"},
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "r"}]}}]},
        {"role": "assistant", "content": [{"text": "done"}]},
    ],
    "vercel_ui": [
        {"role": "user", "parts": [{"type": "text", "text": "q"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "tool-f", "toolCallId": "c1", "state": "output-available", "input": {"a": 1}, "output": "r"},
            ],
        },
        {"role": "assistant", "parts": [{"type": "text", "text": "done"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("dialect", EXAMPLES)
def test_every_dialect_tells_the_same_story(dialect: str) -> None:
    talk = talk_of(*EXAMPLES[dialect])
    first_call = said(talk)[1][1]
    assert first_call in (None, "")
    assert [said(talk)[0], *said(talk)[2:]] == [("user", "q"), ("tool", "r"), ("assistant", "done")]
    ((name, arguments, call_id, index),) = called(talk)
    assert (name, arguments, index) == ("f", '{"a":1}', 1)
    assert answered(talk) == [("r", call_id, None)]
    assert talk.final_output() == ("done", "last_assistant_message")
    assert not talk.issues


@pytest.mark.parametrize("dialect", EXAMPLES)
def test_a_message_names_its_dialect(dialect: str) -> None:
    told = [dialect_of(item) for item in EXAMPLES[dialect]]
    assert dialect in told
    assert set(told) <= {dialect, "openai_chat", "vercel_ui"}


def test_dialects_are_told_per_message() -> None:
    mixed = [EXAMPLES["openai_chat"][0], EXAMPLES["anthropic"][1], EXAMPLES["langchain"][2], EXAMPLES["gemini"][3]]
    talk = talk_of(*mixed)
    assert said(talk) == [("user", "q"), ("assistant", None), ("tool", "r"), ("assistant", "done")]
    assert answered(talk) == [("r", "c1", None)]


def test_a_user_message_with_results_is_split_in_order() -> None:
    blocks = [
        {"type": "text", "text": "before"},
        {"type": "tool_result", "tool_use_id": "a", "content": "one", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b", "is_error": False},
        {"type": "text", "text": "after"},
    ]
    talk = talk_of({"role": "user", "content": blocks})
    assert said(talk) == [("user", "before"), ("tool", "one"), ("tool", None), ("user", "after")]
    assert answered(talk) == [("one", "a", True), (None, "b", False)]


@pytest.mark.parametrize(
    ("arguments", "raw", "parsed"),
    [
        ('{"a": 1}', '{"a": 1}', {"a": 1}),
        ({"a": 1}, '{"a":1}', {"a": 1}),
        ("", "", {}),
        (None, "", {}),
        ('{"a": 1', '{"a": 1', None),
        ([1], "[1]", [1]),
    ],
)
def test_arguments_keep_their_text(arguments: Any, raw: str, parsed: Any) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    (made,) = talk_of({"role": "assistant", "tool_calls": [call]}).calls
    assert made.arguments_raw == raw
    assert made.parsed[0] == parsed
    assert (made.parsed[1] is None) == (parsed is not None)


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "c", "name": "f", "arguments": "{}"},
        {"id": "c", "name": "f", "args": {}, "type": "tool_call"},
        {"id": "c", "function": "f", "arguments": {}},
        {"id": "c", "type": "custom", "custom": {"name": "f", "input": "{}"}},
        {"toolCallId": "c", "toolName": "f", "input": {}},
        {"type": "tool_call", "tool_call": {"id": "c", "function": {"name": "f", "arguments": "{}"}}},
    ],
)
def test_calls_in_every_shape(call: dict[str, Any]) -> None:
    talk = talk_of({"role": "assistant", "content": None, "tool_calls": [call]})
    assert called(talk) == [("f", "{}", "c", 0)]


def test_calls_without_ids_are_answered_by_name_and_order() -> None:
    talk = talk_of(
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "g", "args": {}}},
                                    {"functionCall": {"name": "f", "args": {"b": 2}}}]},
        {"role": "function", "parts": [{"functionResponse": {"name": "g", "response": {"error": "no"}}},
                                       {"functionResponse": {"name": "f", "response": {"x": 1, "y": 2}}},
                                       {"functionResponse": {"name": "f", "response": {"result": "two"}}},
                                       {"functionResponse": {"name": "h", "response": {}}}]},
    )  # fmt: skip
    assert [call.id for call in talk.calls] == ["call_0", "call_0_1", "call_0_2"]
    assert answered(talk) == [
        ("no", "call_0_1", True), ('{"x":1,"y":2}', "call_0", None), ("two", "call_0_2", None), ("{}", None, None),
    ]  # fmt: skip
    assert "orphan_tool_result" in talk.issues


def test_a_legacy_function_call() -> None:
    talk = talk_of(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    )
    assert called(talk) == [("f", "{}", "call_0", 0)]
    assert answered(talk) == [("r", "call_0", None)]


def test_null_filled_structs_have_no_calls() -> None:
    talk = talk_of({"role": "assistant", "content": "hi", "tool_calls": None, "function_call": None, "name": None})
    assert talk.calls == []
    assert said(talk) == [("assistant", "hi")]


def test_calls_that_content_and_tool_calls_both_hold_are_one() -> None:
    message = {
        "type": "ai",
        "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}],
        "tool_calls": [{"name": "f", "args": {}, "id": "c1"}],
    }
    assert called(talk_of(message)) == [("f", "{}", "c1", 0)]


def test_a_refusal_is_what_the_agent_said() -> None:
    talk = talk_of(
        {"role": "assistant", "content": None, "refusal": "I can't."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I won't."}]},
    )
    assert [text for _, text in said(talk)] == ["I can't.", "I won't."]


def test_text_is_null_empty_or_there() -> None:
    talk = talk_of(
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": []},
    )
    assert [text for _, text in said(talk)] == [None, "", None]


def test_pieces_of_one_text_touch_and_other_parts_stand_on_lines() -> None:
    cited = [{"type": "text", "text": "The sky "}, {"type": "text", "text": "is blue."}]
    apart = [
        {"type": "text", "text": "one"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        {"type": "text", "text": "two"},
    ]
    talk = talk_of(
        {"role": "assistant", "content": cited},
        {"role": "assistant", "content": apart},
        {"role": "user", "content": cited},
    )
    assert [text for _, text in said(talk)] == ["The sky is blue.", "one\ntwo", "The sky \nis blue."]


def test_what_is_no_text_is_said_to_be_left_out() -> None:
    talk = talk_of(
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:"}}],
        }
    )
    assert said(talk) == [("user", "see")]
    assert list(talk.issues) == ["non_text_part"]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, None), ({"is_error": True}, True), ({"is_error": False}, False), ({"success": True}, False), ({"status": "error"}, True),
        ({"status": "success"}, False), ({"error": {"type": "timeout"}}, True), ({"error": None}, None),
    ],
)  # fmt: skip
def test_a_results_error_is_three_valued(extra: dict[str, Any], expected: bool | None) -> None:
    talk = talk_of({"role": "tool", "tool_call_id": "c", "content": "r", **extra})
    assert answered(talk) == [("r", "c", expected)]
    assert talk.messages[0].is_error is expected


def test_built_in_tools_hold_call_and_result() -> None:
    talk = talk_of(
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "x"}},
        {"type": "code_interpreter_call", "id": "ci", "status": "failed", "code": "1/0"},
        {"type": "mcp_call", "id": "m", "name": "lookup", "arguments": "{}", "output": "o"},
    )
    assert [(name, call_id) for name, _, call_id, _ in called(talk)] == [
        ("web_search", "ws"),
        ("code_interpreter", "ci"),
        ("lookup", "m"),
    ]
    assert answered(talk) == [(None, "ws", False), (None, "ci", True), ("o", "m", None)]


def test_roles_of_all_kinds() -> None:
    roles = ["developer", "human", "ai", "model", "bot", "observation", "Assistant", "critic"]
    talk = talk_of(*({"role": role, "content": "x"} for role in roles))
    assert [role for role, _ in said(talk)] == [
        "system",
        "user",
        "assistant",
        "assistant",
        "assistant",
        "tool",
        "assistant",
        "system",
    ]
    assert "unknown_role" in talk.issues


def test_the_final_word_is_never_a_tool_call_nor_the_user() -> None:
    talk = talk_of(
        {"role": "assistant", "content": "the answer"},
        {"role": "assistant", "content": "one more look", "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"role": "assistant", "content": "  "},
        {"role": "user", "content": "thanks"},
    )
    assert talk.final_output() == ("the answer", "last_assistant_message")
    assert talk_of({"role": "assistant", "content": "look", "tool_calls": [{"name": "f"}]}).final_output() == (
        "look",
        "last_assistant_text",
    )
    assert talk_of({"role": "user", "content": "hi"}).final_output() == (None, None)


MESSY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["user", "assistant", "tool", "text", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "parts", "tool_calls", "function", "name", "arguments", "id", "from", "value",
                 "tool_call_id", "kwargs", "lc", "data", "functionCall", "functionResponse", "toolUse", "toolResult", "input", "output"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)  # fmt: skip


@given(st.lists(MESSY, max_size=3))
def test_no_message_of_any_shape_raises(items: list[Any]) -> None:
    talk = talk_of(*items)
    for call in talk.calls:
        assert isinstance(call.name, str)
        assert call.message_index is not None
        assert 0 <= call.message_index < len(talk.messages)
    for message in talk.messages:
        assert message.text is None or isinstance(message.text, str)
        assert message.role in ("system", "user", "assistant", "tool")
