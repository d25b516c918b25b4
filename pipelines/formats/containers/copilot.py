"""Containers of GitHub Copilot: CLI events (`copilot_cli`), VS Code chat exports (`vscode_chat`) and chat replays (`vscode_chatreplay`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.single import OneTrajectoryARecord
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, integer, list_of, scalar_text, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

_EVENT_KINDS = ("session.", "user.", "assistant.", "tool.", "hook.", "subagent.", "system.", "skill.", "abort")
OTHER_EVENT = "session_event_without_message"
_ROLES = {0: "system", 1: "user", 2: "assistant", 3: "tool"}


class CopilotCli(Container):
    """Copilot CLI events; a file is one session."""

    name = "copilot_cli"
    grouping = "file"
    order = 60

    def detect(self, value: Any) -> str | None:
        """A dotted `type` beside `data` and an id."""
        if type(value) is not dict or type(value.get("type")) is not str or type(value.get("data")) is not dict:
            return None
        if value["type"].startswith(_EVENT_KINDS) and ("parentId" in value or "id" in value):
            return f"`type` {value['type']} beside `data`, as in Copilot CLI events"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one session."""
        result = Normalised()
        talk = Conversation()
        facts = Facts(agent="copilot-cli")
        used: list[SourceRecord] = []
        outputs: list[Usage] = []
        for record in records:
            value = record.value
            if self.detect(value) is None:
                detail = unknown_detail(value) if type(value) is dict else "the line is no object"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif _take_event(value, value["data"], talk, facts, outputs):
                used.append(record)
            else:
                result.skip(OTHER_EVENT)
        if used:
            if facts.usage == Usage():
                facts.usage = total_usage(outputs)
            facts.group_id = facts.id
            facts.size = sum(record.size for record in used)
            result.trajectories.append(trajectory(used[0], self.name, talk, facts))
            result.records_used += len(used)
        return result


def _take_event(
    value: dict[str, Any], data: dict[str, Any], talk: Conversation, facts: Facts, outputs: list[Usage]
) -> bool:
    kind = value["type"]
    facts.time = facts.time or value.get("timestamp")
    if kind == "session.start":
        facts.id = id_text(data.get("sessionId"))
        facts.model = string_of(data.get("selectedModel"))
        facts.metadata = metadata_of(
            {"copilotVersion": data.get("copilotVersion"), "metadata": dict_of(data.get("context"))}
        )
    elif kind == "user.message":
        talk.say("user", text_of(data.get("content"), talk))
    elif kind == "assistant.message":
        calls = [call for call in list_of(data.get("toolRequests")) if type(call) is dict]
        text = text_of(data.get("content"), talk)
        talk.say("assistant", None if calls and text == "" else text)
        for call in calls:
            talk.call(str(call.get("name") or ""), call.get("arguments"), call.get("toolCallId"))
        facts.model = string_of(data.get("model")) or facts.model
        outputs.append(Usage(output_tokens=integer(data.get("outputTokens"))))
    elif kind == "tool.execution_start":
        if not any(call.id == id_text(data.get("toolCallId")) for call in talk.calls):
            if not talk.messages or talk.messages[-1].role != "assistant":
                talk.say("assistant", None)
            talk.call(str(data.get("toolName") or ""), data.get("arguments"), data.get("toolCallId"))
    elif kind == "tool.execution_complete":
        success = data.get("success")
        result = data.get("result")
        content = dict_of(result).get("content") if type(result) is dict else result
        text = text_of(content if content is not None else dict_of(data.get("error")).get("message"), talk)
        talk.result(text, data.get("toolCallId"), None, None if type(success) is not bool else not success)
    elif kind in ("assistant.turn_start", "assistant.turn_end"):
        talk.events.append(Event("turn_start" if kind.endswith("start") else "turn_end", id_text(data.get("turnId"))))
    elif kind == "session.error":
        talk.events.append(Event("error", string_of(data.get("errorType")), string_of(data.get("message"))))
        facts.outcome = "error"
    elif kind == "abort":
        facts.outcome = "aborted"
    elif kind == "skill.invoked":
        talk.events.append(Event("skill_activation", string_of(data.get("name")), string_of(data.get("path"))))
    elif kind == "session.shutdown":
        told = [
            usage_of(dict_of(dict_of(metrics).get("usage"))) for metrics in dict_of(data.get("modelMetrics")).values()
        ]
        facts.usage = total_usage(told)
    else:
        return False
    return True


