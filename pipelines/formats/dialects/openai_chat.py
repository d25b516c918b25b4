"""Dialect 1: OpenAI Chat Completions messages, and every `{role, content}` message that is no other dialect's.

Also read here: flat and LangChain-like entries of `tool_calls`, Inspect's calls (`function` is a string), legacy `function_call`, Azure's
`tool_call`/`tool_result` parts, `text` in place of `content`.
"""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects.content import Block, ContentReader, block_key, block_type, has_block, text_of
from pipelines.formats.dialects.conversation import ROLES, Conversation, role_of
from pipelines.formats.json_values import compact_json
from pipelines.formats.values import dict_of, id_text, string_of, unwrapped

_ERROR_WORDS = frozenset({"error", "failed", "failure", "cancelled", "canceled", "timeout", "denied"})
_SUCCESS_WORDS = frozenset({"success", "ok", "completed", "succeeded"})
_CALL_KEYS = frozenset({"tool_calls", "toolCalls", "function_call"})
RESULT_BLOCKS = ("tool_result", "tool-result", "tool_call_response", "toolResult", "function_response")


def add_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> None:
    """Append one message."""
    spoken = item.get("role")
    role = ROLES.get(spoken) if type(spoken) is str else None
    if role is None:
        role = role_of(spoken, conversation)
    content = item["content"] if "content" in item else _other_content(item)
    name = item.get("name")
    if name is not None and type(name) is not str:
        name = id_text(name)
    if role == "tool":
        _add_tool_message(item, content, conversation, name, flags)
        return
    calls = own_calls(item, conversation)
    if type(content) is str or content is None:
        if not content and type(item.get("refusal")) is str:
            content = item["refusal"]
        conversation.say(role, None if calls and content == "" else content, name, flags)
        for call in calls:
            conversation.call(*call)
        return
    known = frozenset(text for text in (id_text(call[2]) for call in calls) if text is not None)
    reader = ContentReader(conversation, role, item, name, flags, known)
    reader.read(content)
    reader.finish(calls)


def own_calls(item: dict[str, Any], conversation: Conversation) -> list[tuple[str, Any, Any]]:
    """(name, arguments, id) of the calls beside the content; null and empty keys are no calls."""
    if _CALL_KEYS.isdisjoint(item):
        return []
    calls = []
    tool_calls = item.get("tool_calls") or item.get("toolCalls")
    if tool_calls:
        tool_calls = unwrapped(tool_calls)
        for call in tool_calls if isinstance(tool_calls, list) else ():
            if isinstance(call, dict):
                calls.append(read_call(call, conversation))
            elif call is not None:
                calls.append(("", call, None))
                conversation.issue("tool_call_without_name")
    legacy = unwrapped(item.get("function_call"))
    if isinstance(legacy, dict) and legacy and not calls:
        calls.append(read_call(legacy, conversation))
    return calls


def read_call(call: dict[str, Any], conversation: Conversation) -> tuple[str, Any, Any]:
    """(name, arguments, id) of one entry of `tool_calls` in any of its shapes."""
    function = call.get("function")
    if type(function) is not dict:
        function = call.get("custom") or call.get("tool_call")
        if type(function) is not dict:
            function = call
        elif type(function.get("function")) is dict:
            function = {**function["function"], "id": function.get("id")}
    name = function.get("name") or call.get("name") or call.get("tool_name") or call.get("toolName") or call.get("tool")
    if type(name) is not str:
        name = call["function"] if type(call.get("function")) is str else ""
        if not name:
            conversation.issue("tool_call_without_name")
    arguments = None
    for key in ("arguments", "args", "input", "parameters", "tool_input", "kwargs"):
        if key in function and function[key] is not None:
            arguments = function[key]
            break
    call_id = call.get("id")
    for key in ("tool_call_id", "call_id", "toolCallId"):
        if call_id is None or call_id == "":
            call_id = call.get(key)
    if call_id is None and function is not call:
        call_id = function.get("id")
    return name, arguments, call_id


