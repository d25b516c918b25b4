"""Finding the container of a file by vote, or by name."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from graders.errors import ConfigError
from pipelines.formats.container import Container, SourceRecord
from pipelines.formats.containers.unknown import Unknown
from pipelines.formats.detection import container_by_name, container_classes, detect
from schemas.reject import RejectReason

TALK = {"messages": [{"role": "user", "content": "q"}]}


def name_of(*values: Any) -> str:
    return detect(values, "u").container.name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (TALK, "messages"),
        ({"conversations": [{"from": "human", "value": "q"}]}, "messages"),
        ([{"role": "user", "content": "q"}], "messages"),
        ({"messages": '[{"role":"user","content":"q"}]'}, "messages"),
        ({"role": "user", "content": "q"}, "message_lines"),
        ({"input": "q", "output": "a", "reference": "r"}, "question_answer"),
        ({"prompt": "q", "completion": "a"}, "question_answer"),
        ({"query": "q", "response": "a"}, "azure_ai_eval"),
        ({"prompt": "q", "predicted_trajectory": []}, "vertex_eval"),
        ({"schema_version": "ATIF-v1.4", "steps": []}, "atif"),
        ({"type": "trial-result"}, "vally"),
        ({"resourceSpans": []}, "otlp"),
        ({"type": "session_meta", "payload": {}}, "codex"),
        ({"type": "thread.started", "thread_id": "x"}, "codex"),
        ({"type": "user.message", "data": {}, "id": "1", "parentId": None}, "copilot_cli"),
        ({"sessionId": "s", "uuid": "u", "type": "user", "message": {}}, "claude_code"),
        ({"type": "assistant", "session_id": "s", "message": {}}, "claude_stream"),
        ({"sessionId": "s", "projectHash": "h", "messages": []}, "gemini_cli"),
        ({"kind": "MessageEvent", "source": "user"}, "openhands_sdk"),
        ({"source": "user", "action": "message"}, "openhands"),
        ({"trajectory_format": "mini-swe-agent-1", "messages": []}, "mini_swe_agent"),
        ({"history": [{"role": "system", "content": "x", "agent": "main"}]}, "swe_agent"),
        ({"version": 2, "status": "success", "eval": {}, "samples": []}, "inspect"),
        ({"transcript_id": "t", "messages": "[]"}, "inspect_scout"),
        ({"trace": {"id": "t"}, "observations": []}, "langfuse"),
        ({"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "x"}, "langfuse"),
        ({"id": "r", "run_type": "llm", "trace_id": "t"}, "langsmith"),
        ({"info": {}, "data": {"spans": []}}, "mlflow"),
        ({"span_id": "s", "root_span_id": "s", "span_attributes": {}}, "braintrust"),
        ({"context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM", "attributes": {}}, "phoenix"),
        ({"gen_ai.operation.name": "chat"}, "otel_spans"),
        ({"spanContext": {"traceId": "t"}, "attributes": {}}, "otel_spans"),
        ({"eval_set_id": "e", "eval_cases": []}, "adk_evalset"),
        ({"id": "s", "events": [{"author": "user"}]}, "adk_session"),
        ({"responderUsername": "x", "requests": []}, "vscode_chat"),
        ({"prompts": [], "totalLogEntries": 0}, "vscode_chatreplay"),
        ({"custom_id": "1", "body": {}}, "llm_calls"),
        ({"object": "chat.completion", "choices": []}, "llm_calls"),
        ({"object": "response", "output": []}, "llm_calls"),
        ({"contents": []}, "llm_calls"),
        ({"messages": [], "kwargs": {}, "response": {"choices": []}}, "llm_calls"),
        ({"type": "function_call", "call_id": "c", "name": "f"}, "responses_items"),
        ({"generated_items": [], "original_input": "x"}, "agents_sdk"),
        ({"traj": [], "reward": 1}, "tau_bench"),
        ({"answer_generation": {}, "tree": {}}, "toolbench"),
        ({"chosen": "a", "rejected": "b"}, "preference_pairs"),
        ({"x": 1}, "unknown"),
        (42, "unknown"),
    ],
)
def test_containers_by_their_keys(value: Any, name: str) -> None:
    assert name_of(value) == name


def test_most_of_the_first_records_decide() -> None:
    assert name_of({"type": "header"}, TALK, TALK, {"query": "q", "response": "a"}) == "messages"
    detected = detect([None, TALK, 5], "u")
    assert detected.container.name == "messages"
    assert "1 of the first 3" in detected.why


def test_every_container_has_a_name_and_travels_to_workers() -> None:
    classes = container_classes()
    assert len(classes) > 35
    for name, kind in classes.items():
        if name == "mapped_rows":
            continue
        container = pickle.loads(pickle.dumps(kind()))
        assert isinstance(container, Container)
        assert (container.name, container.grouping in ("record", "file", "key")) == (name, True)
    mapped = pickle.loads(pickle.dumps(container_by_name("mapped_rows", {"fields": {"output": "$.a"}})))
    assert mapped.paths == {"output": ("a",)}


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {}, {"a": 1}, {"type": 5}, {"messages": 3}, {"trace_id": []}])
@pytest.mark.parametrize("name", [name for name in container_classes() if name != "mapped_rows"])
def test_no_container_raises_for_foreign_records(name: str, value: Any) -> None:
    container = container_by_name(name) if name != "unknown" else Unknown()
    record = SourceRecord(value, "u", 0, 1)
    container.detect(value)
    container.key(record)
    pieces = list(container.pieces(record))
    result = container.normalise(pieces)
    assert len(pieces) == result.records_used + len(result.rejects) + sum(result.skipped.values())


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match='did you mean "messages"'):
        container_by_name("mesages")
    with pytest.raises(ConfigError, match="takes no options"):
        container_by_name("messages", {"fields": {}})


def test_an_unknown_record_is_told_its_keys_and_a_mapping() -> None:
    value = {f"k{number}": number for number in range(11)} | {"the text": "a long answer"}
    (rejected,) = Unknown().normalise([SourceRecord(value, "u", 0, 1)]).rejects
    assert rejected.reason is RejectReason.UNKNOWN_FORMAT
    assert "`k0`, `k1`" in rejected.detail
    assert "`k9`, …" in rejected.detail
    assert "fields: {output: $['the text']}" in rejected.detail
