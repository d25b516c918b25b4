"""Spans of all tracing systems: order never matters, usage is counted once, nothing is lost."""

from __future__ import annotations

import dataclasses
import json
import random
from typing import Any

import pytest

from pipelines.formats.container import Container, Normalised, SourceRecord
from pipelines.formats.containers.braintrust import Braintrust
from pipelines.formats.containers.langfuse import Langfuse
from pipelines.formats.containers.langsmith import LangSmith
from pipelines.formats.containers.mlflow import MlFlow
from pipelines.formats.containers.otel_spans import OtelSpans
from pipelines.formats.containers.otlp import Otlp
from pipelines.formats.containers.phoenix import Phoenix
from pipelines.formats.spans.wire import hex_id, nanoseconds
from schemas.trajectory import Trajectory, Usage
from tests.pipelines.formats.reading_helper import run

TRACE = "0af7651916cd43dd8448eb211c80319c"


def normalise(container: Container, *values: Any, uri: str = "u") -> Normalised:
    pieces, result = run([SourceRecord(value, uri, number * 100, 10) for number, value in enumerate(values)], container)
    assert len(pieces) == result.records_used + len(result.rejects) + sum(result.skipped.values())
    return result


def said(made: Trajectory) -> list[tuple[str, str | None]]:
    return [(message.role, message.text) for message in made.messages]


def attributes(**plain: Any) -> list[dict[str, Any]]:
    def value(item: Any) -> dict[str, Any]:
        if isinstance(item, int):
            return {"intValue": str(item)}
        return {"stringValue": item if isinstance(item, str) else json.dumps(item)}

    return [{"key": key.replace("__", "."), "value": value(item)} for key, item in plain.items()]


def otlp_span(span: str, parent: str | None, start: int, **plain: Any) -> dict[str, Any]:
    body = {
        "traceId": TRACE, "spanId": span * 16, "name": plain.pop("name", "s"), "startTimeUnixNano": str(10**18 + start * 10**9),
        "endTimeUnixNano": str(10**18 + (start + 1) * 10**9), "attributes": attributes(**plain), "status": {},
    }  # fmt: skip
    return body if parent is None else {**body, "parentSpanId": parent * 16}


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": attributes(service__name="svc")}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def text(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": words}]}


CALL = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}]}
ANSWER = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "r"}]}
RUN = [
    otlp_span("b", "a", 1, gen_ai__operation__name="chat", gen_ai__request__model="m", gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=1,
              gen_ai__system_instructions=[{"type": "text", "content": "sys"}], gen_ai__input__messages=[text("user", "q")], gen_ai__output__messages=[CALL]),
    otlp_span("c", "a", 2, gen_ai__operation__name="execute_tool", gen_ai__tool__name="f", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="r"),
    otlp_span("d", "a", 3, gen_ai__operation__name="chat", gen_ai__request__model="m", gen_ai__usage__input_tokens=20, gen_ai__usage__output_tokens=2,
              gen_ai__input__messages=[text("user", "q"), CALL, ANSWER], gen_ai__output__messages=[text("assistant", "done")]),
    otlp_span("a", None, 0, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="helper", gen_ai__conversation__id="conv",
              gen_ai__usage__input_tokens=30, gen_ai__usage__output_tokens=3, tenant="x"),
]  # fmt: skip


def without_place(made: Trajectory) -> Trajectory:
    return dataclasses.replace(made, trajectory_uid="", source_uri="", source_offset=0, bytes=0)


def test_a_run_of_an_agent() -> None:
    (made,) = normalise(Otlp(), *(request(span) for span in RUN)).trajectories
    assert said(made) == [("system", "sys"), ("user", "q"), ("assistant", None), ("tool", "r"), ("assistant", "done")]
    assert [(call.name, call.arguments_raw, call.id, call.message_index) for call in made.tool_calls] == [
        ("f", '{"a":1}', "c1", 2)
    ]
    assert (made.trajectory_id, made.group_id, made.agent, made.model, made.output) == (
        TRACE,
        "conv",
        "helper",
        "m",
        "done",
    )
    assert made.usage == Usage(30, 3, None, None, None, 1000)
    assert made.metadata == {"service.name": "svc", "tenant": "x"}
    assert made.event_time is not None
    assert made.event_time.timestamp() == 10**9


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_and_split_over_files_it_is_the_same(seed: int) -> None:
    expected = [without_place(made) for made in normalise(Otlp(), request(*RUN)).trajectories]
    spans = [*RUN]
    random.Random(seed).shuffle(spans)
    records = [SourceRecord(request(span), f"file-{number % 3}", number, 5) for number, span in enumerate(spans)]
    assert [without_place(made) for made in run(records, Otlp())[1].trajectories] == expected


