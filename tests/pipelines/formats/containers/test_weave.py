"""Calls of Weave: a trace in any order, usage once, tools with their calls."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from pipelines.formats.containers.weave import Weave
from tests.pipelines.formats.reading_helper import read

OP = "weave:///team/shop/op/{}:v3"
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
QUESTION = {"role": "user", "content": "where?"}
ASKED = {"role": "assistant", "content": None, "tool_calls": [FUNCTION]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "here"}


def call(number: int, op: str, parent: int | None = 0, **more: Any) -> dict[str, Any]:
    return {
        "id": f"call-{number}",
        "project_id": "team/shop",
        "op_name": OP.format(op),
        "trace_id": "trace-1",
        "parent_id": None if parent is None else f"call-{parent}",
        "started_at": f"2026-11-30T10:00:0{number}Z",
        "ended_at": f"2026-11-30T10:00:1{number}Z",
        "exception": None,
        **more,
    }


def usage(given: int, answered: int) -> dict[str, Any]:
    return {"usage": {"m-1": {"requests": 1, "prompt_tokens": given, "completion_tokens": answered}}}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "object": "chat.completion",
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


TRACE = [
    call(0, "Shop.answer", None, inputs={"self": "weave:///x", "question": "where?"}, output="There.", summary=usage(30, 9),
         attributes={"tenant": "acme", "thread_id": "th-1"}),
    call(1, "openai.chat.completions.create", inputs={"self": "weave:///x", "model": "m-1", "messages": [QUESTION]},
         output=answer(ASKED), summary=usage(10, 4)),
    call(2, "find", inputs={"q": 1}, output="here", attributes={"kind": "tool"}),
    call(3, "openai.chat.completions.create", inputs={"model": "m-1", "messages": [QUESTION, ASKED, TOLD]},
         output=answer({"role": "assistant", "content": "There."}), summary=usage(20, 5)),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_trace_in_any_order(seed: int) -> None:
    rows = list(TRACE)
    random.Random(seed).shuffle(rows)
    outcome = read(b"\n".join(json.dumps(row).encode() for row in rows))
    assert outcome.detected is not None
    assert (outcome.detected.container.name, outcome.records, outcome.accounted) == ("weave", 4, 4)
    (made,) = outcome.normalised.trajectories
    assert [(message.role, message.text) for message in made.messages] == [
        ("user", "where?"), ("assistant", None), ("tool", "here"), ("assistant", "There."),
    ]  # fmt: skip
    assert [(each.name, each.arguments_raw) for each in made.tool_calls] == [("find", '{"q": 1}')]
    assert [(each.tool_call_id, each.is_error) for each in made.tool_results] == [("c1", False)]
    assert (made.usage.input_tokens, made.usage.output_tokens, made.usage.latency_ms) == (30, 9, 10_000)
    assert (made.trajectory_id, made.group_id, made.model, made.outcome) == ("trace-1", "th-1", "m-1", "ok")
    assert (made.metadata["tenant"], made.metadata["project_id"]) == ("acme", "team/shop")


def test_a_call_that_failed() -> None:
    (made,) = read(
        json.dumps({**TRACE[1], "parent_id": None, "output": None, "exception": "RateLimitError: slow down"}).encode()
    ).normalised.trajectories
    assert (made.outcome, made.input) == ("error", "where?")
    assert [event.text for event in made.events] == ["RateLimitError: slow down"]


@pytest.mark.parametrize(
    ("op", "is_call"),
    [
        ("anthropic.Messages.create", True), ("google.genai.models.Models.generate_content", True), ("litellm.acompletion", True),
        ("openai.responses.create", True), ("Evaluation.predict_and_score", False), ("my_messages.created", False),
    ],
)  # fmt: skip
def test_model_calls_by_name(op: str, is_call: bool) -> None:
    row = call(0, op, None, inputs={"messages": [QUESTION]}, output="ok", summary=usage(1, 1))
    (made,) = read(json.dumps(row).encode()).normalised.trajectories or [None]
    assert made is not None
    assert (made.usage.input_tokens == 1) is is_call


def test_rows_of_other_tools_are_not_taken() -> None:
    for value in ({"op_name": "x"}, {"trace_id": "t", "inputs": {}}, {"op_name": 3, "trace_id": "t", "inputs": {}}):
        assert Weave().detect(value) is None
