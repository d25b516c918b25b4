"""Single model calls: pairs, bodies alone, batches, streams, and conversations that grow call by call."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pipelines.formats.container import Normalised, SourceRecord
from pipelines.formats.containers.llm_calls import LlmCalls
from schemas.reject import RejectReason
from schemas.trajectory import Usage
from tests.pipelines.formats.reading_helper import run


def normalise(*values: Any, uri: str = "u") -> Normalised:
    return run([SourceRecord(value, uri, number * 100, 10) for number, value in enumerate(values)], LlmCalls())[1]


def chat(answer: str, model: str = "m", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer}
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return {
        "id": f"r-{answer}",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message}],
        "usage": usage,
        **more,
    }


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def test_a_pair_of_request_and_response() -> None:
    (made,) = normalise(
        {"request": {"model": "m", "messages": [user("q")]}, "response": chat("a"), "latency_ms": 40}
    ).trajectories
    assert [(m.role, m.text) for m in made.messages] == [("user", "q"), ("assistant", "a")]
    assert (made.trajectory_id, made.model, made.output) == ("r-a", "m", "a")
    assert made.usage == Usage(10, 2, None, None, None, 40)


def test_growing_prefixes_are_one_conversation_and_usage_is_summed() -> None:
    first = {"request": {"messages": [user("a")]}, "response": chat("b")}
    second = {"request": {"messages": [user("a"), assistant("b"), user("c")]}, "response": chat("d")}
    for order in ((first, second), (second, first)):
        result = normalise(*order)
        assert [[m.text for m in made.messages] for made in result.trajectories] == [["a", "b", "c", "d"]]
        assert result.trajectories[0].usage.input_tokens == 20
        assert result.records_used == 2


def test_independent_calls_that_begin_alike_stay_apart() -> None:
    call = {"request": {"messages": [user("hi")]}, "response": chat("x")}
    other = {"request": {"messages": [user("hi")]}, "response": chat("y")}
    assert [made.output for made in normalise(call, other, call).trajectories] == ["x", "y", "x"]


def test_a_conversation_id_joins_across_files() -> None:
    one = SourceRecord(
        {"conversation_id": "c", "request": {"messages": [user("a")]}, "response": chat("b")}, "one", 0, 1
    )
    two = SourceRecord(
        {
            "conversation_id": "c",
            "request": {"messages": [user("a"), assistant("b"), user("c")]},
            "response": chat("d"),
        },
        "two",
        0,
        1,
    )
    (made,) = run([two, one], LlmCalls())[1].trajectories
    assert (made.trajectory_id, [m.text for m in made.messages]) == ("c", ["a", "b", "c", "d"])


def test_choices_are_trajectories_and_usage_is_counted_once() -> None:
    answer = chat("a")
    answer["choices"].append({"index": 1, "message": assistant("b")})
    result = normalise({"request": {"messages": [user("q")]}, "response": answer})
    assert [(made.trajectory_id, made.output, made.usage.input_tokens) for made in result.trajectories] == [
        ("r-a#0", "a", 10),
        ("r-a#1", "b", None),
    ]
    assert result.records_used == 1


def test_batch_lines_are_joined_whatever_their_order() -> None:
    prompt = {
        "custom_id": "r1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m", "messages": [user("q")]},
    }
    answer = {"id": "b", "custom_id": "r1", "response": {"status_code": 200, "body": chat("a")}, "error": None}
    failed = {"id": "b2", "custom_id": "r2", "response": None, "error": {"code": "3", "message": "boom"}}
    result = normalise(failed, answer, prompt)
    by_id = {made.trajectory_id: made for made in result.trajectories}
    assert [m.text for m in by_id["r1"].messages] == ["q", "a"]
    assert (by_id["r2"].outcome, [event.text for event in by_id["r2"].events]) == ("error", ["boom"])
    assert result.records_used == 3


def test_anthropic_batch_results() -> None:
    message = {"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "max_tokens",
               "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 7}}  # fmt: skip
    result = normalise(
        {"custom_id": "a", "result": {"type": "succeeded", "message": message}},
        {"custom_id": "b", "result": {"type": "expired"}},
    )
    first, second = sorted(result.trajectories, key=lambda made: made.trajectory_id)
    assert (first.output, first.outcome, first.usage.input_tokens, first.usage.cached_input_tokens) == (
        "hi",
        "limit",
        17,
        7,
    )
    assert (second.outcome, second.messages) == ("error", ())


def test_responses_are_chained_by_the_one_before() -> None:
    def response(own: str, before: str | None, text: str) -> dict[str, Any]:
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        return {
            "id": own,
            "object": "response",
            "created_at": 1,
            "output": [item],
            "previous_response_id": before,
            "status": "completed",
        }

    (made,) = normalise(
        {"request": {"input": "one", "model": "m"}, "response": response("r1", None, "a")},
        {
            "request": {"input": "two", "model": "m", "previous_response_id": "r1"},
            "response": response("r2", "r1", "b"),
        },
    ).trajectories
    assert [m.text for m in made.messages] == ["one", "a", "two", "b"]


def test_streams_are_put_together() -> None:
    anthropic = "\n".join(
        f"data: {line}"
        for line in (
            '{"type":"message_start","message":{"id":"m","model":"c","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}',
            '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"he"}}',
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"llo"}}',
            '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}',
            '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":"}}',
            '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}',
            '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}',
        )
    )
    (made,) = normalise({"request": {"messages": [user("q")], "model": "c"}, "response": anthropic}).trajectories
    assert [(m.role, m.text) for m in made.messages] == [("user", "q"), ("assistant", "hello")]
    assert [(call.name, call.arguments_raw) for call in made.tool_calls] == [("f", '{"a":1}')]
    assert made.usage == Usage(3, 9)
    gemini = [
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": part}]}}],
            "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 1, "thoughtsTokenCount": 2},
        }
        for part in ("he", "llo")
    ]
    (other,) = normalise({"method": "generateContentStream", "response": gemini}).trajectories
    assert (other.output, other.usage.output_tokens, other.issues) == ("hello", 3, ("prompt_missing",))


def test_litellm_logs() -> None:
    (made,) = normalise(
        {"messages": [user("q")], "kwargs": {"temperature": 0}, "response": chat("a"), "cost": 0.01, "latency_sec": 2}
    ).trajectories
    assert (made.input, made.output, made.usage.cost_usd, made.usage.latency_ms) == (
        "q",
        "a",
        Decimal("0.010000000"),
        2000,
    )


def test_what_is_no_call() -> None:
    result = normalise({"error": {"message": "bad", "type": "invalid_request_error"}}, {"x": 1}, 5)
    assert sorted(entry.reason.value for entry in result.rejects) == ["no_messages", "unknown_format", "unknown_format"]
    assert RejectReason.NO_MESSAGES in {entry.reason for entry in result.rejects}