def test_a_missing_root_loses_nothing() -> None:
    (made,) = normalise(Otlp(), request(*RUN[:3])).trajectories
    assert said(made)[-1] == ("assistant", "done")
    assert made.usage.input_tokens == 30
    assert "missing_root_span" in made.issues


def test_a_span_twice_counts_once() -> None:
    result = normalise(Otlp(), request(*RUN), request(RUN[0]))
    assert result.trajectories[0].usage.input_tokens == 30
    assert result.skipped == {"duplicate_span": 1}


def test_snake_case_enum_names_and_base64_ids() -> None:
    span = {
        "trace_id": "CvdlGRbNQ92ESOshHIAxnA==", "span_id": "AAAAAAAAAAE=", "name": "chat", "start_time_unix_nano": "1000000000000000000",
        "attributes": attributes(gen_ai__operation__name="chat", gen_ai__input__messages=[text("user", "q")],
                                 gen_ai__output__messages=[text("assistant", "a")]),
        "status": {"code": "STATUS_CODE_ERROR", "message": "bad"},
    }  # fmt: skip
    (made,) = normalise(Otlp(), {"resource_spans": [{"scope_spans": [{"spans": [span]}]}]}).trajectories
    assert (made.trajectory_id, made.outcome, [event.text for event in made.events]) == (TRACE, "error", ["bad"])


def test_ids_and_times_on_the_wire() -> None:
    assert hex_id("0x0AF7651916CD43DD8448EB211C80319C") == TRACE
    assert hex_id("0" * 32) is None
    assert hex_id("s01") == "s01"
    assert nanoseconds("1715175600000000001") == 1715175600000000001
    assert nanoseconds([1770132006, 5]) == 1770132006000000005
    assert nanoseconds("2025-04-04T12:00:00.000001Z") == 1743768000000001000
    assert nanoseconds(1743768000.5) == 1743768000500000000


def test_sub_agents_are_trajectories_of_their_own() -> None:
    inner = [
        otlp_span("e", "c", 2, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="sub"),
        otlp_span("f", "e", 2, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=7,
                  gen_ai__input__messages=[text("user", "inner")], gen_ai__output__messages=[text("assistant", "found")]),
    ]  # fmt: skip
    root, sub = normalise(Otlp(), request(*RUN, *inner)).trajectories
    assert (root.parent_id, sub.parent_id, sub.trajectory_id, sub.agent) == (None, TRACE, f"{TRACE}:{'e' * 16}", "sub")
    assert (root.usage.input_tokens, sub.usage.input_tokens) == (30, 7)
    assert said(sub) == [("user", "inner"), ("assistant", "found")]
    assert said(root)[3] == ("tool", "r")


def test_a_wrapper_around_a_model_call_is_not_counted() -> None:
    outer = otlp_span(
        "a",
        None,
        0,
        ai__operationId="ai.generateText",
        ai__usage__inputTokens=57,
        ai__response__text="hi",
        ai__prompt={"prompt": "q"},
    )
    inner = otlp_span("b", "a", 1, ai__operationId="ai.generateText.doGenerate", ai__usage__inputTokens=50, gen_ai__usage__input_tokens=50,
                      ai__prompt__messages=[{"role": "user", "content": [{"type": "text", "text": "q"}]}], ai__response__text="hi")  # fmt: skip
    (made,) = normalise(Otlp(), request(outer, inner)).trajectories
    assert made.usage.input_tokens == 50
    assert said(made) == [("user", "q"), ("assistant", "hi")]


def test_content_that_was_not_captured() -> None:
    spans = [otlp_span("a", None, 0, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=5),
             otlp_span("b", "a", 1, gen_ai__operation__name="execute_tool", gen_ai__tool__name="f")]  # fmt: skip
    (made,) = normalise(Otlp(), request(*spans)).trajectories
    assert (made.usage.input_tokens, [call.name for call in made.tool_calls]) == (5, ["f"])
    assert "content_not_captured" in made.issues


def test_traces_without_agents_are_skipped_by_rule() -> None:
    result = normalise(Otlp(), request(otlp_span("a", None, 0, http__method="GET")), {"resourceLogs": []}, request())
    assert result.trajectories == []
    assert result.skipped == {"trace_without_model_tool_or_agent_spans": 1, "export_request_without_spans": 2}


