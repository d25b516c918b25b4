"""Dialect 4: Gemini `contents` and `parts`, in camel and snake case.

Calls mostly have no id: results answer the calls of their name in order. `thought` parts are passed over.
"""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects.content import Block, ContentReader, block_key, text_of
from pipelines.formats.dialects.conversation import Conversation, role_of
from pipelines.formats.json_values import compact_json

_CODE_TOOL = "code_execution"


def add_message(item: dict[str, Any], conversation: Conversation, flags: tuple[str, ...] = ()) -> None:
    """Append one content `{role, parts}`; parts without a role are the user's."""
    role = role_of(item.get("role"), conversation)
    parts = item.get("parts")
    reader = ContentReader(conversation, "user" if role == "tool" else role, item, None, flags)
    for part in parts if isinstance(parts, list) else [parts]:
        if isinstance(part, dict) and part.get("thought") is True:
            reader.pass_over()
        else:
            reader.read_block(part)
    reader.finish([])


@block_key("functionCall", "function_call")
def _function_call(block: Block, reader: ContentReader) -> None:
    call = block.get("functionCall") or block.get("function_call") or {}
    if isinstance(call, dict):
        arguments = call.get("args") if call.get("args") is not None else call.get("arguments")
        reader.add_call(call.get("name"), arguments, call.get("id") or block.get("id"))


@block_key("functionResponse", "function_response")
def _function_response(block: Block, reader: ContentReader) -> None:
    answer = block.get("functionResponse") or block.get("function_response") or {}
    if isinstance(answer, dict):
        text, is_error = response_text(answer.get("response"), reader.conversation)
        reader.add_result(text, answer.get("id"), answer.get("name"), is_error)


def response_text(response: Any, conversation: Conversation) -> tuple[str | None, bool | None]:
    """(text, whether it is an error) of a function's response: its `output`, `result` or `error`, else its JSON."""
    if isinstance(response, dict):
        if response.get("error"):
            return text_of(response["error"], conversation), True
        for key in ("output", "result", "content"):
            if key in response and len([name for name in response if response[name] is not None]) == 1:
                return text_of(response[key], conversation), None
        return compact_json(response), None
    return text_of(response, conversation), None


@block_key("executableCode", "executable_code")
def _executable_code(block: Block, reader: ContentReader) -> None:
    reader.add_call(_CODE_TOOL, block.get("executableCode") or block.get("executable_code"), None)


@block_key("codeExecutionResult", "code_execution_result")
def _code_result(block: Block, reader: ContentReader) -> None:
    result = block.get("codeExecutionResult") or block.get("code_execution_result") or {}
    outcome = result.get("outcome") if isinstance(result, dict) else None
    failed = None if outcome is None else outcome not in ("OUTCOME_OK", "OK", 1)
    output = result.get("output") if isinstance(result, dict) else result
    reader.add_result(text_of(output, reader.conversation), None, _CODE_TOOL, failed)
