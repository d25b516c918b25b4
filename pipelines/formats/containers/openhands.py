"""Containers of OpenHands: V0 event lists (`openhands`, a file or a record with `history`) and V1 SDK events (`openhands_sdk`).

V0 copies the model's response onto every action and observation of it: its usage is counted once by the response's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import cost, dict_of, id_text, list_of, scalar_text, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

SILENT_EVENT = "event_without_message"
FINISH = "finish_action"
_SILENT = frozenset(
    {"recall", "null", "change_agent_state", "agent_state_changed", "pause", "resume", "condensation_request"}
)


class OpenHands(Container):
    """OpenHands V0: a list of actions and observations."""

    name = "openhands"
    grouping = "file"
    order = 120

    def detect(self, value: Any) -> str | None:
        """An event with `source` and `action` or `observation`, or `history` of such events."""
        if type(value) is not dict:
            return None
        if _is_event(value):
            return "`source` beside `action` or `observation`, as in OpenHands events"
        for key in ("history", "trajectory"):
            items = list_of(value.get(key))
            if items and _is_event(items[0]):
                return f"`{key}` is a list of OpenHands events"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory for all events of a file, and one a record that holds a history."""
        result = Normalised()
        events: list[SourceRecord] = []
        for record in records:
            value = record.value
            if self.detect(value) is None:
                detail = unknown_detail(value) if type(value) is dict else "the record is no event"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif _is_event(value):
                events.append(record)
            else:
                key = "history" if list_of(value.get("history")) else "trajectory"
                run = _Run()
                for event in list_of(value[key]):
                    run.take(dict_of(event))
                result.trajectories.append(run.trajectory(record, self.name, value, record.size))
                result.records_used += 1
        if events:
            run = _Run()
            used = sum(run.take(record.value) for record in events)
            result.records_used += used
            if used < len(events):
                result.skip(SILENT_EVENT, len(events) - used)
            result.trajectories.append(run.trajectory(events[0], self.name, {}, sum(record.size for record in events)))
        return result


def _is_event(value: Any) -> bool:
    return (
        type(value) is dict
        and "source" in value
        and ("action" in value or "observation" in value)
        and "kind" not in value
    )


class _Run:
    def __init__(self) -> None:
        self.talk = Conversation()
        self.facts = Facts(agent="openhands")
        self.usage: dict[str, Usage] = {}
        self.by_event: dict[str, str] = {}
        self.turns: dict[str, int] = {}

    def take(self, event: dict[str, Any]) -> bool:
        """Take in one event; False for events without words or calls."""
        self.facts.time = self.facts.time or event.get("timestamp")
        meta = dict_of(event.get("tool_call_metadata"))
        response = dict_of(meta.get("model_response"))
        response_id = id_text(response.get("id"))
        if response_id is not None:
            self.usage[response_id] = usage_of(response.get("usage"))
            self.facts.model = self.facts.model or string_of(response.get("model"))
        action, args = string_of(event.get("action")), dict_of(event.get("args"))
        if event.get("observation") is not None and action is None:
            return self._take_observation(event, meta)
        if action in _SILENT or action is None:
            return False
        if action == "message" or action == "system":
            role = "system" if action == "system" else "user" if event.get("source") == "user" else "assistant"
            self.talk.say(role, string_of(args.get("content")) or string_of(event.get("message")))
            return True
        if action == "condensation":
            self.talk.events.append(Event("system", "compaction"))
            return True
        self._take_action(event, str(action), args, meta, response, response_id)
        return True

    def _take_action(
        self, event: dict[str, Any], action: str, args: dict[str, Any], meta: dict[str, Any], response: dict[str, Any],
        response_id: str | None,
    ) -> None:  # fmt: skip
        if action == "finish":
            final = args.get("final_thought") or args.get("thought") or dict_of(args.get("outputs")).get("content")
            text = string_of(final) or string_of(event.get("message"))
            self.talk.say("assistant", text)
            if text is not None:
                self.facts.output, self.facts.output_rule = text, FINISH
            self.facts.outcome = "ok"
            return
        call_id = id_text(meta.get("tool_call_id"))
        turn = self.turns.get(response_id) if response_id is not None else None
        if turn is None:
            self.talk.say("assistant", string_of(args.get("thought")) or _response_text(response))
            turn = len(self.talk.messages) - 1
            if response_id is not None:
                self.turns[response_id] = turn
        name, arguments = _call_of(response, call_id)
        if name is None:
            name = string_of(meta.get("function_name")) or action
            arguments = {
                key: item for key, item in args.items() if key not in ("thought", "hidden", "confirmation_state")
            }
        own_id = self.talk.call(name, arguments, call_id or f"event_{event.get('id')}", turn)
        event_id = id_text(event.get("id"))
        if event_id is not None:
            self.by_event[event_id] = own_id

    def _take_observation(self, event: dict[str, Any], meta: dict[str, Any]) -> bool:
        kind = string_of(event.get("observation"))
        if kind in _SILENT:
            return False
        extras = dict_of(event.get("extras"))
        code = extras.get("exit_code", dict_of(extras.get("metadata")).get("exit_code"))
        failed = None
        if kind == "error" or event.get("success") is False:
            failed = True
        elif type(code) is int:
            failed = code != 0
        elif event.get("success") is True:
            failed = False
        text = text_of(event.get("content"), self.talk)
        call_id = id_text(meta.get("tool_call_id")) or self.by_event.get(id_text(event.get("cause")) or "")
        if call_id is None:
            if kind == "error":
                self.talk.events.append(Event("error", string_of(extras.get("error_id")), text))
                return True
            self.talk.say("user", text, "environment", ("injected",))
            return True
        self.talk.result(text, call_id, string_of(meta.get("function_name")), failed)
        return True

    def trajectory(self, record: SourceRecord, source_format: str, value: dict[str, Any], size: int) -> Trajectory:
        facts = self.facts
        facts.id = id_text(value.get("instance_id")) or id_text(value.get("id"))
        facts.usage = total_usage(self.usage.values())
        metrics = dict_of(value.get("metrics"))
        money = cost(metrics.get("accumulated_cost"))
        if money is not None:
            usage = facts.usage
            facts.usage = Usage(
                usage.input_tokens,
                usage.output_tokens,
                usage.cached_input_tokens,
                usage.reasoning_tokens,
                money,
                usage.latency_ms,
            )
        patch = string_of(value.get("git_patch")) or string_of(dict_of(value.get("test_result")).get("git_patch"))
        if patch is not None:
            facts.extra = {"diff": patch}
        if value.get("error"):
            facts.outcome = "error"
            self.talk.events.append(Event("error", None, scalar_text(value["error"])))
        left_out = {
            "history",
            "trajectory",
            "instance_id",
            "id",
            "git_patch",
            "test_result",
            "error",
            "instruction",
            "metrics",
        }
        facts.metadata = metadata_of(value, left_out)
        facts.size = size
        return trajectory(record, source_format, self.talk, facts)