def test_openinference_attributes() -> None:
    flat = {
        "openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 9, "llm.token_count.prompt_details.cache_read": 4,
        "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.contents.0.message_content.text": "q",
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "f",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": "{}",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c",
        "llm.input_messages.10.message.role": "user", "llm.input_messages.10.message.content": "last",
        "llm.input_messages.2.message.role": "tool", "llm.input_messages.2.message.content": "r", "llm.input_messages.2.message.tool_call_id": "c",
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "a",
    }  # fmt: skip
    (made,) = normalise(OtelSpans(), flat).trajectories
    assert said(made) == [("user", "q"), ("assistant", None), ("tool", "r"), ("user", "last"), ("assistant", "a")]
    assert made.usage == Usage(9, None, 4)
    span: dict[str, Any] = {"name": "x", "context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM", "parent_id": None, "attributes": flat,
            "start_time": "2025-04-04T12:00:00Z", "end_time": "2025-04-04T12:00:01Z", "status_code": "OK", "events": []}  # fmt: skip
    row = {"context.trace_id": "t", "context.span_id": "s", "span_kind": "LLM", "name": "x", "start_time": "2025-04-04T12:00:00Z",
           "end_time": "2025-04-04T12:00:01Z", "status_code": "OK", **{f"attributes.{key}": value for key, value in flat.items()}}  # fmt: skip
    (of_json,), (of_row,) = normalise(Phoenix(), span).trajectories, normalise(Phoenix(), row).trajectories
    assert said(of_json) == said(made)
    assert without_place(of_json) == without_place(of_row)
    assert (of_json.trajectory_id, of_json.usage.latency_ms) == ("t", 1000)


def test_messages_in_span_events() -> None:
    span = otlp_span("a", None, 0, gen_ai__operation__name="chat")
    span["events"] = [
        {"name": "gen_ai.user.message", "attributes": attributes(content="q")},
        {"name": "gen_ai.choice", "attributes": attributes(message={"content": "a"})},
    ]
    (made,) = normalise(Otlp(), request(span)).trajectories
    assert said(made) == [("user", "q"), ("assistant", "a")]


def observation(own: str, kind: str, parent: str | None, start: int, **more: Any) -> dict[str, Any]:
    return {
        "id": own,
        "traceId": "t",
        "type": kind,
        "name": own,
        "parentObservationId": parent,
        "startTime": f"2025-04-04T12:00:0{start}Z",
        **more,
    }


def test_langfuse_downloads_and_rows() -> None:
    trace = {"id": "t", "name": "run", "timestamp": "2025-04-04T12:00:00Z", "sessionId": "s", "userId": "u", "latency": 2.5,
             "scores": [{"name": "tone", "value": 1, "comment": "ok"}]}  # fmt: skip
    rows = [
        observation("g2", "GENERATION", None, 2, input=json.dumps(json.dumps({"messages": [{"role": "user", "content": "q"}]})),
                    output={"role": "assistant", "content": "a"}, model="m", usageDetails={"input": 5, "output": 2}, totalCost=0.5),
        observation("tool", "TOOL", None, 1, input={"x": 1}, output="r", level="ERROR", statusMessage="no"),
    ]  # fmt: skip
    (made,) = normalise(Langfuse(), {"trace": trace, "observations": rows}).trajectories
    assert (made.trajectory_id, made.group_id, made.model, made.output) == ("t", "s", "m", "a")
    assert (made.usage.input_tokens, made.usage.latency_ms, str(made.usage.cost_usd)) == (5, 2500, "0.500000000")
    assert made.native_scores_json == '[{"name":"tone","value":1,"explanation":"ok"}]'
    assert [(result.text, result.is_error) for result in made.tool_results] == [("r", True)]
    assert made.metadata == {"name": "run", "userId": "u"}
    snake = {"id": "t", "trace_id": "t", "name": "late", "value": 0}
    again = normalise(Langfuse(), rows[1], snake, rows[0], trace)
    assert said(again.trajectories[0]) == said(made)
    assert again.records_used == 4


