"""Container `claude_code`: session files of Claude Code (and of Qwen Code, whose envelope is the same), and its web export (`loglines`).

A file is one session; a trajectory is one (session, agent), cut at every `/clear`. The lines of one model message are one message, and its
usage is that of its last line. Side chains are trajectories of their own. Of prompts that were rewound and written anew, the last counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.formats.build import Facts, Ordinals, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import normalise_message
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import cost, dict_of, id_text, list_of, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, ToolResult, Trajectory, Usage

HOUSEKEEPING = "session_event_without_message"
DUPLICATE = "duplicate_uuid"
ABANDONED = "abandoned_branch"
_HOUSEKEEPING_TYPES = frozenset(
    {"summary", "attachment", "progress", "queue-operation", "file-history-snapshot", "mode", "permission-mode", "custom-title",
     "ai-title", "last-prompt", "pr-link", "worktree-state", "agent-name", "saved_hook_context"}
)  # fmt: skip
_INJECTED_STARTS = (
    "<command-name>", "<command-message>", "<command-args>", "<local-command-stdout>", "<local-command-stderr>",
    "<local-command-caveat>", "<system-reminder>", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<user-memory-input>",
    "<task-notification>", "Caveat: The messages below", "[Request interrupted by user",
)  # fmt: skip
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"
_CLEAR = "<command-name>/clear</command-name>"
_SYNTHETIC = "<synthetic>"
_METADATA = ("cwd", "gitBranch", "version", "slug", "userType", "entrypoint")


class ClaudeCode(Container):
    """Claude Code sessions."""

    name = "claude_code"
    grouping = "file"
    order = 70

    def detect(self, value: Any) -> str | None:
        """`sessionId` beside `uuid` or `parentUuid`, a housekeeping type, or `loglines`."""
        if type(value) is not dict:
            return None
        if type(value.get("loglines")) is list:
            return "`loglines` is a list of session lines"
        if "sessionId" in value and ("uuid" in value or "parentUuid" in value or "isSidechain" in value):
            return "`sessionId` beside `uuid`, as in Claude Code sessions"
        kind = string_of(value.get("type"))
        if kind in ("user", "assistant") and type(value.get("message")) is dict and "session_id" not in value:
            return f"`type` {kind} beside `message`, as in Claude Code sessions"
        if kind in _HOUSEKEEPING_TYPES and ("sessionId" in value or "leafUuid" in value or "messageId" in value):
            return f"`type` {kind}, as in Claude Code sessions"
        usage = dict_of(dict_of(value.get("message")).get("usage"))
        if "timestamp" in value and "input_tokens" in usage and "type" not in value:
            return "`message.usage` beside `timestamp`, as in old Claude Code sessions"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one session file."""
        result = Normalised()
        lines: list[_Line] = []
        for record in records:
            value = record.value
            if type(value) is not dict:
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, "the line is no object", self.name))
            elif type(value.get("loglines")) is list:
                inner = [_Line(record, line) for line in value["loglines"] if type(line) is dict and _has_message(line)]
                lines += inner
                if inner:
                    result.records_used += 1
                else:
                    result.skip(HOUSEKEEPING)
            elif _has_message(value) or _is_error_event(value):
                lines.append(_Line(record, value, counted=True))
            elif self.detect(value) is None and "type" not in value:
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, unknown_detail(value), self.name))
            else:
                result.skip(HOUSEKEEPING)
        lines = _without_duplicates(lines, result)
        abandoned = _abandoned(lines)
        for line in lines:
            if line.uuid in abandoned:
                result.skip(ABANDONED, int(line.counted))
        kept = [line for line in lines if line.uuid not in abandoned]
        result.records_used += sum(line.counted for line in kept)
        ordinals = Ordinals()
        for session in _sessions(kept):
            result.trajectories.append(session.trajectory(self.name, ordinals))
        return result


@dataclass(slots=True)
class _Line:
    record: SourceRecord
    value: dict[str, Any]
    counted: bool = False

    @property
    def uuid(self) -> str | None:
        return id_text(self.value.get("uuid"))

    @property
    def is_prompt(self) -> bool:
        """Whether the user wrote it: no tool result, nothing injected."""
        if self.value.get("type") != "user" or self.value.get("isMeta"):
            return False
        content = dict_of(self.value.get("message")).get("content")
        if type(content) is list:
            return not any(dict_of(block).get("type") == "tool_result" for block in content)
        return type(content) is str and not content.startswith(_INJECTED_STARTS)


