"""Container `gemini_cli`: sessions of Gemini CLI: one object, or (since 0.40) lines: a header, messages, `$set` and `$rewindTo` patches.

A call holds its result. A message that is written again replaces the earlier one of its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.dialects.gemini import response_text
from pipelines.formats.usage import total_usage
from pipelines.formats.values import dict_of, id_text, integer, list_of, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_STATUS = {"success": False, "error": True, "cancelled": True}


class GeminiCli(Container):
    """Gemini CLI sessions; a file is one session."""

    name = "gemini_cli"
    grouping = "file"
    order = 100

    def detect(self, value: Any) -> str | None:
        """`sessionId` beside `projectHash`, or a message or patch of a session file."""
        if type(value) is not dict:
            return None
        if "sessionId" in value and "projectHash" in value:
            return "`sessionId` beside `projectHash`, as in Gemini CLI sessions"
        if value.get("type") == "gemini" and "content" in value:
            return "`type` gemini, a message of Gemini CLI"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The session of one file; several, where a file holds several whole ones."""
        result = Normalised()
        header: dict[str, Any] = {}
        messages: dict[str, dict[str, Any]] = {}
        lines: list[SourceRecord] = []
        for record in records:
            value = record.value
            if type(value) is not dict:
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, "the line is no object", self.name))
                continue
            if "projectHash" in value and type(value.get("messages")) is list:
                listed = [message for message in value["messages"] if type(message) is dict]
                result.trajectories.append(_session([record], value, listed, self.name))
                result.records_used += 1
            elif "projectHash" in value or "$set" in value:
                header.update(dict_of(value.get("$set")) if "$set" in value else value)
                lines.append(record)
            elif "$rewindTo" in value:
                _rewind(messages, id_text(value["$rewindTo"]))
                lines.append(record)
            elif string_of(value.get("type")) in _TYPES:
                messages[id_text(value.get("id")) or f"#{len(messages)}"] = value
                lines.append(record)
            else:
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, unknown_detail(value), self.name))
        if lines:
            result.trajectories.append(_session(lines, header, list(messages.values()), self.name))
            result.records_used += len(lines)
        return result


def _rewind(messages: dict[str, dict[str, Any]], to: str | None) -> None:
    keys = list(messages)
    if to in keys:
        for key in keys[keys.index(to) :]:
            del messages[key]


def _session(
    records: list[SourceRecord], header: dict[str, Any], messages: list[dict[str, Any]], source_format: str
) -> Trajectory:
    talk = Conversation()
    facts = Facts(id=id_text(header.get("sessionId")), time=header.get("startTime"), agent="gemini-cli")
    facts.group_id = facts.id
    told = []
    for message in messages:
        kind = message.get("type")
        text = text_of(message.get("content"), talk)
        if kind == "user":
            talk.say("user", text)
        elif kind == "gemini":
            talk.say("assistant", text)
            facts.model = facts.model or string_of(message.get("model"))
            _add_calls(list_of(message.get("toolCalls")), talk)
            tokens = dict_of(message.get("tokens"))
            if tokens:
                outputs, thoughts = integer(tokens.get("output")), integer(tokens.get("thoughts"))
                whole = None if outputs is None else outputs + (thoughts or 0)
                told.append(Usage(integer(tokens.get("input")), whole, integer(tokens.get("cached")), thoughts))
        elif kind == "error":
            talk.events.append(Event("error", None, text))
        else:
            talk.events.append(Event("system", str(kind), text))
    facts.usage = total_usage(told)
    facts.metadata = {"projectHash": header["projectHash"]} if type(header.get("projectHash")) is str else {}
    facts.size = sum(record.size for record in records)
    return trajectory(records[0], source_format, talk, facts)


def _add_calls(calls: list[Any], talk: Conversation) -> None:
    ids = []
    place = len(talk.messages) - 1
    for call in calls:
        if type(call) is dict:
            ids.append((talk.call(str(call.get("name") or ""), call.get("args"), call.get("id"), place), call))
    for call_id, call in ids:
        if talk.waiting and any(waiting == call_id for _, waiting in talk.waiting):
            talk.waiting = [entry for entry in talk.waiting if entry[1] != call_id]
        failed = _STATUS.get(str(call.get("status")))
        parts = list_of(call.get("result"))
        if parts or string_of(call.get("status")) in _STATUS:
            answer = next(
                (dict_of(part).get("functionResponse") for part in parts if dict_of(part).get("functionResponse")), None
            )
            if type(answer) is dict:
                text, in_answer = response_text(answer.get("response"), talk)
            else:
                text, in_answer = text_of(parts, talk) if parts else string_of(call.get("resultDisplay")), None
            talk.result(text, call_id, string_of(call.get("name")), failed if failed is not None else in_answer)
