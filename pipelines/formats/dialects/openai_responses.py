"""Dialect 2: OpenAI Responses items.

The reasoning, message and call items of one response are one assistant turn: they become one message. A built-in tool's item holds its
call and its result.
"""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects.content import ContentReader, text_of
from pipelines.formats.dialects.conversation import Conversation, role_of
from pipelines.formats.dialects.openai_chat import error_sign
from pipelines.formats.values import string_of

_CALLS = frozenset({"function_call", "custom_tool_call", "tool_search_call", "shell_call", "apply_patch_call"})
_OUTPUTS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "computer_call_output",
        "local_shell_call_output",
        "tool_search_output",
        "shell_call_output",
        "apply_patch_call_output",
    }
)
_BUILT_IN = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "computer_call",
        "code_interpreter_call",
        "mcp_call",
        "local_shell_call",
        "image_generation_call",
    }
)
_SILENT = frozenset(
    {
        "reasoning",
        "item_reference",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "compaction",
        "compaction_summary",
        "ghost_snapshot",
        "program",
        "program_output",
    }
)
ITEM_TYPES = _CALLS | _OUTPUTS | _BUILT_IN | _SILENT
_FINISHED = frozenset({"completed", "failed", "incomplete"})


def matches(item: dict[str, Any]) -> bool:
    """Whether an object is an item of a response."""
    kind = item.get("type")
    if kind == "message":
        return "role" in item and "content" in item and "stop_reason" not in item and "data" not in item
    return type(kind) is str and kind in ITEM_TYPES and "role" not in item


def add_item(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> None:
    """Append one item, joining it to the open assistant turn where it belongs to one."""
    kind = item["type"]
    if kind == "message":
        _add_message(item, conversation, flags)
    elif kind in _CALLS:
        _open_turn(conversation, flags)
        _add_call(item, kind, conversation)
    elif kind in _OUTPUTS:
        output = item.get("output") if "output" in item else item.get("tools")
        conversation.result(text_of(output, conversation), item.get("call_id"), None, error_sign(item), flags)
    elif kind in _BUILT_IN:
        _open_turn(conversation, flags)
        _add_built_in(item, kind, conversation, flags)
    elif kind == "reasoning":
        _open_turn(conversation, flags)


def _add_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...]) -> None:
    role = role_of(item.get("role"), conversation, "system")
    if role != "assistant":
        reader = ContentReader(conversation, role, item, None, flags)
        reader.read(item.get("content"))
        reader.finish([])
        return
    reader = ContentReader(conversation, role, item, None, flags)
    reader.read(item.get("content"))
    if conversation.open_turn and conversation.messages[-1].text is None and not reader.calls:
        if reader.text is not None:
            conversation.add_text(reader.text)
    else:
        reader.finish([])
    conversation.open_turn = True


def _open_turn(conversation: Conversation, flags: tuple[str, ...]) -> None:
    if not conversation.open_turn:
        conversation.say("assistant", None, None, flags)
        conversation.open_turn = True


def _add_call(item: dict[str, Any], kind: str, conversation: Conversation) -> None:
    call_id = item.get("call_id") or item.get("id")
    if kind == "custom_tool_call":
        conversation.call(str(item.get("name") or ""), {"input": item.get("input")}, call_id)
        return
    arguments = next((item[key] for key in ("arguments", "action", "operation") if item.get(key) is not None), None)
    name = item.get("name") or kind.removesuffix("_call")
    conversation.call(name if isinstance(name, str) else "", arguments, call_id)


def _add_built_in(item: dict[str, Any], kind: str, conversation: Conversation, flags: tuple[str, ...]) -> None:
    name = item.get("name") or kind.removesuffix("_call")
    arguments: Any = next(
        (item[key] for key in ("arguments", "action", "queries", "query", "code") if item.get(key) is not None), None
    )
    if isinstance(arguments, list) or (isinstance(arguments, str) and kind == "code_interpreter_call"):
        arguments = {"queries" if kind == "file_search_call" else "code": arguments}
    call_id = conversation.call(str(name), arguments, item.get("call_id") or item.get("id"))
    result = next((item[key] for key in ("output", "results", "outputs", "result") if item.get(key) is not None), None)
    if kind == "image_generation_call":
        result = None
    failed = bool(item.get("error")) or item.get("status") == "failed"
    if result is None and failed:
        result = item.get("error")
    if result is not None or string_of(item.get("status")) in _FINISHED:
        is_error = True if failed else error_sign({"status": item.get("status")})
        conversation.result(text_of(result, conversation), call_id, str(name), is_error, flags)
