"""Container `opencode`: OpenCode sessions, exported whole (`{info, messages: [{info, parts}]}`) or as the files of its three stores.

The stores hold a session, a message or a part a file, joined by `sessionID` and `messageID`. A tool's part is its call and its result. Input
tokens exclude the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, in_order, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.usage import total_usage
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, number, scalar_text, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

WITHOUT_MESSAGES = "session_without_messages"
MESSAGE_MISSING = "message_of_parts_missing"
_IS_ERROR = {"completed": False, "error": True}
_METADATA = ("title", "directory", "projectID", "version")


class OpenCode(Container):
    """OpenCode sessions: exported whole, or sessions, messages and parts in files of their own."""

    name = "opencode"
    grouping = "key"
    order = 105

    def detect(self, value: Any) -> str | None:
        """An export's `info` and `messages` with `parts`, or a record of one of the stores."""
        if type(value) is not dict:
            return None
        if _is_export(value):
            return "`info` beside `messages` with `parts`, as OpenCode exports sessions"
        if type(value.get("sessionID")) is str:
            if type(value.get("messageID")) is str and type(value.get("type")) is str:
                return "`sessionID` beside `messageID`, as in OpenCode's parts"
            if value.get("role") in ("user", "assistant"):
                return "`sessionID` beside `role`, as in OpenCode's messages"
        return "an `id` of ses_, as in OpenCode's sessions" if _is_session(value) else None

    def key(self, record: SourceRecord) -> str | None:
        """The session."""
        value = dict_of(record.value)
        if _is_export(value):
            return id_text(value["info"].get("id"))
        own = id_text(value.get("sessionID"))
        return own if own is not None else id_text(value.get("id")) if _is_session(value) else None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one session's records; of an export that stands beside them, or twice, one each."""
        result = Normalised()
        session: dict[str, Any] = {}
        messages: dict[str, dict[str, Any]] = {}
        parts: dict[str, list[Any]] = {}
        used: list[SourceRecord] = []
        for record in in_order(records):
            value = record.value
            if self.detect(value) is None:
                detail = unknown_detail(value) if type(value) is dict else "the record is no object"
                reason = RejectReason.UNKNOWN_FORMAT if type(value) is dict else RejectReason.NOT_AN_OBJECT
                result.rejects.append(reject(record, reason, detail, self.name))
            elif _is_export(value):
                pairs = [
                    (dict_of(each.get("info")), list_of(each.get("parts"))) for each in map(dict_of, value["messages"])
                ]
                result.trajectories.append(_session([record], value["info"], pairs, Conversation(), self.name))
                result.records_used += 1
            else:
                used.append(record)
                if type(value.get("messageID")) is str:
                    parts.setdefault(value["messageID"], []).append(value)
                elif "role" in value:
                    messages[id_text(value.get("id")) or record.address] = value
                else:
                    session = value
        if not messages and not parts:
            if used:
                result.skip(WITHOUT_MESSAGES, len(used))
            return result
        talk = Conversation()
        for missing in parts.keys() - messages.keys():
            talk.issue(MESSAGE_MISSING)
            messages[missing] = {"id": missing, "role": "assistant"}
        # Ids rise with time, whatever the order in which the files were read.
        ordered = sorted(messages.items(), key=lambda entry: entry[0])
        pairs = [(message, sorted(parts.get(own, []), key=_part_place)) for own, message in ordered]
        header = {"id": self.key(used[0]), **session}
        result.trajectories.append(_session(used, header, pairs, talk, self.name))
        result.records_used += len(used)
        return result


def _is_export(value: dict[str, Any]) -> bool:
    messages = value.get("messages")
    if type(value.get("info")) is not dict or type(messages) is not list or not messages:
        return False
    return type(dict_of(messages[0]).get("info")) is dict and type(messages[0].get("parts")) is list


def _is_session(value: dict[str, Any]) -> bool:
    return type(value.get("id")) is str and value["id"].startswith("ses_") and "title" in value and "time" in value


def _part_place(part: dict[str, Any]) -> str:
    return id_text(part.get("id")) or ""


def _session(
    records: list[SourceRecord],
    header: dict[str, Any],
    messages: list[tuple[dict[str, Any], list[Any]]],
    talk: Conversation,
    source_format: str,
) -> Trajectory:
    facts = Facts(id=id_text(header.get("id")), agent="opencode")
    facts.group_id, facts.parent_id = facts.id, id_text(header.get("parentID"))
    facts.time = _created(header) or next((_created(message) for message, _ in messages if _created(message)), None)
    told = []
    for message, parts in messages:
        _add_message(message, parts, talk)
        if message.get("role") == "assistant":
            facts.model = facts.model or string_of(message.get("modelID"))
            facts.outcome = _outcome(message, talk)
            if type(message.get("tokens")) is dict or message.get("cost") is not None:
                told.append(_usage(message))
    facts.usage = total_usage(told)
    facts.metadata = {key: header[key] for key in _METADATA if type(header.get(key)) is str}
    facts.size = sum(record.size for record in records)
    for record in records:
        for issue in record.issues:
            talk.issue(issue)
    return trajectory(records[0], source_format, talk, facts)


def _add_message(message: dict[str, Any], parts: list[Any], talk: Conversation) -> None:
    role = "assistant" if message.get("role") == "assistant" else "user"
    summary = ("compaction_summary",) if role == "assistant" and message.get("summary") is True else ()
    place: int | None = None
    answers = []
    for part in map(dict_of, parts):
        kind, text = part.get("type"), string_of(part.get("text"))
        if kind == "text" and text and not part.get("ignored"):
            flags = ("injected",) if part.get("synthetic") else summary
            if place is None or talk.messages[place].flags != flags:
                place = talk.say(role, text, None, flags)
            else:
                talk.add_text(text, index=place)
        elif kind == "tool":
            if place is None:
                place = talk.say(role, None)
            state = dict_of(part.get("state"))
            name = string_of(part.get("tool")) or ""
            answers.append((talk.call(name, state.get("input"), part.get("callID"), place), name, state))
        elif kind == "step-start" and answers:
            _answer(answers, talk)
            answers, place = [], None
    _answer(answers, talk)


def _answer(answers: list[tuple[str, str, dict[str, Any]]], talk: Conversation) -> None:
    for call_id, name, state in answers:
        status = state.get("status")
        talk.waiting = [entry for entry in talk.waiting if entry[1] != call_id]
        if status in _IS_ERROR:
            text = state.get("error") if status == "error" else state.get("output")
            talk.result(scalar_text(text), call_id, name, _IS_ERROR[status])


def _created(value: dict[str, Any]) -> float | None:
    return number(dict_of(value.get("time")).get("created"))


def _outcome(message: dict[str, Any], talk: Conversation) -> str | None:
    error = dict_of(message.get("error"))
    if error:
        name = string_of(error.get("name"))
        talk.events.append(Event("error", name, string_of(dict_of(error.get("data")).get("message"))))
        return (
            "aborted" if name == "MessageAbortedError" else "limit" if name == "MessageOutputLengthError" else "error"
        )
    return "limit" if message.get("finish") == "length" else "ok" if message.get("finish") == "stop" else None


def _usage(message: dict[str, Any]) -> Usage:
    tokens = dict_of(message.get("tokens"))
    cache = dict_of(tokens.get("cache"))
    parts = [integer(tokens.get("input")), integer(cache.get("read")), integer(cache.get("write"))]
    given = None if parts[0] is None else sum(part or 0 for part in parts)
    return Usage(
        given, integer(tokens.get("output")), parts[1], integer(tokens.get("reasoning")), cost(message.get("cost"))
    )
