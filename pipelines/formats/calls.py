"""One model call of a log: its request and its response, whoever wrote them down."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pipelines.formats.container import SourceRecord
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.model_io import add_input, add_output, finish_of
from pipelines.formats.streams import events_of, merged
from pipelines.formats.usage import usage_of
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, milliseconds, string_of, unwrapped
from schemas.trajectory import Usage

_CONVERSATION_IDS = ("conversation_id", "session_id", "sessionId", "thread_id", "litellm_session_id", "conversationId")
_TIMES = ("timestamp", "created", "created_at", "createdAt", "time", "start_time", "startTime", "ts")
_REQUEST_KEYS = frozenset({"messages", "input", "contents", "prompt", "instructions", "system"})


@dataclass(slots=True)
class Call:
    """What is known of one call; `request` or `response` may be missing."""

    record: SourceRecord
    request: dict[str, Any] | None = None
    response: dict[str, Any] | None = None
    error: Any = None
    """What stands in the response's place where the call failed."""
    id: str | None = None
    conversation_id: str | None = None
    time: Any = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    outcome: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    custom_id: str | None = None

    @property
    def previous_id(self) -> str | None:
        """The response that this one continues (Responses API)."""
        return id_text(dict_of(self.response).get("previous_response_id")) or id_text(
            dict_of(self.request).get("previous_response_id")
        )

    def given(self) -> Conversation:
        """What the model was given."""
        talk = Conversation()
        if self.request is not None:
            add_input(self.request, talk)
        elif self.response is not None and type(self.response.get("instructions")) is str:
            talk.say("system", self.response["instructions"])
        return talk

    def answers(self) -> list[Conversation]:
        """What it answered: one conversation a choice."""
        if self.response is None:
            return []
        choices = list_of(self.response.get("choices")) or list_of(self.response.get("candidates"))
        key = "choices" if self.response.get("choices") else "candidates"
        bodies = [{**self.response, key: [choice]} for choice in choices] if len(choices) > 1 else [self.response]
        talks = []
        for body in bodies:
            talk = Conversation()
            add_output(body, talk)
            talks.append(talk)
        return talks


def read_call(record: SourceRecord) -> Call | None:
    """The call that a record holds, or None where it is no call."""
    value = record.value
    if type(value) is not dict:
        return None
    call = Call(record)
    if type(value.get("custom_id")) is str:
        _read_batch_line(call, value)
    elif "request" in value or "response" in value:
        _read_pair(call, value)
    elif is_response(value):
        call.response = value
    elif is_request(value):
        call.request = value
    elif "body" in value and ("status" in value or "url" in value or "headers" in value):
        _take_body(call, value["body"])
    if call.request is None and call.response is None and call.error is None:
        return None
    _read_facts(call, value)
    return call


def is_response(value: dict[str, Any]) -> bool:
    """Whether an object is a provider's response."""
    kind = value.get("object")
    if type(value.get("choices")) is list and (
        kind in ("chat.completion", "text_completion", None) or "model" in value
    ):
        return True
    if kind == "response" and type(value.get("output")) is list:
        return True
    if value.get("type") == "message" and value.get("role") == "assistant" and type(value.get("content")) is list:
        return "stop_reason" in value or "usage" in value
    return type(value.get("candidates")) is list


def is_request(value: dict[str, Any]) -> bool:
    """Whether an object is a request to a model, beyond plain `messages` records."""
    if type(value.get("contents")) is list:
        return True
    return type(value.get("input")) in (str, list) and "output" not in value and (
        ("model" in value and ("max_output_tokens" in value or "tools" in value or "conversation" in value
                              or "previous_response_id" in value or "stream" in value or "text" in value
                              or "reasoning" in value or "instructions" in value or len(value) <= 4))
        or "previous_response_id" in value
        or "conversation" in value
    )  # fmt: skip


def head_of(call: Call) -> str | None:
    """A digest of how the call's conversation begins: the same for all calls of one growing conversation."""
    request = dict_of(call.request)
    for key in ("messages", "contents", "input", "prompt"):
        items = unwrapped(request.get(key))
        if type(items) is list and items:
            first = next((item for item in items if dict_of(item).get("role") == "user"), items[0])
            body = dict_of(first)
            return _digest(compact_json(body.get("content", body.get("parts", first))))
        if type(items) is str and items:
            return _digest(items)
    return None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _read_batch_line(call: Call, value: dict[str, Any]) -> None:
    call.custom_id = value["custom_id"]
    result, response = dict_of(value.get("result")), dict_of(value.get("response"))
    if type(value.get("body")) is dict:
        call.request = value["body"]
    elif type(value.get("params")) is dict:
        call.request = value["params"]
    elif result:
        if type(result.get("message")) is dict:
            call.response = result["message"]
        else:
            call.error = result.get("error") or {
                "type": result.get("type"),
                "message": f"the request was {result.get('type')}",
            }
    else:
        _take_body(call, response.get("body"))
        code = response.get("status_code")
        if value.get("error") or (type(code) is int and code >= 400):
            body_error = dict_of(response.get("body")).get("error")
            call.error = value.get("error") or body_error or {"message": f"status {code}"}
            call.response = None


