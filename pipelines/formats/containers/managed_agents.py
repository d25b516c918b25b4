"""Container `managed_agents`: dumps of Anthropic managed-agent sessions: lines `[method, payload]` or the events themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.messages import error_event
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, list_of, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Usage

STATUS_EVENT = "status_event_without_message"
_METHOD = "client.beta.sessions"
_USES = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = ("agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result", "user.tool_result")


class ManagedAgents(Container):
    """Managed-agent sessions; a file is one session."""

    name = "managed_agents"
    grouping = "file"
    order = 80

    def detect(self, value: Any) -> str | None:
        """A list of a `client.beta.sessions…` method and its payload."""
        if type(value) is list and len(value) == 2 and type(value[0]) is str and value[0].startswith(_METHOD):
            return f"`{value[0]}` and its payload"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one session."""
        result = Normalised()
        talk = Conversation()
        facts = Facts()
        told: list[Usage] = []
        used: list[SourceRecord] = []
        seen: set[str] = set()
        for record in records:
            if self.detect(record.value) is None:
                result.rejects.append(
                    reject(record, RejectReason.UNKNOWN_FORMAT, "the line is no [method, payload] pair", self.name)
                )
            elif _take(record.value[0], record.value[1], talk, facts, told, seen):
                used.append(record)
            else:
                result.skip(STATUS_EVENT)
        if used:
            facts.usage = total_usage(told)
            facts.group_id = facts.id
            facts.size = sum(record.size for record in used)
            result.trajectories.append(trajectory(used[0], self.name, talk, facts))
            result.records_used += len(used)
        return result


def _take(method: str, payload: Any, talk: Conversation, facts: Facts, told: list[Usage], seen: set[str]) -> bool:
    if method == f"{_METHOD}.create":
        session = dict_of(payload)
        agent = dict_of(session.get("agent"))
        facts.id = id_text(session.get("id"))
        facts.agent = string_of(agent.get("name"))
        facts.model = string_of(dict_of(agent.get("model")).get("id")) or string_of(agent.get("model"))
        facts.time = session.get("created_at")
        if string_of(agent.get("system")):
            talk.say("system", agent["system"])
        return True
    if method.endswith("events.send"):
        if type(payload) is list and payload:
            facts.id = facts.id or id_text(payload[0])
        return False
    if not method.endswith("events.stream"):
        return False
    event = dict_of(payload)
    event_id = id_text(event.get("id"))
    if event_id is not None and event_id in seen:
        return False
    seen.add(event_id or "")
    return _take_event(str(event.get("type")), event, event_id, talk, facts, told)


def _take_event(
    kind: str, event: dict[str, Any], event_id: str | None, talk: Conversation, facts: Facts, told: list[Usage]
) -> bool:
    facts.time = facts.time or event.get("processed_at")
    if kind == "user.message":
        talk.say("user", text_of(event.get("content"), talk))
    elif kind == "agent.message":
        talk.say("assistant", text_of(event.get("content"), talk))
    elif kind in _USES:
        if not talk.messages or talk.messages[-1].role != "assistant":
            talk.say("assistant", None)
        talk.call(str(event.get("name") or ""), event.get("input"), event_id)
    elif kind in _RESULTS:
        keys = ("tool_use_id", "mcp_tool_use_id", "custom_tool_use_id")
        call_id = next((id_text(event[key]) for key in keys if event.get(key)), None)
        failed = event.get("is_error")
        talk.result(text_of(list_of(event.get("content")) or event.get("content"), talk), call_id, None,
                    failed if type(failed) is bool else None)  # fmt: skip
    elif kind == "span.model_request_end":
        told.append(usage_of(event.get("model_usage")))
    elif kind == "session.error":
        talk.events.append(error_event(event.get("error") or kind))
        facts.outcome = "error"
    elif kind == "session.status_idle":
        if dict_of(event.get("stop_reason")).get("type") == "end_turn":
            facts.outcome = facts.outcome or "ok"
        return False
    else:
        return False
    return True
