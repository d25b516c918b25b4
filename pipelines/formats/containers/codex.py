"""Container `codex`: rollout files of Codex CLI, old files of bare items, and `codex exec --json` event streams.

`response_item`s are the conversation; `event_msg`s repeat it and are skipped. Token counts are cumulative, written twice and sometimes reset:
equal totals are dropped, rises are summed, and a fall starts a new count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.messages import error_event
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import normalise_message
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.dialects.openai_responses import ITEM_TYPES
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, integer, string_of, unwrapped
from schemas.reject import RejectReason
from schemas.trajectory import Event, Usage

REPEATED = "event_repeated_by_response_items"
_ROLLOUT = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_EXEC = re.compile(r"(thread\.started|turn\.(started|completed|failed)|item\.(started|updated|completed)|error)")
_INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<permissions instructions>", "<INSTRUCTIONS>",
             "<collaboration_mode>", "<turn_aborted>", "<skills_instructions>", "<apps_instructions>")  # fmt: skip
_EXIT_CODE = re.compile(r"(?:^|\n)(?:Exit code|Process exited with code):? (-?\d+)")
_COUNTERS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


class Codex(Container):
    """Codex sessions; a file is one session."""

    name = "codex"
    grouping = "file"
    order = 40

    def detect(self, value: Any) -> str | None:
        """A rollout line's `type` and `payload`, or an event of `codex exec --json`."""
        if type(value) is not dict:
            return None
        kind = string_of(value.get("type"))
        if kind in _ROLLOUT and type(value.get("payload")) is dict:
            return f"`type` {kind} with `payload`, as in Codex rollouts"
        if type(kind) is str and _EXEC.fullmatch(kind) and "payload" not in value and kind != "error":
            return f"`type` {kind}, as `codex exec --json` prints"
        if (
            "type" not in value
            and "instructions" in value
            and "id" in value
            and "timestamp" in value
            and "git" in value
        ):
            return "the first line of an old Codex rollout"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one rollout file."""
        result = Normalised()
        if not records:
            return result
        session = _Session(records[0])
        for record in records:
            value = record.value
            if type(value) is not dict:
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, "the line is no object", self.name))
                continue
            taken = session.take(value)
            if taken is None:
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, unknown_detail(value), self.name))
            elif taken:
                result.records_used += 1
                session.size += record.size
            else:
                result.skip(REPEATED)
        if result.records_used:
            result.trajectories.append(session.trajectory(self.name))
        return result


class _Session:
    def __init__(self, record: SourceRecord) -> None:
        self.record = record
        self.talk = Conversation()
        self.facts = Facts(agent="codex")
        self.counts: list[dict[str, int]] = []
        self.exec_usage: list[Usage] = []
        self.size = 0
        self.answer: str | None = None

    def take(self, value: dict[str, Any]) -> bool | None:
        """True where the line went in, False where others repeat it, None where it is no Codex line."""
        kind = string_of(value.get("type"))
        payload = value.get("payload")
        self.facts.time = self.facts.time or value.get("timestamp")
        if kind in _ROLLOUT and type(payload) is dict:
            return self._take_rollout(str(kind), payload)
        if kind in ITEM_TYPES or kind == "message":
            self._take_item(value)
            return True
        if type(kind) is str and _EXEC.fullmatch(kind):
            return self._take_exec(kind, value)
        if kind is None and "id" in value and "timestamp" in value:
            self._take_meta(value)
            return True
        return False if kind is None and "record_type" in value else None

    def _take_rollout(self, kind: str, payload: dict[str, Any]) -> bool:
        if kind == "session_meta":
            self._take_meta(payload)
        elif kind == "response_item":
            self._take_item(payload)
        elif kind == "turn_context":
            self.facts.model = self.facts.model or string_of(payload.get("model"))
        elif kind == "event_msg":
            return self._take_event(payload)
        elif kind == "compacted":
            text = string_of(payload.get("message"))
            if text:
                self.talk.say("user", text, None, ("compaction_summary",))
        else:
            return False
        return True

    def _take_meta(self, meta: dict[str, Any]) -> None:
        if self.facts.id is not None:
            return
        self.facts.id = id_text(meta.get("id"))
        self.facts.group_id = self.facts.id
        self.facts.time = meta.get("timestamp") or self.facts.time
        spawn = dict_of(dict_of(dict_of(meta.get("source")).get("subagent")).get("thread_spawn"))
        self.facts.parent_id = id_text(spawn.get("parent_thread_id"))
        shown = {
            key: meta[key]
            for key in ("cli_version", "cwd", "originator", "model_provider")
            if type(meta.get(key)) is str
        }
        git = dict_of(meta.get("git"))
        shown.update({f"git.{key}": git[key] for key in ("branch", "commit_hash") if type(git.get(key)) is str})
        self.facts.metadata = dict(sorted(shown.items()))

    def _take_item(self, item: dict[str, Any]) -> None:
        kind = string_of(item.get("type"))
        if kind is None and "role" in item:
            item = {**item, "type": "message"}
        if kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
            text, is_error = _output(item.get("output"))
            self.talk.result(text, item.get("call_id"), None, is_error)
            return
        before = len(self.talk.messages)
        normalise_message(item, self.talk, self._flags(item))
        if len(self.talk.messages) == before and kind not in ("reasoning", "message", None) and kind not in ITEM_TYPES:
            self.talk.issue("unknown_item")

    def _flags(self, item: dict[str, Any]) -> tuple[str, ...]:
        if item.get("role") == "developer":
            return ("injected",)
        if item.get("role") != "user":
            return ()
        content = item.get("content")
        parts = [part.get("text") for part in content if type(part) is dict] if type(content) is list else [content]
        first = next((part for part in parts if type(part) is str), "")
        return ("injected",) if first.lstrip().startswith(_INJECTED) else ()

    def _take_event(self, event: dict[str, Any]) -> bool:
        kind = event.get("type")
        if kind == "token_count":
            totals = dict_of(dict_of(event.get("info")).get("total_token_usage"))
            if totals:
                self.counts.append({key: integer(totals.get(key)) or 0 for key in _COUNTERS})
            return True
        if kind == "turn_aborted":
            self.facts.outcome = "aborted"
            self.talk.events.append(Event("error", "turn_aborted", string_of(event.get("reason"))))
            return True
        if kind in ("error", "stream_error"):
            self.facts.outcome = "error" if kind == "error" else self.facts.outcome
            self.talk.events.append(Event("error", str(kind), string_of(event.get("message"))))
            return True
        if kind == "task_complete":
            self.facts.outcome = "ok"
            self.answer = string_of(event.get("last_agent_message")) or self.answer
            self.talk.events.append(Event("turn_end"))
            return True
        if kind in ("task_started", "context_compacted"):
            self.talk.events.append(Event("turn_start") if kind == "task_started" else Event("system", "compaction"))
            return True
        return False

    def _take_exec(self, kind: str, value: dict[str, Any]) -> bool:
        if kind == "thread.started":
            self.facts.id = self.facts.group_id = id_text(value.get("thread_id"))
        elif kind == "turn.completed":
            self.exec_usage.append(usage_of(value.get("usage")))
            self.facts.outcome = "ok"
            self.talk.events.append(Event("turn_end"))
        elif kind in ("turn.failed", "error"):
            self.facts.outcome = "error"
            self.talk.events.append(error_event(value.get("error") or value.get("message") or kind))
        elif kind == "turn.started":
            self.talk.events.append(Event("turn_start"))
        elif kind == "item.completed":
            self._take_exec_item(dict_of(value.get("item")))
        else:
            return False
        return True

    def _take_exec_item(self, item: dict[str, Any]) -> None:
        kind = item.get("type") or item.get("item_type")
        if kind in ("agent_message", "assistant_message"):
            self.talk.say("assistant", string_of(item.get("text")))
        elif kind == "command_execution":
            self._pair("shell", {"command": item.get("command")}, item, item.get("aggregated_output"))
        elif kind in ("file_change", "web_search", "mcp_tool_call", "collab_tool_call"):
            name = string_of(item.get("tool")) or str(kind)
            arguments = item.get("arguments") or item.get("changes") or item.get("query")
            self._pair(name, arguments, item, item.get("result"))
        elif kind == "error":
            self.talk.events.append(Event("error", None, string_of(item.get("message"))))

    def _pair(self, name: str, arguments: Any, item: dict[str, Any], output: Any) -> None:
        self.talk.say("assistant", None)
        call_id = self.talk.call(name, arguments, item.get("id"))
        code = item.get("exit_code")
        failed = code != 0 if type(code) is int else {"failed": True, "completed": False}.get(str(item.get("status")))
        self.talk.result(output if type(output) is str or output is None else str(output), call_id, name, failed)

    def trajectory(self, source_format: str) -> Any:
        self.facts.usage = total_usage(self.exec_usage) if self.exec_usage else _counted(self.counts)
        self.facts.size = self.size
        if self.answer is not None and self.talk.final_output()[0] is None:
            self.facts.output, self.facts.output_rule = self.answer, "task_complete"
        return trajectory(self.record, source_format, self.talk, self.facts)


def _output(output: Any) -> tuple[str | None, bool | None]:
    """(text, whether it failed) of a tool's output: JSON with `output` and an exit code, text with one, or parts."""
    inner = unwrapped(output)
    if type(inner) is dict and "output" in inner:
        code = dict_of(inner.get("metadata")).get("exit_code")
        inner_text = inner["output"] if type(inner["output"]) is str else str(inner["output"])
        failed = (
            code != 0 if type(code) is int else (not inner["success"] if type(inner.get("success")) is bool else None)
        )
        return inner_text, failed
    if type(inner) is dict and "content" in inner:
        success = inner.get("success")
        return str(inner["content"]), (not success) if type(success) is bool else None
    text: str | None
    if type(inner) is list:
        parts = [part.get("text") for part in inner if type(part) is dict]
        text = "\n".join(part for part in parts if type(part) is str)
    else:
        text = output if type(output) is str else None if output is None else str(output)
    found = _EXIT_CODE.search(text[:2000]) if text else None
    return text, int(found[1]) != 0 if found else None


def _counted(counts: list[dict[str, int]]) -> Usage:
    if not counts:
        return Usage()
    total = dict.fromkeys(_COUNTERS, 0)
    before = dict.fromkeys(_COUNTERS, 0)
    for now in counts:
        if sum(now[key] for key in ("input_tokens", "output_tokens")) < sum(
            before[key] for key in ("input_tokens", "output_tokens")
        ):
            before = dict.fromkeys(_COUNTERS, 0)
        for key in _COUNTERS:
            total[key] += max(now[key] - before[key], 0)
        before = now
    return Usage(
        total["input_tokens"], total["output_tokens"], total["cached_input_tokens"], total["reasoning_output_tokens"]
    )
