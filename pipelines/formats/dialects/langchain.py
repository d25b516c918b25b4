"""Dialect 6: LangChain messages: serialised (`lc`, `kwargs`), `{type: human|ai|tool…}`, or `{type, data}`."""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects import openai_chat
from pipelines.formats.dialects.content import Block, ContentReader, block_type
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.values import dict_of, list_of

_ROLE_OF_TYPE = {
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "system": "system",
    "systemmessage": "system",
    "tool": "tool",
    "toolmessage": "tool",
    "function": "tool",
    "functionmessage": "tool",
}


def matches(item: dict[str, Any]) -> bool:
    """Whether an object is a LangChain message."""
    kwargs = item.get("kwargs")
    if type(kwargs) is dict and "content" in kwargs and "role" not in item:
        return True
    kind = item.get("type")
    return (
        type(kind) is str
        and kind.lower() in _ROLE_OF_TYPE
        and "role" not in item
        and ("content" in item or type(item.get("data")) is dict)
    )


def add_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> None:
    """Append one message; calls that stand in `tool_calls` and in the content are one call."""
    kind = item.get("type")
    body = item
    if type(item.get("kwargs")) is dict:
        body = item["kwargs"]
        path = list_of(item.get("id"))
        kind = body.get("type") or (path[-1] if path else None)
    elif type(item.get("data")) is dict:
        body = item["data"]
    role = _ROLE_OF_TYPE.get(str(kind).lower(), "system")
    message = {**body, "role": role}
    if not message.get("tool_calls"):
        extra = dict_of(body.get("additional_kwargs"))
        message["tool_calls"] = extra.get("tool_calls")
        message["function_call"] = extra.get("function_call")
    if message.get("status") == "success" and not message.get("tool_call_id"):
        message.pop("status")
    openai_chat.add_message(message, conversation, flags)
    for call in list_of(body.get("invalid_tool_calls")):
        if isinstance(call, dict):
            conversation.call(str(call.get("name") or ""), call.get("args"), call.get("id"))


@block_type("non_standard", "non_standard_content", "guard_content")
def _other(_block: Block, reader: ContentReader) -> None:
    reader.pass_over()