def _has_message(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return type(value.get("message")) is dict and (kind in ("user", "assistant") or kind is None)


def _is_error_event(value: dict[str, Any]) -> bool:
    return value.get("type") == "system" and value.get("subtype") in ("api_error", "api_refusal")


def _without_duplicates(lines: list[_Line], result: Normalised) -> list[_Line]:
    seen: set[str] = set()
    kept = []
    for line in lines:
        if line.uuid is not None and line.uuid in seen:
            if line.counted:
                result.skip(DUPLICATE)
            continue
        if line.uuid is not None:
            seen.add(line.uuid)
        kept.append(line)
    return kept


def _abandoned(lines: list[_Line]) -> set[str | None]:
    """Uuids below prompts that were written anew: of several prompts with one parent, all but the last."""
    children: dict[str, list[_Line]] = {}
    for line in lines:
        parent = id_text(line.value.get("parentUuid"))
        if parent is not None:
            children.setdefault(parent, []).append(line)
    pending: list[str] = []
    for siblings in children.values():
        prompts = [line for line in siblings if line.is_prompt and not line.value.get("isSidechain")]
        pending += [line.uuid for line in prompts[:-1] if line.uuid is not None]
    abandoned: set[str | None] = set()
    while pending:
        uuid = pending.pop()
        if uuid not in abandoned:
            abandoned.add(uuid)
            pending += [line.uuid for line in children.get(uuid, ()) if line.uuid is not None]
    return abandoned


@dataclass(slots=True)
class _Session:
    id: str
    group_id: str | None
    parent_id: str | None
    agent_id: str | None
    lines: list[_Line] = field(default_factory=list)

    def trajectory(self, source_format: str, ordinals: Ordinals) -> Trajectory:
        talk = Conversation()
        usage: dict[str, Usage] = {}
        places: dict[str, int] = {}
        facts = Facts(id=self.id, group_id=self.group_id, parent_id=self.parent_id)
        facts.agent = f"claude-code:{self.agent_id}" if self.agent_id else "claude-code"
        costs = []
        for line in self.lines:
            value = line.value
            facts.time = facts.time or value.get("timestamp")
            if _is_error_event(value):
                error = dict_of(value.get("error"))
                talk.events.append(
                    Event(
                        "error",
                        str(value["subtype"]),
                        string_of(value.get("content")) or string_of(error.get("message")),
                    )
                )
                continue
            flags = _flags(value, self.agent_id is not None)
            message = value["message"]
            if value.get("type") == "user" or message.get("role") == "user":
                add_user(message, value, talk, flags)
            else:
                add_assistant(message, talk, flags, places)
                model = string_of(message.get("model"))
                if model and model != _SYNTHETIC:
                    facts.model = facts.model or model
                key = id_text(message.get("id")) or line.uuid or f"#{len(usage)}"
                counted = usage_of(message.get("usage"))
                if model != _SYNTHETIC and (counted != Usage() or key not in usage):
                    usage[key] = counted
            if value.get("costUSD") is not None:
                costs.append(cost(value["costUSD"]))
            if value.get("isApiErrorMessage"):
                talk.events.append(Event("error", "api_error", talk.messages[-1].text if talk.messages else None))
        total = total_usage(usage.values())
        known = [amount for amount in costs if amount is not None]
        if known and total.cost_usd is None:
            total = Usage(
                total.input_tokens,
                total.output_tokens,
                total.cached_input_tokens,
                total.reasoning_tokens,
                sum(known[1:], known[0]),
            )
        facts.usage = total
        if talk.messages and (talk.messages[-1].text or "").startswith(_INTERRUPTED):
            facts.outcome = "aborted"
        elif self.lines and self.lines[-1].value.get("isApiErrorMessage"):
            facts.outcome = "error"
        first = next((line.value for line in self.lines if "cwd" in line.value), self.lines[0].value)
        facts.metadata = {
            key: str(first[key]) for key in sorted(_METADATA) if type(first.get(key)) is str and first[key]
        }
        facts.size = sum(line.record.size for line in self.lines)
        first_record = self.lines[0].record
        return trajectory(first_record, source_format, talk, facts, ordinals.of(first_record))


def _sessions(lines: list[_Line]) -> list[_Session]:
    """The lines by session and agent, in file order, cut at `/clear`; side chains without an agent id by their first line."""
    chains: dict[str, str] = {}
    open_sessions: dict[tuple[str | None, str | None], _Session] = {}
    cuts: dict[tuple[str | None, str | None], int] = {}
    made = []
    for line in lines:
        value = line.value
        session_id = id_text(value.get("sessionId"))
        agent = id_text(value.get("agentId"))
        if agent is None and value.get("isSidechain"):
            parent = id_text(value.get("parentUuid")) or ""
            agent = chains.get(parent) or f"sidechain-{line.uuid}"
            chains[line.uuid or ""] = agent
        key = (session_id, agent)
        base = session_id or line.record.address
        if key in open_sessions and agent is None and _CLEAR in str(dict_of(value.get("message")).get("content", "")):
            cuts[key] = cuts.get(key, 0) + 1
            del open_sessions[key]
        if key not in open_sessions:
            own_id = base if agent is None else f"{base}:{agent}"
            if cuts.get(key):
                own_id = f"{own_id}#{cuts[key]}"
            session = _Session(own_id, session_id, session_id if agent is not None else None, agent)
            open_sessions[key] = session
            made.append(session)
        open_sessions[key].lines.append(line)
    return made


def _flags(value: dict[str, Any], is_sidechain: bool) -> tuple[str, ...]:
    flags = ["sidechain"] if is_sidechain else []
    if value.get("isMeta"):
        flags.append("injected")
    if value.get("isCompactSummary"):
        flags.append("compaction_summary")
    if value.get("isApiErrorMessage") or dict_of(value.get("message")).get("model") == _SYNTHETIC:
        flags.append("synthetic")
    return tuple(flags)


def add_user(message: dict[str, Any], value: dict[str, Any], talk: Conversation, flags: tuple[str, ...]) -> None:
    """Append a line of the user's side; texts that the client put there are flagged as injected."""
    content = message.get("content")
    before = len(talk.results)
    if type(content) is list:
        plain: list[Any] = []
        for block in content:
            text = block.get("text") if type(block) is dict and block.get("type") == "text" else None
            if type(text) is str and text.lstrip().startswith(_INJECTED_STARTS):
                if plain:
                    normalise_message({"role": "user", "content": plain}, talk, flags)
                    plain = []
                _say(text, talk, flags)
            else:
                plain.append(block)
        if plain:
            normalise_message({"role": "user", "content": plain}, talk, flags)
    elif type(content) is str:
        _say(content, talk, flags)
    else:
        normalise_message({"role": "user", **message}, talk, flags)
    rich = value.get("toolUseResult")
    if len(talk.results) == before + 1 and type(rich) is dict and rich.get("interrupted") is True:
        last = talk.results[-1]
        talk.results[-1] = ToolResult(last.text, last.tool_call_id, last.name, True, last.message_index)


def _say(text: str, talk: Conversation, flags: tuple[str, ...]) -> None:
    """Append the user's text; reminders that the client put before it are messages of their own."""
    reminder = _REMINDER.match(text)
    while reminder is not None and reminder.end() < len(text):
        talk.say("user", reminder[0].strip(), None, _injected(flags))
        text = text[reminder.end() :]
        reminder = _REMINDER.match(text)
    talk.say("user", text, None, _injected(flags) if text.lstrip().startswith(_INJECTED_STARTS) else flags)


def _injected(flags: tuple[str, ...]) -> tuple[str, ...]:
    return flags if "injected" in flags else (*flags, "injected")


def add_assistant(message: dict[str, Any], talk: Conversation, flags: tuple[str, ...], places: dict[str, int]) -> None:
    """A line of the assistant; further lines of the same message add to it."""
    message_id = id_text(message.get("id"))
    place = places.get(message_id) if message_id is not None else None
    if place is None:
        if message_id is not None:
            places[message_id] = len(talk.messages)
        normalise_message({"role": "assistant", "content": None, **message, "type": None}, talk, flags)
        return
    known = {call.id for call in talk.calls if call.message_index == place}
    for block in list_of(message.get("content")):
        body = dict_of(block)
        if body.get("type") == "text" and type(body.get("text")) is str:
            if body["text"] not in (talk.messages[place].text or ""):
                talk.add_text(body["text"], index=place)
        elif body.get("type") in ("tool_use", "server_tool_use") and id_text(body.get("id")) not in known:
            talk.call(str(body.get("name") or ""), body.get("input"), body.get("id"), place)
    if type(message.get("content")) is str and message["content"] not in (talk.messages[place].text or ""):
        talk.add_text(message["content"], index=place)