class VsCodeChat(OneTrajectoryARecord):
    """Chats that VS Code exported."""

    name = "vscode_chat"
    order = 261

    def detect(self, value: Any) -> str | None:
        """`responderUsername` beside `requests`."""
        if type(value) is dict and "responderUsername" in value and type(value.get("requests")) is list:
            return "`responderUsername` and `requests`, as in VS Code chat exports"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """The chat: a request's tool rounds, then the text of its answer."""
        talk = Conversation()
        facts = Facts(id=id_text(value.get("sessionId")), agent=string_of(value.get("responderUsername")))
        latencies = []
        for request in list_of(value["requests"]):
            body = dict_of(request)
            message = body.get("message")
            talk.say("user", scalar_text(dict_of(message).get("text") if type(message) is dict else message))
            result = dict_of(body.get("result"))
            metadata = dict_of(result.get("metadata"))
            results = dict_of(metadata.get("toolCallResults"))
            for turn in list_of(metadata.get("toolCallRounds")):
                _add_round(dict_of(turn), results, talk)
            parts = [dict_of(part) for part in list_of(body.get("response"))]
            text = "".join(_markdown(part) for part in parts if "kind" not in part or part["kind"] == "inlineReference")
            if text and text != (talk.messages[-1].text or ""):
                talk.say("assistant", text)
            facts.model = facts.model or string_of(body.get("modelId")) or string_of(result.get("details"))
            facts.time = facts.time or body.get("timestamp")
            latencies.append(integer(dict_of(result.get("timings")).get("totalElapsed")))
            if body.get("isCanceled"):
                facts.outcome = "aborted"
            error = dict_of(result.get("errorDetails"))
            if error:
                facts.outcome = "error"
                talk.events.append(Event("error", string_of(error.get("code")), string_of(error.get("message"))))
        known = [latency for latency in latencies if latency is not None]
        facts.usage = Usage(latency_ms=sum(known) if known else None)
        return trajectory(record, self.name, talk, facts) if talk.messages else None


def _markdown(part: dict[str, Any]) -> str:
    value = part.get("value")
    if type(value) is dict:
        value = value.get("value")
    if value is None:
        value = part.get("name")
    return value if type(value) is str else ""


def _add_round(turn: dict[str, Any], results: dict[str, Any], talk: Conversation) -> None:
    calls = [dict_of(call) for call in list_of(turn.get("toolCalls"))]
    text = turn.get("response")
    text = "".join(item for item in text if type(item) is str) if type(text) is list else string_of(text)
    talk.say("assistant", text or None)
    place = len(talk.messages) - 1
    ids = [
        (talk.call(str(call.get("name") or ""), call.get("arguments"), call.get("id"), place), call) for call in calls
    ]
    for call_id, call in ids:
        own = results.get(str(call.get("id")))
        if own is not None:
            parts = [dict_of(part).get("value") for part in list_of(dict_of(own).get("content"))]
            talk.result("\n".join(part for part in parts if type(part) is str), call_id)


class VsCodeChatReplay(OneTrajectoryARecord):
    """Chat replays of VS Code: one trajectory a prompt."""

    name = "vscode_chatreplay"
    order = 262

    def detect(self, value: Any) -> str | None:
        """`prompts` beside `totalLogEntries`."""
        if type(value) is dict and type(value.get("prompts")) is list and "totalLogEntries" in value:
            return "`prompts` and `totalLogEntries`, as in VS Code chat replays"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Sequence[Trajectory]:
        """The last request of each prompt has its whole conversation."""
        made = []
        for ordinal, prompt in enumerate(list_of(value["prompts"])):
            logs = [dict_of(log) for log in list_of(dict_of(prompt).get("logs"))]
            requests = [log for log in logs if log.get("kind") == "request"]
            talk = Conversation()
            if requests:
                _add_request(requests[-1], talk)
            else:
                talk.say("user", scalar_text(dict_of(prompt).get("prompt")))
            told = [usage_of(dict_of(dict_of(log.get("metadata")).get("usage"))) for log in requests]
            facts = Facts(usage=total_usage(told), size=record.size if ordinal == 0 else 0)
            facts.model = next((string_of(dict_of(log.get("metadata")).get("model")) for log in requests), None)
            made.append(trajectory(record, self.name, talk, facts, ordinal))
        return made


def _add_request(log: dict[str, Any], talk: Conversation) -> None:
    messages = log.get("requestMessages")
    for message in list_of(dict_of(messages).get("messages") if type(messages) is dict else messages):
        body = dict_of(message)
        role = _ROLES.get(body["role"], "user") if type(body.get("role")) is int else str(body.get("role") or "user")
        parts = [dict_of(part).get("text") for part in list_of(body.get("content"))]
        text = "\n".join(part for part in parts if type(part) is str) if parts else string_of(body.get("content"))
        if role == "tool":
            talk.result(text, _bare_id(body.get("toolCallId")))
            continue
        talk.say(role, text or None)
        for call in list_of(body.get("toolCalls")):
            function = dict_of(dict_of(call).get("function"))
            talk.call(str(function.get("name") or ""), function.get("arguments"), _bare_id(dict_of(call).get("id")))
    response = log.get("response")
    answer = dict_of(response).get("message") if type(response) is dict else response
    text = "".join(part for part in answer if type(part) is str) if type(answer) is list else string_of(answer)
    if text:
        talk.say("assistant", text)


def _bare_id(value: Any) -> str | None:
    """A call's id without the `__vscode-…` that only one side has."""
    text = id_text(value)
    return None if text is None else text.split("__vscode-", 1)[0]