def _response_text(response: dict[str, Any]) -> str | None:
    choice = dict_of(next(iter(list_of(response.get("choices"))), None))
    return string_of(dict_of(choice.get("message")).get("content"))


def _call_of(response: dict[str, Any], call_id: str | None) -> tuple[str | None, Any]:
    choice = dict_of(next(iter(list_of(response.get("choices"))), None))
    for call in list_of(dict_of(choice.get("message")).get("tool_calls")):
        if id_text(dict_of(call).get("id")) == call_id:
            function = dict_of(dict_of(call).get("function"))
            return string_of(function.get("name")), function.get("arguments")
    return None, None


class OpenHandsSdk(Container):
    """OpenHands V1: SDK events, one a line or file."""

    name = "openhands_sdk"
    grouping = "file"
    order = 110

    def detect(self, value: Any) -> str | None:
        """`kind` that ends with `Event` beside `source`."""
        if type(value) is not dict or type(value.get("kind")) is not str or "source" not in value:
            return None
        if not value["kind"].endswith(("Event", "Observation", "Action", "Condensation")):
            return None
        return f"`kind` {value['kind']} beside `source`, as in OpenHands events"

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of one file's events; parallel actions of one response are one message."""
        result = Normalised()
        talk = Conversation()
        facts = Facts(agent="openhands")
        turns: dict[str, int] = {}
        used: list[SourceRecord] = []
        for record in records:
            if self.detect(record.value) is None:
                detail = unknown_detail(record.value) if type(record.value) is dict else "the record is no event"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif _take_sdk_event(record.value, talk, facts, turns):
                used.append(record)
            else:
                result.skip(SILENT_EVENT)
        if used:
            facts.size = sum(record.size for record in used)
            result.trajectories.append(trajectory(used[0], self.name, talk, facts))
            result.records_used += len(used)
        return result


def _take_sdk_event(value: dict[str, Any], talk: Conversation, facts: Facts, turns: dict[str, int]) -> bool:
    kind = value["kind"]
    facts.time = facts.time or value.get("timestamp")
    if kind == "SystemPromptEvent":
        talk.say("system", text_of(value.get("system_prompt"), talk))
    elif kind == "MessageEvent":
        message = dict_of(value.get("llm_message"))
        role = "assistant" if message.get("role") == "assistant" else "user"
        talk.say(role, text_of(message.get("content"), talk))
    elif kind == "ActionEvent":
        _take_sdk_action(value, talk, facts, turns)
    elif kind == "ObservationEvent":
        observation = dict_of(value.get("observation"))
        code = observation.get("exit_code")
        failed = observation.get("is_error") if type(observation.get("is_error")) is bool else None
        if failed is None and type(code) is int:
            failed = code != 0
        content = observation.get("content", observation.get("output"))
        talk.result(text_of(content, talk), value.get("tool_call_id"), string_of(value.get("tool_name")), failed)
    elif kind == "AgentErrorEvent":
        talk.result(string_of(value.get("error")), value.get("tool_call_id"), string_of(value.get("tool_name")), True)
        talk.events.append(Event("error", "agent_error", string_of(value.get("error"))))
    elif kind == "UserRejectObservation":
        talk.result(
            string_of(value.get("rejection_reason")), value.get("tool_call_id"), string_of(value.get("tool_name")), True
        )
    elif kind == "Condensation":
        talk.events.append(Event("system", "compaction"))
    else:
        return False
    return True


def _take_sdk_action(value: dict[str, Any], talk: Conversation, facts: Facts, turns: dict[str, int]) -> None:
    action = dict_of(value.get("action"))
    response_id = id_text(value.get("llm_response_id"))
    turn = turns.get(response_id) if response_id is not None else None
    if turn is None:
        talk.say("assistant", text_of(value.get("thought") or None, talk) or None)
        turn = len(talk.messages) - 1
        if response_id is not None:
            turns[response_id] = turn
    call = dict_of(value.get("tool_call"))
    function = dict_of(call.get("function")) or call
    arguments = function.get("arguments") if function.get("arguments") is not None else action
    name = string_of(value.get("tool_name")) or string_of(function.get("name")) or ""
    talk.call(name, arguments, value.get("tool_call_id") or call.get("id"), turn)
    if str(action.get("kind")) == "FinishAction" or name == "finish":
        text = string_of(action.get("message"))
        if text is not None:
            facts.output, facts.output_rule, facts.outcome = text, FINISH, "ok"
