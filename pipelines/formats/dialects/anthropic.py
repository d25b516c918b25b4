"""Dialect 3: Anthropic content blocks.

Tool results stand in user messages: each becomes a message of the tool, in its place. Thinking is not the agent's answer and is passed
over; server tools carry call and result in the assistant's own message.
"""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects.content import Block, ContentReader, block_type, text_of

BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result"}
)


@block_type("tool_use", "server_tool_use", "mcp_tool_use")
def _tool_use(block: Block, reader: ContentReader) -> None:
    arguments = next((block[key] for key in ("input", "arguments", "args") if block.get(key) is not None), None)
    call_id = block.get("id") or block.get("tool_use_id") or block.get("call_id")
    reader.add_call(block.get("name") or block.get("tool_name"), arguments, call_id)


@block_type("thinking", "redacted_thinking", "reasoning", "encrypted_reasoning", "thought", "signature", "compaction")
def _thinking(_block: Block, reader: ContentReader) -> None:
    reader.pass_over()


@block_type(
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_result",
)
def _server_tool_result(block: Block, reader: ContentReader) -> None:
    content = block.get("content")
    is_error: Any = block.get("is_error")
    if isinstance(content, dict) and str(content.get("type", "")).endswith("_error"):
        is_error = True
    reader.add_result(text_of(content, reader.conversation), block.get("tool_use_id"), None, is_error)


@block_type("search_result")
def _search_result(block: Block, reader: ContentReader) -> None:
    for part in block.get("content") or ():
        reader.read_block(part)


@block_type("tool_reference")
def _tool_reference(block: Block, reader: ContentReader) -> None:
    reader.add_text(str(block.get("tool_name", "")))
