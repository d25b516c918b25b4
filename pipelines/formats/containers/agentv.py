"""Container `agentv`: results, replay fixtures and transcripts of AgentV. A call holds its result; transcripts are one message a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import normalise_message
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import FIELD, Conversation
from pipelines.formats.dialects.openai_chat import error_sign
from pipelines.formats.usage import usage_of
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Trajectory, Usage

_NOT_METADATA = frozenset(
    {"output", "scores", "assertions", "trace", "timestamp", "recorded_at", "token_usage", "cost_usd", "duration_ms", "role",
     "content", "tool_calls", "message_index", "transcript_token_usage", "transcript_duration_ms", "transcript_cost_usd",
     "source", "capture", "error", "start_time", "end_time"}
)  # fmt: skip


class AgentV(Container):
    """AgentV files."""

    name = "agentv"
    grouping = "key"
    order = 270

    def detect(self, value: Any) -> str | None:
        """`test_id` beside a transcript's role, a result's `trace` or a fixture's `output`."""
        if type(value) is not dict or "test_id" not in value:
            return None
        if "role" in value and "message_index" in value:
            return "`test_id` and `message_index`, as in AgentV transcripts"
        if type(value.get("output")) is list or type(value.get("trace")) is dict:
            return "`test_id` beside `output` or `trace`, as in AgentV results"
        return None

    def key(self, record: SourceRecord) -> str | None:
        """A transcript's test and target in its file; results stand alone."""
        value = dict_of(record.value)
        if "message_index" not in value:
            return None
        return f"{record.uri} {value.get('test_id')} {value.get('target')}"

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one transcript, or of each result."""
        result = Normalised()
        lines: list[SourceRecord] = []
        for record in records:
            value = record.value
            if self.detect(value) is None:
                detail = unknown_detail(value) if type(value) is dict else "the line is no object"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif "message_index" in value:
                lines.append(record)
            else:
                result.trajectories.append(_made([record], list_of(value.get("output")), value, self.name))
                result.records_used += 1
        if lines:
            lines.sort(key=lambda record: (integer(record.value.get("message_index")) or 0, record.offset))
            messages = [record.value for record in lines]
            result.trajectories.append(_made(lines, messages, messages[0], self.name))
            result.records_used += len(lines)
        return result


def _made(records: list[SourceRecord], messages: list[Any], value: dict[str, Any], source_format: str) -> Trajectory:
    talk = Conversation()
    if "message_index" not in value and type(value.get("input")) is str:
        talk.say("user", value["input"])
    for message in messages:
        body = dict_of(message)
        calls = [dict_of(call) for call in list_of(body.get("tool_calls"))]
        before = len(talk.calls)
        normalise_message(
            {"content": None, **{key: body[key] for key in ("role", "content", "tool_calls", "name") if key in body}},
            talk,
        )
        for call, made in zip(calls, talk.calls[before:], strict=False):
            if call.get("output") is not None or call.get("status"):
                talk.waiting = [entry for entry in talk.waiting if entry[1] != made.id]
                talk.result(text_of(call.get("output"), talk), made.id, made.name, error_sign(call))
    source, trace = dict_of(value.get("source")), dict_of(value.get("trace"))
    facts = Facts(id=id_text(value.get("test_id")), group_id=id_text(source.get("session_id")))
    target = string_of(value.get("target")) or string_of(value.get("source_target"))
    if facts.id is not None and target is not None:
        facts.id = f"{facts.id}:{target}"
    facts.time = value.get("timestamp") or value.get("recorded_at") or source.get("timestamp")
    facts.model, facts.agent = string_of(source.get("model")), target
    tokens = next(
        (
            dict_of(item)
            for item in (value.get("token_usage"), value.get("transcript_token_usage"), trace.get("token_usage"))
            if item
        ),
        {},
    )
    counted = usage_of(tokens)
    money = next(
        (
            cost(item[key])
            for item, key in ((value, "cost_usd"), (trace, "cost_usd"), (value, "transcript_cost_usd"))
            if item.get(key) is not None
        ),
        None,
    )
    latency = next(
        (
            integer(item[key])
            for item, key in ((value, "duration_ms"), (trace, "duration_ms"), (value, "transcript_duration_ms"))
            if item.get(key) is not None
        ),
        None,
    )
    facts.usage = Usage(
        counted.input_tokens,
        counted.output_tokens,
        counted.cached_input_tokens,
        counted.reasoning_tokens,
        money,
        latency,
    )
    if type(value.get("output")) is str:
        facts.output, facts.output_rule = value["output"], FIELD
    scores = [score for score in list_of(value.get("scores")) if type(score) is dict]
    facts.native_scores = scores or None
    if value.get("error"):
        facts.outcome = "error"
    facts.metadata = metadata_of({**{key: item for key, item in value.items() if key not in _NOT_METADATA}})
    facts.size = sum(record.size for record in records)
    return trajectory(records[0], source_format, talk, facts)
