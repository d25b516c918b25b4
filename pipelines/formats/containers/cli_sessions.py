"""Container `cli_sessions`: sessions of coding agents that write one message a line, inside `message`: Pi and OpenClaw, Droid, Cursor.

Pi and OpenClaw write a tree (`parentId`): what a rewind left behind is skipped, the branch that ends in the last line is the session. Their
input tokens exclude the cache. Cursor's lines have neither ids nor times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import normalise_message
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import cost, dict_of, id_text, integer, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

HOUSEKEEPING = "session_event_without_message"
ABANDONED = "abandoned_branch"
_HEADERS = frozenset({"session", "session_start"})
_ROLES = frozenset({"user", "assistant", "system", "toolResult", "tool", "bashExecution", "custom"})
_SUMMARIES = frozenset({"compaction", "branch_summary"})
_SILENT = frozenset(
    {"model_change", "thinking_level_change", "custom", "label", "session_info", "session_end", "todo_state"}
)
_OUTCOMES = {"length": "limit", "error": "error", "aborted": "aborted"}
_METADATA = ("cwd", "title", "version", "parentSession")


class CliSessions(Container):
    """Sessions of Pi, OpenClaw, Droid and Cursor: one message a line, inside `message`."""

    name = "cli_sessions"
    grouping = "file"
    order = 95

    def detect(self, value: Any) -> str | None:
        """A session's header, a line of `type` message that wraps one, or Cursor's bare `role` and `message`."""
        if type(value) is not dict:
            return None
        kind, message = value.get("type"), value.get("message")
        if kind == "session" and "id" in value and ("cwd" in value or "version" in value):
            return "`type` session, as in Pi and OpenClaw sessions"
        if kind == "session_start" and "id" in value:
            return "`type` session_start, as in Droid sessions"
        if kind == "message" and _is_message(message) and "id" in value:
            return "`type` message around a `message`, as in Pi, OpenClaw and Droid sessions"
        if _is_tree_event(value):
            return f"`type` {kind} with `parentId`, as in Pi and OpenClaw sessions"
        return "`role` beside `message`, as in Cursor's transcripts" if _is_bare(value) else None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one session file."""
        result = Normalised()
        lines: list[SourceRecord] = []
        header: dict[str, Any] = {}
        for record in records:
            value = record.value
            if type(value) is not dict:
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, "the line is no object", self.name))
            elif value.get("type") in _HEADERS:
                header = header or value
                result.skip(HOUSEKEEPING)
            elif self.detect(value) is None:
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, unknown_detail(value), self.name))
            else:
                lines.append(record)
        branch = _last_branch(lines)
        said = []
        for record in lines:
            if id(record) not in branch:
                result.skip(ABANDONED)
            elif record.value.get("type") in _SILENT:
                result.skip(HOUSEKEEPING)
            else:
                said.append(record)
        if said:
            result.records_used += len(said)
            result.trajectories.append(_session(said, header, self.name))
        return result


def _is_message(message: Any) -> bool:
    return type(message) is dict and message.get("role") in _ROLES


def _is_tree_event(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return (
        type(kind) is str
        and kind in (_SILENT | _SUMMARIES | {"custom_message"})
        and "parentId" in value
        and "id" in value
    )


def _is_bare(value: dict[str, Any]) -> bool:
    message = value.get("message")
    if value.get("role") not in ("user", "assistant") or not value.keys() <= {"role", "message", "timestamp"}:
        return False
    return type(message) is dict and "role" not in message and type(message.get("content")) in (str, list)


def _last_branch(lines: list[SourceRecord]) -> set[int]:
    """The records from the first line to the last one by their parents; all of them where the lines have none."""
    by_id = {id_text(record.value.get("id")): record for record in lines if record.value.get("id")}
    if not any(id_text(record.value.get("parentId")) in by_id for record in lines):
        return {id(record) for record in lines}
    branch: set[int] = set()
    step: SourceRecord | None = lines[-1]
    while step is not None and id(step) not in branch:
        branch.add(id(step))
        step = by_id.get(id_text(step.value.get("parentId")))
    return branch


def _session(records: list[SourceRecord], header: dict[str, Any], source_format: str) -> Trajectory:
    talk = Conversation()
    facts = Facts(id=id_text(header.get("id")), time=header.get("timestamp"))
    facts.group_id = facts.id
    facts.parent_id = id_text(header.get("parentSession"))
    told: list[Usage] = []
    for record in records:
        value = record.value
        facts.time = facts.time or value.get("timestamp")
        message = dict_of(value.get("message"))
        if value.get("type") in _SUMMARIES:
            talk.say("user", string_of(value.get("summary")), None, ("compaction_summary",))
        elif value.get("type") == "custom_message":
            talk.say("user", text_of(value.get("content"), talk), None, ("injected",))
        else:
            _add_message({"role": value.get("role"), **message}, talk)
        if message.get("role") == "assistant":
            facts.model = facts.model or string_of(message.get("model"))
            facts.outcome = _OUTCOMES.get(str(message.get("stopReason")))
            if string_of(message.get("errorMessage")):
                talk.events.append(Event("error", None, message["errorMessage"]))
            if type(message.get("usage")) is dict:
                told.append(_usage(message["usage"]))
    facts.usage = total_usage(told)
    facts.metadata = {key: header[key] for key in _METADATA if type(header.get(key)) is str}
    facts.size = sum(record.size for record in records)
    for record in records:
        for issue in record.issues:
            talk.issue(issue)
    return trajectory(records[0], source_format, talk, facts)


def _add_message(message: dict[str, Any], talk: Conversation) -> None:
    role = message.get("role")
    if role == "toolResult":
        failed = message.get("isError")
        text = text_of(message.get("content"), talk)
        call_id = id_text(message.get("toolCallId"))
        talk.result(text, call_id, string_of(message.get("toolName")), failed if type(failed) is bool else None)
    elif role == "bashExecution":
        talk.say("user", f"$ {message.get('command')}\n{message.get('output')}", None, ("injected",))
    elif role == "custom":
        talk.say("user", text_of(message.get("content"), talk), None, ("injected",))
    else:
        content = message.get("content")
        if type(content) is list:
            content = [_block(block) for block in content]
        normalise_message({"role": role, "content": content}, talk)


def _block(block: Any) -> Any:
    """Pi's tool call as Anthropic's; all other blocks are theirs already."""
    if type(block) is dict and block.get("type") == "toolCall":
        return {"type": "tool_use", "id": block.get("id"), "name": block.get("name"), "input": block.get("arguments")}
    return block


def _usage(usage: dict[str, Any]) -> Usage:
    if "input" not in usage and "cacheRead" not in usage:
        return usage_of(usage)
    parts = [integer(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite")]
    given = None if parts[0] is None else sum(part or 0 for part in parts)
    return Usage(given, integer(usage.get("output")), parts[1], None, cost(dict_of(usage.get("cost")).get("total")))
