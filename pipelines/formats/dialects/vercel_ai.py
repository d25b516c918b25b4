"""Dialect 7: Vercel AI SDK: model messages (`tool-call`, `tool-result` parts) and UI messages (`parts` with `tool-<name>`)."""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects.content import Block, ContentReader, block_type, text_of
from pipelines.formats.dialects.conversation import Conversation, role_of
from pipelines.formats.json_values import compact_json
from pipelines.formats.values import dict_of


def is_ui_part(part: Any) -> bool:
    """Whether a part is one of a UI message."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and (
        kind.startswith(("tool-", "data-")) or kind in ("step-start", "dynamic-tool", "source-url", "source-document")
    )


def add_ui_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> None:
    """Append one UI message: a tool part holds a call and, once answered, its result."""
    role = role_of(item.get("role"), conversation)
    reader = ContentReader(conversation, role, item, None, flags)
    for part in item["parts"]:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and (kind == "tool-invocation" or kind == "dynamic-tool" or _names_a_tool(kind)):
            _ui_tool(part, kind, reader)
        elif isinstance(kind, str) and (kind.startswith("data-") or kind in ("step-start", "source-url")):
            reader.pass_over()
        else:
            reader.read_block(part)
    reader.finish([])


def _names_a_tool(kind: str) -> bool:
    return kind.startswith("tool-") and kind not in ("tool-call", "tool-result")


def _ui_tool(part: Block, kind: str, reader: ContentReader) -> None:
    body = dict_of(part.get("toolInvocation")) or part
    name = body.get("toolName") or kind[len("tool-") :]
    arguments = body.get("input") if body.get("input") is not None else body.get("args")
    call_id = body.get("toolCallId")
    reader.add_call(name, arguments, call_id)
    state = body.get("state")
    if state == "output-error" or body.get("errorText"):
        reader.add_result(text_of(body.get("errorText"), reader.conversation), call_id, name, True)
    elif state in ("output-available", "result"):
        value = body.get("output") if body.get("output") is not None else body.get("result")
        reader.add_result(text_of(value, reader.conversation), call_id, name, None)


@block_type("tool-call")
def _tool_call(block: Block, reader: ContentReader) -> None:
    arguments = next((block[key] for key in ("input", "args", "arguments") if block.get(key) is not None), None)
    reader.add_call(block.get("toolName") or block.get("name"), arguments, block.get("toolCallId") or block.get("id"))


@block_type("tool-result", "tool-error")
def _tool_result(block: Block, reader: ContentReader) -> None:
    value = next((block[key] for key in ("output", "result", "content", "error") if block.get(key) is not None), None)
    is_error: bool | None = True if block.get("type") == "tool-error" or block.get("isError") is True else None
    if isinstance(value, dict) and isinstance(value.get("type"), str) and "value" in value:
        if value["type"].startswith("error"):
            is_error = True
        inner = value["value"]
        text = text_of(inner, reader.conversation) if value["type"] in ("text", "content") else _plain(inner)
    else:
        text = text_of(value, reader.conversation)
    reader.add_result(text, block.get("toolCallId") or block.get("id"), block.get("toolName"), is_error)


@block_type("tool-approval-request", "tool-approval-response", "source", "step-start", "finish-step", "start-step")
def _marker(_block: Block, reader: ContentReader) -> None:
    reader.pass_over()


def _plain(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else compact_json(value)
