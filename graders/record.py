"""A plain mapping as a trajectory, for `evaluate` and tests: no log format is sniffed here.

Read are `messages`, `output`, `reference`, `input`, `events`, `metrics`, `metadata`, `id`, `model`, `agent`, `outcome`;
every other key is kept for graders that ask for it (`context`, reference tool calls…).

- `messages`: `{role, content}` as in OpenAI's or Anthropic's APIs: content as text, null, or a list of parts (`text`,
  `tool_use`, `tool_result`); `tool_calls`, `tool_call_id` and `name` beside it.
- `events`: `{type, data}` as vally writes them. `assistant_message` and `user_message` become messages where the record
  has no `messages`.
- `output`: where the key is absent, the text of the last assistant message, if that has any.
- `metrics`: numbers such as `totalTokens`, `toolCallCount`, `errorCount`, `wallTimeMs`, `turnCount`, for the graders of
  budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from schemas.text import storable
from schemas.trajectory import Event, Message, ToolCall, ToolResult, Trajectory, Usage

_READ = frozenset({"messages", "output", "reference", "input", "events", "metadata", "id", "model", "agent", "outcome"})
_ROLES = {"developer": "system", "function": "tool", "model": "assistant", "human": "user", "ai": "assistant"}


def to_trajectory(record: Mapping[str, Any]) -> Trajectory:
    """A record as a trajectory. Numbers that it does not carry stay unknown.

    Raises:
        TypeError: the record, its messages or its events have a shape that is not described above.
    """
    if not isinstance(record, Mapping):
        raise TypeError(f"a record is a mapping, not {type(record).__name__}")
    read = _Reading()
    for number, message in enumerate(_objects(record, "messages")):
        read.message(message, number)
    for event in _objects(record, "events"):
        read.event(event, messages_too=record.get("messages") is None)
    output, rule = _output(record, read.messages)
    metrics = record.get("metrics")
    extra = {key: value for key, value in record.items() if key not in _READ}
    return Trajectory(
        trajectory_uid=_text(record.get("id")) or "",
        trajectory_id=_text(record.get("id")) or "",
        source_format="record",
        input=_text(record.get("input")),
        output=output,
        output_rule=rule,
        reference=_text(record.get("reference")),
        messages=tuple(read.messages),
        tool_calls=tuple(read.tool_calls),
        tool_results=tuple(read.tool_results),
        events=tuple(read.events),
        usage=_usage(metrics if isinstance(metrics, Mapping) else {}, read),
        model=_text(record.get("model")),
        agent=_text(record.get("agent")),
        outcome=_text(record.get("outcome")),
        extra_json=_json(extra) if extra else None,
        metadata=_metadata(record.get("metadata")),
    )


@dataclass(slots=True)
class _Reading:
    """What has been read of a record so far."""

    messages: list[Message] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_results: list[ToolResult] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    input_tokens: int | None = None
    output_tokens: int | None = None

    def message(self, message: Mapping[str, Any], number: int) -> None:
        role = message.get("role")
        if not isinstance(role, str):
            raise TypeError(f"messages[{number}] needs a role")
        role = _ROLES.get(role, role)
        texts: list[str] = []
        content = message.get("content")
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, Sequence):
            for part in content:
                self._part(part, texts)
        elif content is not None:
            texts.append(_json(content))
        text = storable("".join(texts)) if texts else None
        call_id, name, is_error = message.get("tool_call_id"), message.get("name"), message.get("is_error")
        if role == "tool":
            self.tool_results.append(
                ToolResult(text, _text(call_id), _text(name), _truth(is_error), len(self.messages))
            )
        for call in message.get("tool_calls") or ():
            function = call.get("function", call)
            self._call(function.get("name"), function.get("arguments"), call.get("id"))
        self.messages.append(Message(role, text, _text(name), _text(call_id), _truth(is_error)))

    def _part(self, part: Any, texts: list[str]) -> None:
        if isinstance(part, str):
            texts.append(part)
            return
        if not isinstance(part, Mapping):
            raise TypeError(f"a part of a message is a text or an object, not {type(part).__name__}")
        if part.get("type") == "tool_use":
            self._call(part.get("name"), part.get("input"), part.get("id"))
        elif part.get("type") == "tool_result":
            text = _content_text(part.get("content"))
            is_error = _truth(part.get("is_error"))
            self.tool_results.append(
                ToolResult(text, _text(part.get("tool_use_id")), None, is_error, len(self.messages))
            )
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])

    def _call(self, name: Any, arguments: Any, call_id: Any, *, in_message: bool = True) -> None:
        raw = arguments if isinstance(arguments, str) else "" if arguments is None else _json(arguments)
        place = len(self.messages) if in_message else None
        self.tool_calls.append(ToolCall(_text(name) or "", storable(raw), _text(call_id), place))

    def event(self, event: Mapping[str, Any], *, messages_too: bool) -> None:
        kind = event.get("type")
        if not isinstance(kind, str):
            raise TypeError("an event needs a type")
        data = event.get("data")
        data = data if isinstance(data, Mapping) else {}
        text = next((_text(data[key]) for key in ("content", "text", "message") if data.get(key) is not None), None)
        if kind == "tool_call":
            self._call(data.get("toolName"), data.get("arguments"), data.get("toolCallId"), in_message=False)
        elif kind == "tool_result":
            success = _truth(data.get("success"))
            result = ToolResult(
                _text(data.get("result")),
                _text(data.get("toolCallId")),
                _text(data.get("toolName")),
                None if success is None else not success,
            )
            self.tool_results.append(result)
        elif kind in ("assistant_message", "user_message") and messages_too and text is not None:
            self.messages.append(Message(kind.removesuffix("_message"), text))
        elif kind == "token_usage":
            self.input_tokens = _sum(self.input_tokens, data.get("inputTokens"))
            self.output_tokens = _sum(self.output_tokens, data.get("outputTokens"))
        elif kind not in ("assistant_message", "user_message"):
            self.events.append(Event(kind, _text(data.get("name")), text, _json(dict(data)) if data else None))


def _output(record: Mapping[str, Any], messages: Iterable[Message]) -> tuple[str | None, str | None]:
    if "output" in record:
        output = _text(record["output"])
        return output, None if output is None else "field"
    last = next((message for message in reversed(list(messages)) if message.role == "assistant"), None)
    return (None, None) if last is None or last.text is None else (last.text, "last_assistant_message")


def _metadata(metadata: Any) -> dict[str, str]:
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError("metadata is an object")
    return {storable(str(key)): _text(value) or "" for key, value in metadata.items()}


def _usage(metrics: Mapping[str, Any], read: _Reading) -> Usage:
    tokens = metrics.get("tokenUsage")
    tokens = tokens if isinstance(tokens, Mapping) else metrics
    return Usage(
        input_tokens=_sum(None, tokens.get("inputTokens")) if read.input_tokens is None else read.input_tokens,
        output_tokens=_sum(None, tokens.get("outputTokens")) if read.output_tokens is None else read.output_tokens,
        latency_ms=_sum(None, metrics.get("wallTimeMs")),
    )


def _objects(record: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = record.get(name)
    if found is None:
        return ()
    if (
        not isinstance(found, Sequence)
        or isinstance(found, str)
        or not all(isinstance(item, Mapping) for item in found)
    ):
        raise TypeError(f"{name} is a list of objects")
    return found


def _content_text(content: Any) -> str | None:
    if isinstance(content, Sequence) and not isinstance(content, str):
        texts = [part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
        return storable("".join(texts)) if texts else None
    return _text(content)


def _text(value: Any) -> str | None:
    """A text as it is; any other value as JSON, as a log would have it."""
    return None if value is None else storable(value) if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return storable(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode())


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _sum(total: int | None, more: Any) -> int | None:
    if isinstance(more, bool) or not isinstance(more, (int, float)):
        return total
    return (total or 0) + int(more)
