"""The nine message dialects. Which one a message speaks is told from the message, not from its file: logs mix them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipelines.formats.dialects import (
    anthropic,
    bedrock,
    gemini,
    langchain,
    openai_chat,
    openai_responses,
    otel_genai,
    sharegpt,
    vercel_ai,
)
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.values import unwrapped

__all__ = ["dialect_of", "is_message", "normalise_message", "normalise_messages"]

_PLAIN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "function_call"})
NOT_A_MESSAGE = "not_a_message"
_GEMINI_KEYS = frozenset(
    {"text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData", "inline_data",
     "fileData", "file_data", "executableCode", "executable_code", "codeExecutionResult", "code_execution_result"}
)  # fmt: skip
_VERCEL_BLOCKS = frozenset({"tool-call", "tool-result", "tool-error"})
_BEDROCK_KEYS = frozenset({"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"})


def dialect_of(item: Any) -> str | None:
    """The name of the dialect that one message speaks, or None for what is no message."""
    if type(item) is not dict:
        return None
    content = item.get("content")
    if type(content) is str and "role" in item and "type" not in item and "parts" not in item:
        return "openai_chat"
    if "parts" in item and type(item["parts"]) in (list, dict):
        return _dialect_of_parts(item["parts"])
    if openai_responses.matches(item):
        return "openai_responses"
    if langchain.matches(item):
        return "langchain"
    if sharegpt.matches(item):
        return "sharegpt"
    if "role" not in item:
        return None
    if type(content) is list:
        return _dialect_of_content(content)
    return "openai_chat"


def is_message(item: Any) -> bool:
    """Whether an object is a message of some dialect."""
    return dialect_of(item) is not None


def normalise_message(item: Any, conversation: Conversation, flags: tuple[str, ...] = ()) -> bool:
    """Append one message of any dialect; False, with an issue, for what is no message."""
    item = unwrapped(item)
    if type(item) is dict and type(item.get("message")) is dict and "role" not in item and "parts" not in item:
        item = item["message"]
    dialect = dialect_of(item)
    if dialect is None:
        if type(item) is list and item and all(is_message(part) for part in item):
            return normalise_messages(item, conversation, flags) > 0
        conversation.issue(NOT_A_MESSAGE)
        return False
    if dialect == "openai_responses":
        openai_responses.add_item(item, conversation, flags)
    elif dialect == "langchain":
        langchain.add_message(item, conversation, flags)
    elif dialect == "sharegpt":
        sharegpt.add_message(item, conversation, flags)
    elif dialect == "gemini":
        gemini.add_message(item, conversation, flags)
    elif dialect == "otel_genai":
        otel_genai.add_message(item, conversation, flags)
    elif dialect == "vercel_ui":
        vercel_ai.add_ui_message(item, conversation, flags)
    else:
        openai_chat.add_message(item, conversation, flags)
    return True


def normalise_messages(items: Iterable[Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> int:
    """Append messages of any dialects; how many there were."""
    count = 0
    for item in items:
        if type(item) is dict and "role" in item and type(item.get("content")) is str and _PLAIN.issuperset(item):
            openai_chat.add_message(item, conversation, flags)
            count += 1
        elif type(item) is dict and otel_genai.add_text_message(item, conversation, flags):
            count += 1
        else:
            count += normalise_message(item, conversation, flags)
    return count


def _dialect_of_parts(parts: Any) -> str:
    for part in parts if type(parts) is list else [parts]:
        if type(part) is not dict:
            continue
        kind = part.get("type")
        if vercel_ai.is_ui_part(part):
            return "vercel_ui"
        if type(kind) is str and kind in otel_genai.PART_TYPES and ("text" not in part or kind != "text"):
            return "otel_genai"
        if type(kind) is str and kind == "text":
            continue
        if kind is None and not _GEMINI_KEYS.isdisjoint(part):
            return "gemini"
    if any(type(part) is dict and part.get("type") == "text" for part in (parts if type(parts) is list else [parts])):
        return "vercel_ui" if type(parts) is list else "otel_genai"
    return "gemini"


def _dialect_of_content(content: list[Any]) -> str:
    for block in content:
        if type(block) is not dict:
            continue
        kind = block.get("type")
        if type(kind) is str:
            if kind in anthropic.BLOCKS:
                return "anthropic"
            if kind in _VERCEL_BLOCKS:
                return "vercel_ai"
        elif not _BEDROCK_KEYS.isdisjoint(block):
            return "bedrock"
    return "openai_chat"


#: The dialects' modules that only bring block types.
BLOCK_MODULES = (anthropic, bedrock)
