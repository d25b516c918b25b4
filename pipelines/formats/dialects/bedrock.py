"""Dialect 9: Bedrock Converse blocks, told by their only key (`text`, `toolUse`, `toolResult`, `reasoningContent`…)."""

from __future__ import annotations

from pipelines.formats.dialects.content import Block, ContentReader, block_key, text_of
from pipelines.formats.json_values import compact_json
from pipelines.formats.values import dict_of


@block_key("toolUse")
def _tool_use(block: Block, reader: ContentReader) -> None:
    use = dict_of(block["toolUse"])
    reader.add_call(use.get("name"), use.get("input"), use.get("toolUseId"))


@block_key("toolResult")
def _tool_result(block: Block, reader: ContentReader) -> None:
    result = dict_of(block["toolResult"])
    status = result.get("status")
    is_error = None if status is None else status == "error"
    content = result.get("content")
    texts = []
    for part in content if isinstance(content, list) else [content]:
        text = (
            compact_json(part["json"])
            if isinstance(part, dict) and "json" in part
            else text_of(part, reader.conversation)
        )
        if text is not None:
            texts.append(text)
    reader.add_result("\n".join(texts) if texts else None, result.get("toolUseId"), None, is_error)


@block_key("reasoningContent", "cachePoint", "guardContent", "citationsContent")
def _passed_over(block: Block, reader: ContentReader) -> None:
    cited = dict_of(block.get("citationsContent")).get("content")
    if cited:
        reader.read(cited)
    else:
        reader.pass_over()