def test_langsmith_halves_are_merged() -> None:
    run_id = "11111111-0000-0000-0000-000000000000"
    posted = {"id": run_id, "trace_id": run_id, "dotted_order": f"20250404T120000000000Z{run_id}", "name": "llm", "run_type": "llm",
              "start_time": 1743768000000, "inputs": {"messages": [[{"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"],
              "kwargs": {"content": "q"}}]]}, "outputs": {}, "extra": {"metadata": {"ls_model_name": "m", "thread_id": "th"}}}  # fmt: skip
    patched = {"id": run_id, "trace_id": run_id, "end_time": "2025-04-04T12:00:01", "dotted_order": posted["dotted_order"],
               "outputs": {"generations": [[{"message": {"kwargs": {"content": "a", "type": "ai"}}}]], "usage_metadata": {"input_tokens": 3}}}  # fmt: skip
    for values in ([{"post": [posted], "patch": [patched]}], [patched, posted]):
        result = normalise(LangSmith(), *values)
        (made,) = result.trajectories
        assert said(made) == [("user", "q"), ("assistant", "a")]
        assert (made.group_id, made.model, made.usage) == ("th", "m", Usage(3, latency_ms=1000))
        assert result.records_used == 2


def test_mlflow_attributes_are_json_in_json() -> None:
    span = {"trace_id": "AAAAAAAAAAAAAAAAAAAAAQ==", "span_id": "AAAAAAAAAAE=", "parent_span_id": None, "name": "llm",
            "start_time_unix_nano": 10**18, "end_time_unix_nano": 10**18 + 10**6, "status": {"code": "STATUS_CODE_OK"},
            "attributes": {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": '{"messages": [{"role": "user", "content": "q"}]}',
                           "mlflow.spanOutputs": '{"choices": [{"message": {"content": "a"}}]}',
                           "mlflow.chat.tokenUsage": '{"input_tokens": 4, "output_tokens": 1}'}}  # fmt: skip
    info = {"trace_id": "tr-1", "state": "OK", "trace_metadata": {"mlflow.trace.session": "s", "mlflow.trace.tokenUsage": '{"input_tokens": 99}'},
            "assessments": [{"assessment_name": "e", "expectation": {"value": "gold"}}, {"assessment_name": "f", "feedback": {"value": 1}}]}  # fmt: skip
    (made,) = normalise(MlFlow(), {"info": info, "data": {"spans": [span]}}).trajectories
    assert said(made) == [("user", "q"), ("assistant", "a")]
    assert (made.trajectory_id, made.group_id, made.reference, made.outcome, made.usage.input_tokens) == (
        "tr-1",
        "s",
        "gold",
        "ok",
        4,
    )
    assert made.native_scores_json == '[{"name":"f","value":1,"explanation":null}]'


def test_braintrust_rows_amend_one_another() -> None:
    root = {"id": "1", "span_id": "r", "root_span_id": "r", "span_attributes": {"name": "task", "type": "task"}, "input": "q", "expected": "gold",
            "metrics": {"start": 1743768000.0}, "scores": {"exact": 1}}  # fmt: skip
    call = {"id": "2", "span_id": "l", "root_span_id": "r", "span_parents": ["r"], "span_attributes": {"name": "llm", "type": "llm"},
            "input": [{"role": "user", "content": "q"}], "metrics": {"start": 1743768001.0}, "metadata": {"model": "m"}}  # fmt: skip
    update = {"id": "2", "span_id": "l", "root_span_id": "r", "_is_merge": True, "output": [{"message": {"role": "assistant", "content": "a"}}],
              "metrics": {"end": 1743768002.0, "prompt_tokens": 8}}  # fmt: skip
    result = normalise(Braintrust(), update, call, root)
    (made,) = result.trajectories
    assert said(made) == [("user", "q"), ("assistant", "a")]
    assert (made.reference, made.model, made.usage.input_tokens, made.native_scores_json) == (
        "gold",
        "m",
        8,
        '[{"name":"exact","value":1.0}]',
    )
    assert result.records_used == 3


def test_agents_inside_one_record_have_uids_of_their_own() -> None:
    def span(own: str, parent: str | None, kind: str, **more: str) -> dict[str, Any]:
        attributes = {
            "mlflow.spanType": json.dumps(kind),
            **{key.replace("__", "."): json.dumps(value) for key, value in more.items()},
        }
        return {
            "span_id": own,
            "parent_span_id": parent,
            "name": own,
            "start_time_unix_nano": 10**18 + ord(own),
            "attributes": attributes,
        }

    spans = [
        span("a", None, "AGENT"), span("b", "a", "CHAT_MODEL", mlflow__spanOutputs="one"), span("c", "a", "TOOL"), span("d", "c", "AGENT"),
        span("e", "d", "CHAT_MODEL", mlflow__spanOutputs="two"),
    ]  # fmt: skip
    made = normalise(MlFlow(), {"info": {"trace_id": "tr"}, "data": {"spans": spans}}).trajectories
    assert [entry.trajectory_id for entry in made] == ["tr", "tr:d"]
    assert len({entry.trajectory_uid for entry in made}) == 2
