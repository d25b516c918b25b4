"""Dialect 8: ShareGPT `{from, value}`; also AgentInstruct and tool-calling variants whose calls are JSON inside `value`."""

from __future__ import annotations

import re
from typing import Any

from pipelines.formats.dialects.conversation import Conversation, role_of
from pipelines.formats.json_values import decode_text
from pipelines.formats.values import scalar_text

_TAGGED_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


def matches(item: dict[str, Any]) -> bool:
    """Whether an object is a ShareGPT message."""
    return "from" in item and "value" in item


def add_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> None:
    """Append one message."""
    speaker = item["from"] if isinstance(item["from"], str) else ""
    role = role_of(item["from"], conversation)
    text = scalar_text(item["value"])
    if role == "tool":
        conversation.result(text, item.get("tool_call_id"), None, None, flags)
    elif speaker.lower() == "function_call":
        conversation.say("assistant", None, None, flags)
        _add_calls([text or ""], conversation)
    elif role == "assistant" and text and "<tool_call>" in text:
        tagged = _TAGGED_CALL.findall(text)
        conversation.say(role, _TAGGED_CALL.sub("", text).strip() or None, None, flags)
        _add_calls(tagged, conversation)
    else:
        conversation.say(role, text, None, flags)


def _add_calls(texts: list[str], conversation: Conversation) -> None:
    for text in texts:
        value = decode_text(text)
        for call in value if isinstance(value, list) else [value]:
            if isinstance(call, dict) and isinstance(call.get("name"), str):
                arguments = call.get("arguments") if "arguments" in call else call.get("parameters")
                conversation.call(call["name"], arguments, call.get("id"))
            else:
                conversation.call("", text, None)
                conversation.issue("tool_call_without_name")
