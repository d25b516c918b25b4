"""Container `mlflow`: MLflow traces (`info` and `data.spans`), or rows with `trace_id`, `request`, `response` and `spans`.

Every attribute value is a JSON text inside the JSON; previews are cut and never read. Span ids may be base64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import metadata_of
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.json_values import decode_line
from pipelines.formats.model_io import add_input, add_output
from pipelines.formats.rows import reference_text
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.attributes import span_of
from pipelines.formats.spans.model import OTHER, Span
from pipelines.formats.spans.wire import hex_id, nanoseconds, status_of
from pipelines.formats.usage import usage_of
from pipelines.formats.values import dict_of, id_text, list_of, string_of, unwrapped
from schemas.reject import RejectReason

_STATES = {"OK": False, "ERROR": True}


class MlFlow(Container):
    """MLflow traces; one record is one trace."""

    name = "mlflow"
    order = 190

    def detect(self, value: Any) -> str | None:
        """`info` beside `data.spans`, or a row with `request`, `response` and `spans`."""
        if type(value) is not dict:
            return None
        if type(value.get("info")) is dict and type(dict_of(value.get("data")).get("spans")) is list:
            return "`info` and `data.spans`"
        if (
            "spans" in value
            and "request" in value
            and "response" in value
            and ("trace_id" in value or "request_id" in value)
        ):
            return "`trace_id`, `request`, `response` and `spans`"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trace a record."""
        result = Normalised()
        for record in records:
            value = dict_of(record.value)
            spans = [dict_of(unwrapped(span)) for span in list_of(unwrapped(_spans_of(value)))]
            if self.detect(value) is None or not spans:
                detail = unknown_detail(value) if self.detect(value) is None and value else "the trace has no spans"
                reason = RejectReason.NO_MESSAGES if self.detect(value) else RejectReason.UNKNOWN_FORMAT
                result.rejects.append(reject(record, reason, detail, self.name))
                continue
            info = dict_of(unwrapped(value.get("info"))) or value
            trace_id = id_text(info.get("trace_id")) or id_text(info.get("request_id")) or record.address
            read = [_read(record, trace_id, span) for span in spans]
            read.append(_trace_span(record, trace_id, value, info, read))
            made = assemble(read, self.name)
            result.trajectories += made.trajectories
            if made.trajectories:
                result.records_used += 1
            else:
                for rule in made.skipped:
                    result.skip(rule)
                    break
        return result


def _spans_of(value: dict[str, Any]) -> Any:
    data = dict_of(unwrapped(value.get("data")))
    return data.get("spans") if "spans" in data else value.get("spans")


def _decoded(value: Any) -> Any:
    """An attribute's value: the JSON inside its text, whatever it holds."""
    if type(value) is not str:
        return value
    parts = decode_line(value.encode("utf-8", "replace"))
    if len(parts) != 1 or not hasattr(parts[0], "value"):
        return value
    return parts[0].value


def _read(record: SourceRecord, trace_id: str, raw: dict[str, Any]) -> Span:
    context = dict_of(raw.get("context"))
    attributes = {key: _decoded(value) for key, value in dict_of(raw.get("attributes")).items()}
    start = raw.get("start_time_unix_nano") or raw.get("start_time_ns") or raw.get("start_time")
    end = raw.get("end_time_unix_nano") or raw.get("end_time_ns") or raw.get("end_time")
    status = raw.get("status") if type(raw.get("status")) is dict else {
        "code": raw.get("status_code"), "message": raw.get("status_message")
    }  # fmt: skip
    span = span_of(
        record,
        trace_id,
        hex_id(raw.get("span_id") or context.get("span_id")) or "",
        hex_id(raw.get("parent_span_id") or raw.get("parent_id")),
        str(raw.get("name") or ""),
        nanoseconds(start),
        nanoseconds(end),
        status_of(status),
        attributes,
        [event for event in list_of(raw.get("events")) if type(event) is dict],
    )
    span.model = span.model or string_of(attributes.get("mlflow.llm.model"))
    return span


def _trace_span(
    record: SourceRecord, trace_id: str, value: dict[str, Any], info: dict[str, Any], spans: list[Span]
) -> Span:
    notes = {**dict_of(info.get("request_metadata")), **dict_of(info.get("trace_metadata"))}
    tags = dict_of(info.get("tags"))
    span_id = f"{trace_id}:trace"
    known = {span.span_id for span in spans}
    for span in spans:
        if span.parent_id is None or span.parent_id not in known:
            span.parent_id = span_id
    state = info.get("state") or info.get("status")
    starts = [span.start for span in spans if span.start is not None]
    ends = [span.end for span in spans if span.end is not None]
    start = nanoseconds(info.get("request_time") or info.get("timestamp_ms"))
    root = Span(
        record, trace_id, span_id, None, str(tags.get("mlflow.traceName") or ""), OTHER, min(starts, default=start)
    )
    root.end = max(ends, default=None)
    root.is_error = _STATES.get(str(state))
    given = _decoded(notes.get("mlflow.traceInputs", value.get("request")))
    answer = _decoded(notes.get("mlflow.traceOutputs", value.get("response")))
    root.add_input = lambda talk: add_input(given, talk)
    root.add_output = lambda talk: add_output(answer, talk)
    root.usage = usage_of(dict_of(unwrapped(notes.get("mlflow.trace.tokenUsage"))))
    root.session = string_of(notes.get("mlflow.trace.session"))
    root.agent = root.name or None
    for note in list_of(info.get("assessments")):
        body = dict_of(note)
        if "expectation" in body:
            root.reference = reference_text(dict_of(body["expectation"]).get("value"))
        elif "feedback" in body:
            told = dict_of(body["feedback"])
            root.scores.append({"name": body.get("assessment_name") or body.get("name"), "value": told.get("value"),
                                "explanation": body.get("rationale")})  # fmt: skip
    shown = {
        key: item for key, item in {**notes, **tags}.items() if key not in ("mlflow.traceInputs", "mlflow.traceOutputs")
    }
    root.metadata = metadata_of(shown)
    return root
