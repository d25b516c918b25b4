"""Container `langfuse`: trace downloads (`trace` with `observations`), API traces, and rows of observations, traces and scores.

Camel and snake case; input, output and metadata may be objects, text or JSON text. Observations are unordered: they are grouped by
trace and sorted by time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.formats.build import metadata_of
from pipelines.formats.container import Container, Normalised, SourceRecord, piece, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.key_in_text import KeyInText
from pipelines.formats.model_io import add_input, add_output, finish_of
from pipelines.formats.rows import reference_text
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.attributes import span_of
from pipelines.formats.spans.model import AGENT, LLM, TOOL, Span
from pipelines.formats.spans.wire import nanoseconds
from pipelines.formats.usage import usage_of
from pipelines.formats.values import cost, dict_of, id_text, list_of, number, scalar_text, string_of, unwrapped
from schemas.reject import RejectReason
from schemas.trajectory import Usage

_TYPES = {"GENERATION": LLM, "TOOL": TOOL, "AGENT": AGENT}
_OBSERVATION_TYPES = frozenset(
    {"GENERATION", "SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
_NOT_METADATA = frozenset(
    {"id", "input", "output", "metadata", "observations", "scores", "sessionId", "session_id", "timestamp", "createdAt",
     "created_at", "updatedAt", "updated_at", "corrections", "latency", "projectId", "project_id", "bookmarked", "htmlPath"}
)  # fmt: skip
#: Of an observation or a score. A trace's row has its key elsewhere, and a trace's download holds several records.
_KEY = KeyInText((b"traceId", b"trace_id"), id_text, unless=(b'"timestamp"', b'"observations"', b'"trace"'))
ROOT = "trace"
_NO_USAGE = Usage()


class Langfuse(Container):
    """Langfuse exports."""

    name = "langfuse"
    grouping = "key"
    order = 170

    def detect(self, value: Any) -> str | None:
        """`trace` with `observations`, a trace that holds them, or an observation's type, trace and time."""
        if type(value) is not dict:
            return None
        if type(value.get("trace")) is dict and type(value.get("observations")) is list:
            return "`trace` and `observations`"
        if type(value.get("observations")) is list and "id" in value and "timestamp" in value:
            return "a trace that holds `observations`"
        if _is_observation(value):
            return f"`type` {value['type']} beside a trace id and a start time, as in Langfuse observations"
        return None

    def pieces(self, record: SourceRecord) -> Iterable[SourceRecord]:
        """The trace and its observations."""
        value = dict_of(record.value)
        trace, observations = value.get("trace"), value.get("observations")
        if type(observations) is not list or _is_observation(value):
            return (record,)
        if type(trace) is not dict:
            trace = {key: item for key, item in value.items() if key != "observations"}
        parts: list[Any] = [{ROOT: {key: item for key, item in trace.items() if key != "observations"}}]
        parts += [item for item in observations if type(item) is dict]
        return [piece(record, index, len(parts), part) for index, part in enumerate(parts)]

    def key(self, record: SourceRecord) -> str | None:
        """The trace."""
        value = dict_of(record.value)
        if type(value.get(ROOT)) is dict:
            return id_text(value[ROOT].get("id"))
        return _trace_id(value) or (id_text(value.get("id")) if _is_trace(value) else None)

    def key_of_line(self, line: bytes) -> str | None:
        """The trace, where the text tells it."""
        return _KEY.of_line(line)

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one trace."""
        result = Normalised()
        spans: list[Span] = []
        traces: list[tuple[SourceRecord, dict[str, Any]]] = []
        scores: list[SourceRecord] = []
        for record in self.expanded(records):
            value = dict_of(record.value)
            if type(value.get(ROOT)) is dict:
                traces.append((record, value[ROOT]))
            elif _is_observation(value):
                spans.append(read_observation(record, value))
            elif _is_score(value):
                scores.append(record)
            elif _is_trace(value):
                traces.append((record, value))
            else:
                detail = unknown_detail(value) if value else "the record is no observation"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
        for record, trace in traces:
            spans.append(_trace_span(record, trace, spans))
        if not spans:
            if scores:
                result.skip("score_without_trace", len(scores))
            return result
        for record in scores:
            spans[0].scores.append(_score(record.value))
        result.add(assemble(spans, self.name))
        result.records_used += len(scores) if result.trajectories else 0
        if scores and not result.trajectories:
            result.skip("score_without_trace", len(scores))
        return result


def read_observation(record: SourceRecord, value: dict[str, Any]) -> Span:
    """One observation as a span; messages of OpenInference attributes in its metadata win over its plain input."""
    metadata = value.get("metadata")
    attributes = dict_of(dict_of(unwrapped(metadata)).get("attributes")) if metadata else {}
    level = value.get("level")
    status = (True if level == "ERROR" else None, string_of(_get(value, "statusMessage", "status_message")))
    span = span_of(
        record,
        _trace_id(value) or record.address,
        id_text(value.get("id")) or "",
        id_text(_get(value, "parentObservationId", "parent_observation_id")),
        str(value.get("name") or ""),
        nanoseconds(_get(value, "startTime", "start_time")),
        nanoseconds(_get(value, "endTime", "end_time")),
        status,
        attributes,
        [],
    )
    own = _TYPES.get(str(value.get("type")))
    if own is not None:
        span.kind = own
    from_attributes_in, from_attributes_out = span.add_input, span.add_output
    given, answer = value.get("input"), value.get("output")
    flat = bool(attributes) and any(key.startswith(("llm.input_messages.", "gen_ai.prompt.")) for key in attributes)
    if not flat and type(given) is list:
        span.input_messages = given

    def read_input(talk: Conversation) -> bool:
        if flat and from_attributes_in is not None and from_attributes_in(talk):
            return True
        return add_input(given, talk)

    def read_output(talk: Conversation) -> bool:
        if flat and from_attributes_out is not None and from_attributes_out(talk):
            return True
        return add_output(answer, talk)

    span.add_input, span.add_output = read_input, read_output
    span.usage = _usage(value) if span.kind == LLM else None
    span.model = string_of(_get(value, "model", "provided_model_name", "internalModel")) or span.model
    span.finish = finish_of(answer)
    if span.kind == TOOL:
        span.tool_name = span.tool_name or span.name
        span.tool_arguments = span.tool_arguments if span.tool_arguments is not None else given
        span.tool_result = span.tool_result if span.tool_result is not None else scalar_text(answer)
    elif span.kind == AGENT:
        span.agent = span.agent or span.name
    return span


def _trace_span(record: SourceRecord, trace: dict[str, Any], observations: list[Span]) -> Span:
    """A trace's row as the span above all others."""
    trace_id = id_text(trace.get("id")) or record.address
    span_id = f"{trace_id}:{ROOT}"
    for span in observations:
        if span.parent_id is None:
            span.parent_id = span_id
    start = nanoseconds(_get(trace, "timestamp", "createdAt", "created_at"))
    span = Span(record, trace_id, span_id, None, str(trace.get("name") or ""), "other", start)
    seconds = number(trace.get("latency"))
    if seconds is not None and start is not None and 0 <= seconds < 10_000_000:
        span.end = start + int(seconds * 1_000_000_000)
    given, answer = trace.get("input"), trace.get("output")
    span.add_input = lambda talk: add_input(given, talk)
    span.add_output = lambda talk: add_output(answer, talk)
    span.session = id_text(_get(trace, "sessionId", "session_id"))
    span.agent = span.name or None
    span.scores = [_score(score) for score in list_of(trace.get("scores")) if type(score) is dict]
    span.reference = reference_text(_get(trace, "expectedOutput", "expected_output"))
    inner = unwrapped(trace.get("metadata"))
    shown = {key: item for key, item in trace.items() if key not in _NOT_METADATA}
    own = {key: item for key, item in dict_of(inner).items() if type(item) in (str, int, float, bool)}
    span.metadata = metadata_of({**shown, "metadata": own})
    return span


