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
        found = [*_spans(dict_of(record.value)), *message_logs(dict_of(record.value))]
        if not found:
            return (record,)
        return [piece(record, index, len(found), value) for index, value in enumerate(found)]

    def key(self, record: SourceRecord) -> str | None:
        """The trace; a span without a trace id stands alone."""
        span = dict_of(record.value).get("span")
        log = dict_of(record.value).get("log")
        if type(log) is dict:
            return trace_of_log(log)
        return hex_id(_get(span, "traceId", "trace_id")) if type(span) is dict else None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one trace's spans."""
        spans: list[SourceRecord] = []
        logs: dict[str | None, list[SourceRecord]] = {}
        result = Normalised()
        for record in self.expanded(records):
            if type(dict_of(record.value).get("span")) is dict:
                spans.append(record)
            elif type(dict_of(record.value).get("log")) is dict:
                logs.setdefault(span_of_log(record.value["log"]), []).append(record)
            elif self.detect(record.value) is not None:
                result.skip(NO_SPANS)
            else:
                value = dict_of(record.value)
                detail = unknown_detail(value) if value else "the record is no export request"
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


def _spans(request: dict[str, Any]) -> Iterable[dict[str, Any]]:
    groups = _get(request, "resourceSpans", "resource_spans")
    for group in list_of(groups) if groups is not None else [request]:
        if type(group) is not dict:
            continue
        resource = plain_attributes(dict_of(group.get("resource")).get("attributes"))
        for scope in list_of(_get(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")):
            for span in list_of(dict_of(scope).get("spans")):
                if type(span) is dict:
                    yield {"span": span, "resource": resource}


def _read(record: SourceRecord, logs: dict[str | None, list[SourceRecord]]) -> Span:
    """A span, with those of `logs` that are its; they are taken out."""
    raw = record.value["span"]
    events = [
        {"name": event.get("name"), "attributes": plain_attributes(event.get("attributes"))}
        for event in list_of(raw.get("events"))
        if type(event) is dict
    ]
    span_id = hex_id(_get(raw, "spanId", "span_id"))
    attributes = plain_attributes(raw.get("attributes"))
    own = logs.pop(span_id, []) if span_id is not None else []
    if own:
        attributes = add_logs(attributes, events, str(raw.get("name") or ""), own)
    return span_of(
        record,
        hex_id(_get(raw, "traceId", "trace_id")) or record.address,
        span_id or "",
        hex_id(_get(raw, "parentSpanId", "parent_span_id")),
        str(raw.get("name") or ""),
        nanoseconds(_get(raw, "startTimeUnixNano", "start_time_unix_nano")),
        nanoseconds(_get(raw, "endTimeUnixNano", "end_time_unix_nano")),
        status_of(raw.get("status")),
        attributes,
        events,
        record.value.get("resource"),
    )


def _get(value: dict[str, Any], *keys: str) -> Any:
    for key in keys:
        if key in value:
            return value[key]
    return None
