"""Messages in OTLP log records: beside their spans, without them, in any order, and nothing uncounted."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pipelines.formats.container import SourceRecord
from pipelines.formats.containers.otlp import Otlp
from tests.pipelines.formats.reading_helper import run

TRACE, CALL, TOOL = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "eee19b7ec3c1b175"


def value_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": listed(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(item) for item in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def listed(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value_of(value)} for key, value in attributes.items()]


def log(number: int, name: str, body: Any = None, span: str | None = CALL, **attributes: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"timeUnixNano": str(10**18 + number), "eventName": name}
    if span is not None:
        record |= {"traceId": TRACE, "spanId": span}
    if body is not None:
        record["body"] = value_of(body)
    record["attributes"] = listed({key.replace("__", "."): value for key, value in attributes.items()})
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


def span(own: str, parent: str, attributes: dict[str, Any], name: str = "chat m") -> dict[str, Any]:
    one = {"traceId": TRACE, "spanId": own, "parentSpanId": parent, "name": name, "startTimeUnixNano": str(10**18),
           "endTimeUnixNano": str(10**18 + 50), "attributes": listed(attributes)}  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}


CALL_ATTRIBUTES = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
EVENTS = [
    log(1, "gen_ai.system.message", {"content": "be kind"}),
    log(2, "gen_ai.user.message", {"content": "where?"}),
    log(3, "gen_ai.assistant.message", {"tool_calls": [FUNCTION]}),
    log(4, "gen_ai.tool.message", {"id": "c1", "content": "here"}),
    log(
        5, "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "There."}}
    ),
]
DETAILS = log(
    9,
    "gen_ai.client.inference.operation.details",
    gen_ai__system_instructions=[{"type": "text", "content": "be kind"}],
    gen_ai__input__messages=[{"role": "user", "parts": [{"type": "text", "content": "where?"}]}],
    gen_ai__output__messages=[{"role": "assistant", "parts": [{"type": "text", "content": "There."}]}],
)


def made(requests: list[dict[str, Any]]) -> Any:
    records = [SourceRecord(value, f"f{number % 2}", number, 100) for number, value in enumerate(requests)]
    pieces, result = run(records, Otlp())
    assert len(pieces) == result.records_used + len(result.rejects) + sum(result.skipped.values())
    return result


@pytest.mark.parametrize("seed", range(4))
def test_messages_in_log_records_join_their_span(seed: int) -> None:
    requests = [span(CALL, "", CALL_ATTRIBUTES), *EVENTS]
    random.Random(seed).shuffle(requests)
    (trajectory,) = made(requests).trajectories
    assert [(message.role, message.text) for message in trajectory.messages] == [
        ("system", "be kind"), ("user", "where?"), ("assistant", None), ("tool", "here"), ("assistant", "There."),
    ]  # fmt: skip
    assert [(call.name, call.arguments_raw) for call in trajectory.tool_calls] == [("find", '{"q": 1}')]
    assert (trajectory.output, trajectory.model, trajectory.usage.input_tokens) == ("There.", "m", 7)
    assert trajectory.issues == ()


@pytest.mark.parametrize("with_span", [True, False])
def test_the_event_with_all_details(with_span: bool) -> None:
    (trajectory,) = made([*([span(CALL, "", CALL_ATTRIBUTES)] if with_span else []), DETAILS]).trajectories
    assert [(message.role, message.text) for message in trajectory.messages] == [
        ("system", "be kind"), ("user", "where?"), ("assistant", "There."),
    ]  # fmt: skip
    assert trajectory.usage.input_tokens == (7 if with_span else None)
    assert trajectory.trajectory_id == TRACE


def test_log_records_without_their_span_stand_for_it() -> None:
    (trajectory,) = made(EVENTS).trajectories
    assert (trajectory.output, len(trajectory.messages), trajectory.bytes) == ("There.", 5, 100)


def test_what_is_a_record_in_a_request_of_both() -> None:
    both = {**span(CALL, "", CALL_ATTRIBUTES), **EVENTS[1], "x": 1}
    result = made([both, EVENTS[4]])
    assert (result.records_used, len(result.trajectories)) == (3, 1)


def test_log_records_of_a_span_of_no_known_kind_make_it_a_model_call() -> None:
    (trajectory,) = made([span(CALL, "", {"http.method": "POST"}, "POST"), *EVENTS]).trajectories
    assert trajectory.output == "There."


def test_a_log_record_of_no_trace_is_a_call_of_its_own() -> None:
    details = DETAILS["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    alone = {key: value for key, value in details.items() if key not in ("traceId", "spanId")}
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": [alone, alone]}]}]}
    result = made([request])
    assert [trajectory.output for trajectory in result.trajectories] == ["There.", "There."]
    assert len({trajectory.trajectory_uid for trajectory in result.trajectories}) == 2


def test_other_log_records_are_skipped_by_rule() -> None:
    result = made([log(1, "http.request", {"content": "x"}), {"resourceMetrics": []}])
    assert (result.trajectories, result.skipped) == ([], {"export_request_without_spans": 2})
