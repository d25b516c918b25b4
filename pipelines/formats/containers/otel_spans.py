"""Container `otel_spans`: one OpenTelemetry span a record, with its attributes as a plain object.

The Python console exporter, readable spans of the JS SDK, single captured spans (`spanName`, `attributes`) and bare attribute objects. An
object whose every value is a list of spans, or that holds them under `spans`, is taken apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.formats.container import Container, Normalised, SourceRecord, piece, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.key_in_text import KeyInText
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.attributes import has_marks, span_of
from pipelines.formats.spans.model import Span
from pipelines.formats.spans.wire import hex_id, nanoseconds, plain_attributes, status_of
from pipelines.formats.values import dict_of, list_of
from schemas.reject import RejectReason

_KEY = KeyInText((b"traceId", b"trace_id"), hex_id)


class OtelSpans(Container):
    """Single OpenTelemetry spans."""

    name = "otel_spans"
    grouping = "key"
    order = 220

    def detect(self, value: Any) -> str | None:
        """A span's context with attributes, or attributes that only GenAI spans have."""
        if type(value) is not dict:
            return None
        if _is_span(value):
            return "a span context beside `attributes`"
        if _is_captured(value):
            return "`spanName` beside `attributes`"
        if any(_is_span(item) for item in _inner(value)[:3]):
            return "lists of spans with a context and attributes"
        mark = has_marks(value)
        return f"`{mark}` is an attribute of GenAI spans" if mark else None

    def pieces(self, record: SourceRecord) -> Iterable[SourceRecord]:
        """The spans inside, where a record holds lists of them."""
        if type(record.value) is not dict or _is_span(record.value):
            return (record,)
        inner = [item for item in _inner(record.value) if type(item) is dict]
        if not any(_is_span(item) for item in inner):
            return (record,)
        return [piece(record, index, len(inner), value) for index, value in enumerate(inner)]

    def key(self, record: SourceRecord) -> str | None:
        """The trace; bare attributes stand alone."""
        return _trace_id(dict_of(record.value))

    def key_of_line(self, line: bytes) -> str | None:
        """The trace, where the text tells it."""
        return _KEY.of_line(line)

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one trace's spans."""
        result = Normalised()
        spans: list[Span] = []
        for record in self.expanded(records):
            value = record.value
            if type(value) is not dict or not (_is_span(value) or _is_captured(value) or has_marks(value)):
                detail = unknown_detail(value) if type(value) is dict else "the record is no span"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            else:
                spans.append(_read(record, value))
        if spans:
            result.add(assemble(spans, self.name))
        return result


def _is_span(value: Any) -> bool:
    return type(value) is dict and "attributes" in value and (_trace_id(value) is not None)


def _is_captured(value: dict[str, Any]) -> bool:
    return type(value.get("attributes")) is dict and ("spanName" in value or has_marks(value["attributes"]) is not None)


def _inner(value: dict[str, Any]) -> list[Any]:
    if type(value.get("spans")) is list:
        return list_of(value["spans"])
    lists = list(value.values())
    if lists and all(type(item) is list for item in lists):
        return [item for items in lists for item in items]
    if lists and all(type(item) is dict for item in lists):
        return lists
    return []


def _context(value: dict[str, Any]) -> dict[str, Any]:
    return (
        dict_of(value.get("context"))
        or dict_of(value.get("spanContext"))
        or dict_of(value.get("_spanContext"))
        or value
    )


def _trace_id(value: dict[str, Any]) -> str | None:
    context = _context(value)
    return hex_id(context.get("trace_id") if "trace_id" in context else context.get("traceId"))


def _read(record: SourceRecord, value: dict[str, Any]) -> Span:
    context = _context(value)
    attributes = value.get("attributes")
    plain = plain_attributes(attributes) if attributes is not None else value
    parent = value.get("parent_id") or value.get("parentSpanId") or value.get("parent_span_id")
    parent = parent or dict_of(value.get("parentSpanContext")).get("spanId")
    events = [
        {"name": event.get("name"), "attributes": plain_attributes(event.get("attributes"))}
        for event in list_of(value.get("events"))
        if type(event) is dict
    ]
    return span_of(
        record,
        _trace_id(value) or record.address,
        hex_id(context.get("span_id") or context.get("spanId")) or "",
        hex_id(parent),
        str(value.get("name") or value.get("spanName") or ""),
        nanoseconds(_first(value, "start_time", "startTime", "startTimeUnixNano", "start_time_unix_nano")),
        nanoseconds(_first(value, "end_time", "endTime", "endTimeUnixNano", "end_time_unix_nano")),
        status_of(value.get("status") if value.get("status") is not None else value.get("status_code")),
        plain,
        events,
        plain_attributes(dict_of(value.get("resource")).get("attributes")),
    )


def _first(value: dict[str, Any], *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)
