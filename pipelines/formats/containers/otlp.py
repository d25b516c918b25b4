"""Container `otlp`: OTLP JSON export requests (`resourceSpans`), as the collector's file exporter and SDKs write them.

A trace is spread over lines and files, and its root comes last: spans are grouped by trace. Ids in hex, base64 or all zeros, enum names,
integers as text and the older `instrumentationLibrarySpans` are read. Log records that hold messages join the span that they name; a
request of other log records, or of metrics, is skipped by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.formats.container import Container, Normalised, SourceRecord, piece, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.key_in_text import KeyInText
from pipelines.formats.spans.assemble import NOT_AN_AGENT_TRACE, assemble
from pipelines.formats.spans.attributes import span_of
from pipelines.formats.spans.log_records import add_logs, message_logs, span_of_log, span_of_logs, trace_of_log
from pipelines.formats.spans.model import Span
from pipelines.formats.spans.wire import hex_id, nanoseconds, plain_attributes, status_of
from pipelines.formats.values import dict_of, list_of
from schemas.reject import RejectReason

NO_SPANS = "export_request_without_spans"
_REQUEST_KEYS = (
    "resourceSpans",
    "resource_spans",
    "resourceLogs",
    "resource_logs",
    "resourceMetrics",
    "resource_metrics",
)
_KEY = KeyInText((b"traceId", b"trace_id"), hex_id)


class Otlp(Container):
    """OTLP export requests: spans, and the log records in which newer instrumentation writes the messages."""

    name = "otlp"
    grouping = "key"
    order = 30

    def detect(self, value: Any) -> str | None:
        """`resourceSpans`, or a lone `scopeSpans`."""
        if type(value) is dict:
            for key in (*_REQUEST_KEYS, "scopeSpans", "scope_spans"):
                if type(value.get(key)) is list:
                    return f"`{key}` is a list, as in OTLP export requests"
        return None

    def pieces(self, record: SourceRecord) -> Iterable[SourceRecord]:
        """Its spans and its log records with messages, each with its resource."""
        value = dict_of(record.value)
        if len(value) == 2 and "resource" in value and ("span" in value or "log" in value):
            return (record,)
        found = [*_spans(value), *message_logs(value)]
        if not found:
            return (record,)
        return [piece(record, index, len(found), value) for index, value in enumerate(found)]

    def key(self, record: SourceRecord) -> str | None:
        """The trace; a span without a trace id stands alone."""
        span = dict_of(record.value).get("span")
        log = dict_of(record.value).get("log")
        if type(log) is dict:
            return trace_of_log(log)
        return hex_id(span.get("traceId", span.get("trace_id"))) if type(span) is dict else None

    def key_of_line(self, line: bytes) -> str | None:
        """The trace, where the text tells it."""
        return _KEY.of_line(line)

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one trace's spans."""
        spans: list[SourceRecord] = []
        logs: dict[str | None, list[SourceRecord]] = {}
        result = Normalised()
        for record in self.expanded(records):
            value = record.value
            if type(value) is dict and type(value.get("span")) is dict:
                spans.append(record)
            elif type(value) is dict and type(value.get("log")) is dict:
                logs.setdefault(span_of_log(value["log"]), []).append(record)
            elif self.detect(record.value) is not None:
                result.skip(NO_SPANS)
            else:
                detail = unknown_detail(value) if value and type(value) is dict else "the record is no export request"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
        if spans or logs:
            count = len(spans) + sum(map(len, logs.values()))
            read = [_read(record, logs) for record in spans]
            read += [span_of_logs(alone) for alone in logs.values()]
            made = assemble(read, self.name)
            beside = count - len(read)
            if made.records_used:
                made.records_used += beside
            elif beside:
                made.skip(NOT_AN_AGENT_TRACE, beside)
            result.add(made)
        return result


def _spans(request: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    groups = _get(request, "resourceSpans", "resource_spans")
    for group in list_of(groups) if groups is not None else [request]:
        if type(group) is not dict:
            continue
        scopes = _get(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")
        if type(scopes) is not list:
            continue
        resource = plain_attributes(dict_of(group.get("resource")).get("attributes"))
        for scope in scopes:
            spans = scope.get("spans") if type(scope) is dict else None
            if type(spans) is list:
                found += [{"span": span, "resource": resource} for span in spans if type(span) is dict]
    return found


def _read(record: SourceRecord, logs: dict[str | None, list[SourceRecord]]) -> Span:
    """A span, with those of `logs` that are its; they are taken out."""
    raw = record.value["span"]
    listed = raw.get("events")
    events = [
        {"name": event.get("name"), "attributes": plain_attributes(event.get("attributes"))}
        for event in (list_of(listed) if listed else ())
        if type(event) is dict
    ]
    get = raw.get
    parent = get("parentSpanId", get("parent_span_id"))
    span_id = hex_id(get("spanId", get("span_id")))
    attributes = plain_attributes(raw.get("attributes"))
    own = logs.pop(span_id, []) if span_id is not None and logs else []
    if own:
        attributes = add_logs(attributes, events, str(get("name") or ""), own)
    return span_of(
        record,
        hex_id(get("traceId", get("trace_id"))) or record.address,
        span_id or "",
        None if parent is None else hex_id(parent),
        str(get("name") or ""),
        nanoseconds(get("startTimeUnixNano", get("start_time_unix_nano"))),
        nanoseconds(get("endTimeUnixNano", get("end_time_unix_nano"))),
        status_of(get("status")),
        attributes,
        events,
        record.value.get("resource"),
    )


def _get(value: dict[str, Any], *keys: str) -> Any:
    for key in keys:
        if key in value:
            return value[key]
    return None
