"""Containers of OpenAI Agents SDK state (`agents_sdk`) and of Responses items and event streams (`responses_items`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import normalise_message, normalise_messages
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.dialects.openai_responses import matches as is_item
from pipelines.formats.model_io import add_input, add_output, finish_of
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, list_of, string_of
from schemas.reject import RejectReason

DELTA = "stream_event_repeated_by_response"
_CLOSING = ("response.completed", "response.failed", "response.incomplete")


class AgentsSdk(Container):
    """Saved run states of the OpenAI Agents SDK."""

    name = "agents_sdk"
    order = 260

    def detect(self, value: Any) -> str | None:
        """`generated_items` beside `model_responses` or `current_agent`, in snake or camel case."""
        if type(value) is not dict:
            return None
        if ("generated_items" in value or "generatedItems" in value) and (
            "original_input" in value or "originalInput" in value
        ):
            return "`generated_items` and `original_input`, as in run states of the Agents SDK"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a state."""
        result = Normalised()
        for record in records:
            value = record.value
            if self.detect(value) is None:
                detail = unknown_detail(value) if type(value) is dict else "the record is no state"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
                continue
            talk = Conversation()
            add_input(_get(value, "original_input", "originalInput"), talk)
            items = list_of(_get(value, "session_items", "sessionItems")) or list_of(
                _get(value, "generated_items", "generatedItems")
            )
            for item in items:
                raw = _get(dict_of(item), "raw_item", "rawItem")
                if type(raw) is dict and is_item(raw):
                    normalise_message(raw, talk)
            facts = Facts(id=id_text(_get(value, "conversation_id", "conversationId")))
            trace = dict_of(value.get("trace"))
            facts.group_id = id_text(_get(trace, "group_id", "groupId")) or facts.id
            if facts.id is None:
                facts.id = id_text(_get(trace, "id", "trace_id"))
            context = dict_of(value.get("context"))
            responses = list_of(_get(value, "model_responses", "modelResponses"))
            facts.usage = usage_of(context.get("usage"))
            if not facts.usage.input_tokens and responses:
                facts.usage = total_usage(usage_of(dict_of(response).get("usage")) for response in responses)
            facts.agent = string_of(dict_of(_get(value, "current_agent", "currentAgent")).get("name"))
            facts.metadata = metadata_of({"schema_version": value.get("$schemaVersion")}, nested=None)
            result.trajectories.append(trajectory(record, self.name, talk, facts))
            result.records_used += 1
        return result


class ResponsesItems(Container):
    """Responses API items: lists of them (`items`, `data`), one a line, or a stream's events; a file of lines is one conversation."""

    name = "responses_items"
    grouping = "file"
    order = 290

    def detect(self, value: Any) -> str | None:
        """A list of items under `items` or `data`, an item, or a `response.…` event."""
        if type(value) is not dict:
            return None
        for key in ("items", "data"):
            items = list_of(value.get(key))
            if items and type(items[0]) is dict and is_item(items[0]):
                return f"`{key}` is a list of Responses items"
        kind = value.get("type")
        if type(kind) is str and kind.startswith("response.") and ("sequence_number" in value or "response" in value):
            return f"`type` {kind}, an event of a Responses stream"
        return f"`type` {kind}, a Responses item" if is_item(value) and kind != "message" else None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a list, one a streamed response, one for all lines that are items."""
        result = Normalised()
        loose: list[SourceRecord] = []
        events: list[SourceRecord] = []
        for record in records:
            value = record.value
            items = (
                next((list_of(value.get(key)) for key in ("items", "data") if list_of(value.get(key))), [])
                if type(value) is dict
                else []
            )
            if items and is_item(dict_of(items[0])):
                talk = Conversation()
                normalise_messages(_in_time(value, items), talk)
                result.trajectories.append(trajectory(record, self.name, talk, Facts()))
                result.records_used += 1
            elif type(value) is dict and str(value.get("type", "")).startswith("response."):
                events.append(record)
            elif type(value) is dict and is_item(value):
                loose.append(record)
            else:
                detail = unknown_detail(value) if type(value) is dict else "the record is no item"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
        if loose:
            talk = Conversation()
            normalise_messages([record.value for record in loose], talk)
            facts = Facts(size=sum(record.size for record in loose))
            result.trajectories.append(trajectory(loose[0], self.name, talk, facts))
            result.records_used += len(loose)
        _add_streams(events, result, self.name)
        return result


def _in_time(value: dict[str, Any], items: list[Any]) -> list[Any]:
    """The API lists newest first, unless it was asked otherwise; a list that ends with the user's words is turned round."""
    roles = [dict_of(item).get("role") for item in items]
    newest_first = value.get("object") == "list" and roles[0] == "assistant" and roles[-1] == "user"
    return list(reversed(items)) if newest_first else items


def _add_streams(events: list[SourceRecord], result: Normalised, source_format: str) -> None:
    closing = [record for record in events if record.value.get("type") in _CLOSING]
    if events and not closing:
        done = [record for record in events if record.value.get("type") == "response.output_item.done"]
        if done:
            talk = Conversation()
            normalise_messages([record.value.get("item") for record in done], talk)
            facts = Facts(outcome="incomplete", size=sum(record.size for record in events))
            result.trajectories.append(trajectory(done[0], source_format, talk, facts))
            result.records_used += len(done)
            result.skip(DELTA, len(events) - len(done))
        else:
            detail = "a stream of response events without a finished item"
            result.rejects += [reject(record, RejectReason.NO_MESSAGES, detail, source_format) for record in events]
        return
    seen: set[str | None] = set()
    for record in closing:
        response = dict_of(record.value.get("response"))
        response_id = id_text(response.get("id"))
        if response_id is not None and response_id in seen:
            result.skip(DELTA)
            continue
        seen.add(response_id)
        talk = Conversation()
        if type(response.get("instructions")) is str:
            talk.say("system", response["instructions"])
        add_output(response, talk)
        talk.issue("prompt_missing")
        facts = Facts(id=response_id, time=response.get("created_at"), model=string_of(response.get("model")))
        facts.usage = usage_of(response.get("usage"))
        facts.outcome = finish_of(response) or ("ok" if response.get("status") == "completed" else None)
        result.trajectories.append(trajectory(record, source_format, talk, facts))
        result.records_used += 1
    if closing:
        result.skip(DELTA, len(events) - len(closing))


def _get(value: dict[str, Any], *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)