def _usage(value: dict[str, Any]) -> Usage | None:
    details = dict_of(unwrapped(_get(value, "usageDetails", "usage_details")))
    counted = usage_of(details or dict_of(unwrapped(value.get("usage"))) or _flat_usage(value))
    cached, reasoning = counted.cached_input_tokens, counted.reasoning_tokens
    for key, item in details.items():
        if type(item) is int:
            if cached is None and key.endswith(("cache_read", "cached_tokens")):
                cached = item
            elif reasoning is None and key.endswith("reasoning"):
                reasoning = item
    money = cost(_get(value, "totalCost", "calculatedTotalCost", "total_cost"))
    if money is None:
        money = cost(dict_of(unwrapped(_get(value, "costDetails", "cost_details"))).get("total"))
    made = Usage(counted.input_tokens, counted.output_tokens, cached, reasoning, money)
    return made if made != _NO_USAGE else None


def _flat_usage(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "input_tokens": _get(value, "inputUsage", "promptTokens"),
        "output_tokens": _get(value, "outputUsage", "completionTokens"),
    }


def _score(value: Any) -> dict[str, Any]:
    body = dict_of(value)
    number = _get(body, "value", "stringValue", "string_value")
    return {"name": body.get("name"), "value": number, "explanation": body.get("comment")}


def _is_observation(value: dict[str, Any]) -> bool:
    return (
        string_of(value.get("type")) in _OBSERVATION_TYPES
        and _trace_id(value) is not None
        and _get(value, "startTime", "start_time") is not None
    )


def _is_score(value: dict[str, Any]) -> bool:
    return _trace_id(value) is not None and ("value" in value or "stringValue" in value) and "name" in value


def _is_trace(value: dict[str, Any]) -> bool:
    return (
        "id" in value and "timestamp" in value and ("sessionId" in value or "session_id" in value or "userId" in value)
    )


def _trace_id(value: dict[str, Any]) -> str | None:
    return id_text(_get(value, "traceId", "trace_id"))


def _get(value: dict[str, Any], *keys: str) -> Any:
    for key in keys:
        item = value.get(key)
        if item is not None:
            return item
    return None