def _read_pair(call: Call, value: dict[str, Any]) -> None:
    request = unwrapped(value.get("request"))
    if type(request) is dict:
        inner = unwrapped(request.get("body") or request.get("json") or request.get("content"))
        call.request = inner if type(inner) is dict and _REQUEST_KEYS & set(inner) else request
        if not _REQUEST_KEYS & set(call.request):
            call.request = None
    elif _REQUEST_KEYS & set(value):
        kwargs = dict_of(value.get("kwargs"))
        call.request = {
            **kwargs,
            **{key: value[key] for key in (*_REQUEST_KEYS, "model", "tools") if value.get(key) is not None},
        }
    response = unwrapped(value.get("response"))
    if type(response) is dict and "body" in response:
        code = response.get("status_code", response.get("status"))
        _take_body(call, response["body"])
        if type(code) is int and code >= 400:
            call.error = dict_of(call.response).get("error") or {"message": f"status {code}"}
            call.response = None
    elif type(response) is str:
        _take_body(call, response)
        if call.response is None and response:
            call.response = {"output": response}
    else:
        _take_body(call, response)
    if value.get("error"):
        call.error = value["error"]


def _take_body(call: Call, body: Any) -> None:
    inner = unwrapped(body)
    events = events_of(inner)
    if events is not None and (type(inner) is str or not is_plain_answer(inner)):
        call.response = merged(events)
    elif type(inner) is dict:
        if set(inner) <= {"error", "type", "request_id"} and inner.get("error"):
            call.error = inner["error"]
        else:
            call.response = inner
    if call.response is not None and call.response.get("error") and not call.response.get("output"):
        call.error = call.response["error"]


def is_plain_answer(body: Any) -> bool:
    """Whether a list is an answer's content rather than a stream's events."""
    return (
        type(body) is list
        and bool(body)
        and dict_of(body[0]).get("type") in ("text", "tool_use", "message", "function_call")
    )


def _read_facts(call: Call, value: dict[str, Any]) -> None:
    request, response = dict_of(call.request), dict_of(call.response)
    call.id = id_text(response.get("id")) or id_text(response.get("responseId")) or id_text(value.get("id"))
    for source in (value, dict_of(value.get("metadata")), request, dict_of(request.get("metadata")), response):
        found = next((id_text(source[key]) for key in _CONVERSATION_IDS if key in source), None)
        conversation = source.get("conversation")
        if found is None and (source is request or source is response):
            found = id_text(conversation) or id_text(dict_of(conversation).get("id"))
        if found is not None:
            call.conversation_id = found
            break
    for source in (value, response):
        call.time = next((source[key] for key in _TIMES if source.get(key) is not None), None)
        if call.time is not None:
            break
    call.model = (
        string_of(response.get("model"))
        or string_of(response.get("modelVersion"))
        or string_of(request.get("model"))
        or string_of(value.get("model"))
    )
    counted = usage_of(
        response.get("usage") or response.get("usageMetadata") or response.get("usage_metadata") or value.get("usage")
    )
    money = counted.cost_usd if counted.cost_usd is not None else _money(value)
    latency = (
        integer(value.get("latency_ms")) or integer(value.get("duration_ms")) or milliseconds(value.get("latency_sec"))
    )
    call.usage = Usage(
        counted.input_tokens,
        counted.output_tokens,
        counted.cached_input_tokens,
        counted.reasoning_tokens,
        money,
        latency,
    )
    call.outcome = "error" if call.error else finish_of(response)
    call.metadata = {
        key: item
        for key, item in value.items()
        if type(item) in (str, int, float, bool) and key not in (*_CONVERSATION_IDS, *_TIMES, "id", "model", "object", "body")
        and value is not call.response and value is not call.request
    }  # fmt: skip
    for source in (value, response, request):
        if type(source.get("metadata")) is dict:
            call.metadata = {**source["metadata"], **call.metadata}


def _money(value: dict[str, Any]) -> Decimal | None:
    for key in ("cost", "response_cost", "cost_usd", "total_cost"):
        amount = cost(value.get(key))
        if amount is not None:
            return amount
    return None
