"""Messages in OTLP log records: the GenAI conventions' events, which newer instrumentation writes beside its spans instead of into them.

A log record names the span that it belongs to. The event with all details brings attributes, the older events a message each; where the span
itself is not in the input, its log records stand for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.formats.container import SourceRecord
from pipelines.formats.spans.attributes import kind_of, span_of
from pipelines.formats.spans.model import OTHER, Span
from pipelines.formats.spans.wire import hex_id, nanoseconds, plain_attributes, plain_value
from pipelines.formats.values import dict_of, list_of

_DETAILS = "gen_ai.client.inference.operation.details"
_EVENTS = frozenset(
    {
        _DETAILS, "gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message", "gen_ai.choice",
        "gen_ai.content.prompt", "gen_ai.content.completion",
    }
)  # fmt: skip
_OPERATION = "gen_ai.operation.name"


def message_logs(request: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """`{"log", "resource"}` of each log record of an export request that holds messages."""
    for group in list_of(request.get("resourceLogs", request.get("resource_logs"))):
        resource = plain_attributes(dict_of(dict_of(group).get("resource")).get("attributes"))
        for scope in list_of(dict_of(group).get("scopeLogs", dict_of(group).get("scope_logs"))):
            for log in list_of(dict_of(scope).get("logRecords", dict_of(scope).get("log_records"))):
                if type(log) is dict and _event_name(log) in _EVENTS:
                    yield {"log": log, "resource": resource}


def trace_of_log(log: dict[str, Any]) -> str | None:
    """The trace that a log record belongs to."""
    return hex_id(log.get("traceId", log.get("trace_id")))


def span_of_log(log: dict[str, Any]) -> str | None:
    """The span that a log record belongs to."""
    return hex_id(log.get("spanId", log.get("span_id")))


def add_logs(attributes: dict[str, Any], events: list[Any], name: str, logs: Sequence[SourceRecord]) -> dict[str, Any]:
    """A span's attributes with what its log records say beside it; the messages of older ones are appended to `events`."""
    attributes = dict(attributes)
    for record in sorted(logs, key=_place):
        log = record.value["log"]
        told = plain_attributes(log.get("attributes"))
        body = plain_value(log.get("body"))
        body = body if type(body) is dict else {} if body is None else {"content": body}
        event = _event_name(log)
        if event == _DETAILS:
            for key, value in {**told, **body}.items():
                attributes.setdefault(key, value)
        else:
            events.append({"name": event, "attributes": {**told, **body}})
    if kind_of(attributes, name) == OTHER:
        attributes[_OPERATION] = "chat"
    return attributes


def span_of_logs(logs: Sequence[SourceRecord]) -> Span:
    """A model call of which only its log records are there."""
    first = min(logs, key=_place)
    log = first.value["log"]
    events: list[Any] = []
    attributes = add_logs({}, events, "chat", logs)
    times = [time for record in logs if (time := _time(record.value["log"])) is not None]
    trace = trace_of_log(log) or first.address
    own = span_of_log(log) or ""
    resource = first.value.get("resource")
    return span_of(
        first, trace, own, None, "chat", min(times, default=None), None, (None, None), attributes, events, resource
    )


def _event_name(log: dict[str, Any]) -> Any:
    name = log.get("eventName", log.get("event_name"))
    return name if name else plain_attributes(log.get("attributes")).get("event.name")


def _time(log: dict[str, Any]) -> int | None:
    for key in ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano"):
        time = nanoseconds(log.get(key))
        if time:
            return time
    return None


def _place(record: SourceRecord) -> tuple[int, str, int, int]:
    return _time(record.value["log"]) or 0, record.uri, record.offset, record.ordinal
