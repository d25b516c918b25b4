"""Container `openclaw`: OpenClaw telemetry: sessions interleaved in one file, told apart by `sessionKey`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.messages import error_event
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import is_message, normalise_messages
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.spans.talk import threads_of
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, integer, list_of, string_of
from schemas.reject import RejectReason

REPEATED = "event_repeated_by_messages"
_KINDS = ("message.", "agent.", "tool.", "llm.", "session.", "command.", "gateway.", "subagent.")


class OpenClaw(Container):
    """OpenClaw telemetry events."""

    name = "openclaw"
    grouping = "key"
    order = 65

    def detect(self, value: Any) -> str | None:
        """A dotted `type` beside `sessionKey`, or a channel's message."""
        if type(value) is not dict or type(value.get("type")) is not str or not value["type"].startswith(_KINDS):
            return None
        if "sessionKey" in value or ("channel" in value and "content" in value):
            return f"`type` {value['type']}, as in OpenClaw telemetry"
        return None

    def key(self, record: SourceRecord) -> str | None:
        """The session in its file."""
        key = id_text(dict_of(record.value).get("sessionKey"))
        return None if key is None else f"{record.uri} {key}"

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one session: the messages of its `agent.end`s, else its prompt and tool events."""
        result = Normalised()
        events: list[SourceRecord] = []
        for record in sorted(records, key=_place):
            value = record.value
            if type(value) is not dict or type(value.get("type")) is not str:
                detail = unknown_detail(value) if type(value) is dict else "the line is no object"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif "sessionKey" not in value:
                result.skip("event_without_session")
            else:
                events.append(record)
        if not events:
            return result
        ends = [
            record for record in events if record.value["type"] == "agent.end" and list_of(record.value.get("messages"))
        ]
        talk, used = _talk(events, ends)
        if not talk.messages:
            result.skip("session_without_messages", len(events))
            return result
        first = events[0].value
        facts = Facts(
            id=id_text(first.get("sessionKey")),
            group_id=id_text(first.get("sessionKey")),
            agent=id_text(first.get("agentId")),
        )
        facts.time = first.get("ts") or first.get("timestamp")
        usages = [
            record.value
            for record in events
            if record.value["type"] in ("llm.usage", "llm.output", "agent.usage") and record.value.get("usage")
        ]
        facts.usage = total_usage((usage_of(value["usage"]) for value in usages), _latency(ends))
        facts.model = next(
            (string_of(record.value.get("model")) for record in events if string_of(record.value.get("model"))), None
        )
        if ends:
            last = ends[-1].value
            facts.outcome = "ok" if last.get("success") is True else "error" if last.get("success") is False else None
            if last.get("error"):
                talk.events.append(error_event(last["error"]))
        facts.size = sum(record.size for record in events)
        result.trajectories.append(trajectory(events[0], self.name, talk, facts))
        result.records_used += used
        if used < len(events):
            result.skip(REPEATED, len(events) - used)
        return result


def _talk(events: list[SourceRecord], ends: list[SourceRecord]) -> tuple[Conversation, int]:
    if ends:
        pairs = []
        for record in ends:
            given = Conversation()
            normalise_messages([message for message in record.value["messages"] if is_message(message)], given)
            pairs.append((given, Conversation()))
        whole = Conversation()
        for thread in threads_of(pairs):
            whole.extend(thread.whole())
        return whole, len(ends)
    talk = Conversation()
    used = 0
    for record in events:
        value = record.value
        kind = value["type"]
        if kind == "agent.start" and type(value.get("prompt")) is str:
            talk.say("user", value["prompt"])
        elif kind == "tool.start":
            talk.say("assistant", None)
            talk.call(str(value.get("toolName") or ""), value.get("params"))
        elif kind == "tool.end" and any(name == value.get("toolName") for name, _ in talk.waiting):
            success = value.get("success")
            talk.result(
                string_of(value.get("result")),
                None,
                value["toolName"],
                (not success) if type(success) is bool else None,
            )
        else:
            continue
        used += 1
    return talk, used


def _latency(ends: list[SourceRecord]) -> int | None:
    told = [integer(record.value.get("durationMs")) for record in ends]
    known = [value for value in told if value is not None]
    return sum(known) if known else None


def _place(record: SourceRecord) -> tuple[str, int, int, int]:
    return record.uri, integer(dict_of(record.value).get("seq")) or 0, record.offset, record.ordinal