def error_sign(item: dict[str, Any]) -> bool | None:
    """What a tool message says of its success: `is_error`, `success`, `error`, `status`; None where it says nothing."""
    for key in ("is_error", "isError"):
        if type(item.get(key)) is bool:
            return bool(item[key])
    if type(item.get("success")) is bool:
        return not item["success"]
    if item.get("error"):
        return item["error"] is not False
    status = item.get("status")
    if type(status) is str:
        word = status.lower()
        if word in _ERROR_WORDS:
            return True
        if word in _SUCCESS_WORDS:
            return False
    return None


def _add_tool_message(
    item: dict[str, Any], content: Any, conversation: Conversation, name: str | None, flags: tuple[str, ...]
) -> None:
    call_id = item.get("tool_call_id") or item.get("toolCallId") or item.get("call_id")
    if call_id is None and isinstance(item.get("tool_call_ids"), list) and item["tool_call_ids"]:
        call_id = item["tool_call_ids"][0]
    inner = dict_of(item.get("tool_call"))
    if call_id is None and inner:
        call_id = inner.get("id")
    if has_block(content, *RESULT_BLOCKS):
        reader = ContentReader(conversation, "tool", item, name, flags)
        for block in content:
            if isinstance(block, dict) and block.get("type") in RESULT_BLOCKS:
                reader.read_block(block)
            else:
                conversation.result(text_of(block, conversation), call_id, name, error_sign(item), flags)
        return
    if name is None and type(item.get("function")) is str:
        name = item["function"]
    conversation.result(text_of(content, conversation), call_id, name, error_sign(item), flags)


def _other_content(item: dict[str, Any]) -> Any:
    for key in ("text", "value", "message", "system_prompt", "reasoning"):
        if key != "reasoning" and string_of(item.get(key)):
            return item[key]
    return None


@block_type("text", "input_text", "output_text", "summary_text")
def _text(block: Block, reader: ContentReader) -> None:
    for key in ("text", "content", "value"):
        if block.get(key) is not None:
            text = block[key]
            reader.add_text(text["value"] if isinstance(text, dict) and isinstance(text.get("value"), str) else text)
            return


@block_type("refusal")
def _refusal(block: Block, reader: ContentReader) -> None:
    reader.add_text(block.get("refusal") or block.get("content") or block.get("text") or "")


@block_type(
    "image_url", "input_image", "image", "input_audio", "audio", "video", "video_url", "file", "input_file", "blob",
    "uri", "document", "media", "image-url", "image-data", "file-data", "data", "container_upload", "computer_screenshot",
)  # fmt: skip
def _media(_block: Block, reader: ContentReader) -> None:
    reader.leave_out()


@block_key("image_url", "inlineData", "inline_data", "fileData", "file_data", "video")
def _media_by_key(_block: Block, reader: ContentReader) -> None:
    reader.leave_out()


@block_type("tool_call", "function")
def _tool_call(block: Block, reader: ContentReader) -> None:
    if "value" in block and "name" not in block:
        block = unwrapped(block["value"]) if type(unwrapped(block["value"])) is dict else block
    name, arguments, call_id = read_call(block, reader.conversation)
    reader.add_call(name, arguments, call_id)


@block_type("tool_result", "function_response")
def _tool_result(block: Block, reader: ContentReader) -> None:
    call_id = block.get("tool_use_id") or block.get("tool_call_id") or block.get("call_id") or block.get("id")
    if call_id is None:
        call_id = reader.item.get("tool_call_id")
    value = block.get("content")
    if value is None:
        value = next((block[key] for key in ("tool_result", "result", "output", "text") if key in block), None)
    if isinstance(value, dict):
        text: str | None = compact_json(value)
    else:
        text = text_of(value, reader.conversation)
    reader.add_result(text, call_id, block.get("name"), error_sign(block))
