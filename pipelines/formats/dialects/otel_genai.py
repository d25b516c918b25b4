"""Dialect 5: messages of the OpenTelemetry GenAI conventions: `{role, parts: [{type, content…}]}`."""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects.content import Block, ContentReader, block_type, text_of
from pipelines.formats.dialects.conversation import ROLES, Conversation, role_of
from pipelines.formats.dialects.openai_chat import error_sign

PART_TYPES = frozenset(
    {"text", "tool_call", "tool_call_response", "reasoning", "blob", "file", "uri", "server_tool_call", "thinking"}
)

_TEXT_PART = frozenset({"type", "content"})


def add_text_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> bool:
    """Append a message that is nothing but one part of text, as most are; False for any other."""
    parts = item.get("parts")
    if type(parts) is not list or len(parts) != 1 or "content" in item:
        return False
    part = parts[0]
    if type(part) is not dict or part.get("type") != "text" or not _TEXT_PART.issuperset(part):
        return False
    text, role = part.get("content"), item.get("role")
    own = ROLES.get(role) if type(role) is str else None
    if type(text) is not str or own is None or own == "tool":
        return False
    conversation.say(own, text, None, flags)
    return True


def add_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> None:
    """Append one message; the parts of a tool's message are its results."""
    role = role_of(item.get("role"), conversation)
    reader = ContentReader(conversation, "user" if role == "tool" else role, item, None, flags)
    parts = item.get("parts")
    if role == "tool" and not any(
        isinstance(part, dict) and "response" in str(part.get("type")) for part in parts or ()
    ):
        conversation.result(text_of(parts, conversation), item.get("id"), None, None, flags)
        return
    reader.read(parts)
    reader.finish([])


@block_type("tool_call_response", "server_tool_call_response")
def _response(block: Block, reader: ContentReader) -> None:
    value = next(
        (block[key] for key in ("response", "result", "content", "output") if block.get(key) is not None), None
    )
    reader.add_result(text_of(value, reader.conversation), block.get("id"), block.get("name"), error_sign(block))


@block_type("server_tool_call")
def _server_call(block: Block, reader: ContentReader) -> None:
    arguments = block.get("arguments") if block.get("arguments") is not None else block.get("server_tool_call")
    reader.add_call(block.get("name"), arguments, block.get("id"))
