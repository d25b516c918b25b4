"""The content of one message: text, or a list of blocks. The blocks of all dialects are read through one table.

A dialect registers the block types it knows with `block_type` (told by `type`) or `block_key` (told by the block's only telling key),
so that a message which mixes dialects is read all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.values import id_text

NON_TEXT_PART = "non_text_part"
UNKNOWN_PART = "unknown_part"

Block = dict[str, Any]
BlockHandler = Callable[[Block, "ContentReader"], None]

_BY_TYPE: dict[str, BlockHandler] = {}
_BY_KEY: dict[str, BlockHandler] = {}


def block_type(*names: str) -> Callable[[BlockHandler], BlockHandler]:
    """Register how blocks of these `type`s are read."""

    def register(handler: BlockHandler) -> BlockHandler:
        _BY_TYPE.update(dict.fromkeys(names, handler))
        return handler

    return register


def block_key(*names: str) -> Callable[[BlockHandler], BlockHandler]:
    """Register how blocks without a known `type` that have one of these keys are read."""

    def register(handler: BlockHandler) -> BlockHandler:
        _BY_KEY.update(dict.fromkeys(names, handler))
        return handler

    return register


class ContentReader:
    """Takes in the blocks of one message and writes messages, calls and results in their order.

    An assistant's text parts that touch are one text cut in pieces and are joined directly; parts with something between them, and the
    parts of everybody else, are joined by a line end. A tool result in a user's message becomes a message of the tool, in its place.
    """

    __slots__ = (
        "calls",
        "conversation",
        "flags",
        "item",
        "known_calls",
        "name",
        "results",
        "role",
        "text",
        "touching",
        "wrote_result",
    )

    def __init__(
        self,
        conversation: Conversation,
        role: str,
        item: Block,
        name: str | None,
        flags: tuple[str, ...],
        known_calls: frozenset[str] = frozenset(),
    ) -> None:
        self.conversation = conversation
        self.role = role
        self.item = item
        self.name = name
        self.flags = flags
        self.known_calls = known_calls
        """Ids of calls that the message also carries outside its content."""
        self.text: str | None = None
        self.touching = False
        self.wrote_result = False
        self.calls: list[tuple[str, Any, Any]] = []
        self.results: list[tuple[str | None, Any, str | None, bool | None]] = []

    def add_text(self, text: Any) -> None:
        """Take in a text part."""
        if not isinstance(text, str):
            text = compact_json(text)
        if self.text is None:
            self.text = text
        elif self.touching and self.role == "assistant":
            self.text += text
        elif text:
            self.text = f"{self.text}\n{text}" if self.text else text
        self.touching = True

    def add_call(self, name: Any, arguments: Any, call_id: Any) -> None:
        """Take in a tool call, unless the message also carries it outside its content."""
        self.touching = False
        own_id = id_text(call_id)
        if own_id is None or own_id not in self.known_calls:
            self.calls.append((name if isinstance(name, str) else "", arguments, own_id))

    def add_result(self, text: str | None, call_id: Any, name: Any = None, is_error: Any = None) -> None:
        """Take in a tool result; in a user's message it is written at once, in its place."""
        result = (
            text,
            call_id,
            name if isinstance(name, str) else None,
            is_error if isinstance(is_error, bool) else None,
        )
        self.touching = False
        if self.role == "assistant":
            self.results.append(result)
            return
        self.wrote_result = True
        self._flush_text()
        self.results.append(result)
        self._flush_results()

    def pass_over(self) -> None:
        """A block without words: reasoning, a marker."""
        self.touching = False

    def leave_out(self, issue: str = NON_TEXT_PART) -> None:
        """A block that text can't hold."""
        self.touching = False
        self.conversation.issue(issue)

    def read(self, content: Any) -> None:
        """Take in a content value of any shape."""
        if content is None:
            return
        if isinstance(content, list):
            for block in content:
                self.read_block(block)
        elif isinstance(content, dict):
            self.read_block(content)
        else:
            self.add_text(content)

    def read_block(self, block: Any) -> None:
        """Take in one block of any dialect."""
        if not isinstance(block, dict):
            if block is not None:
                self.add_text(block)
            return
        kind = block.get("type")
        handler = _BY_TYPE.get(kind) if isinstance(kind, str) else None
        if handler is None:
            handler = next((_BY_KEY[key] for key, value in block.items() if key in _BY_KEY and value is not None), None)
        if handler is not None:
            handler(block, self)
        elif isinstance(block.get("text"), str):
            self.add_text(block["text"])
        elif block:
            self.leave_out(UNKNOWN_PART)

    def finish(self, own_calls: list[tuple[str, Any, Any]]) -> None:
        """Write what is left: the message with its calls, then the results inside an assistant's message."""
        calls = self.calls + own_calls
        if self.text is not None or calls or not self.wrote_result:
            self.conversation.say(self.role, self.text, self.name, self.flags)
            for name, arguments, call_id in calls:
                self.conversation.call(name, arguments, call_id)
        self._flush_results()

    def _flush_text(self) -> None:
        if self.text is not None:
            self.conversation.say(self.role, self.text, self.name, self.flags)
            self.text = None

    def _flush_results(self) -> None:
        for text, call_id, name, is_error in self.results:
            self.conversation.result(text, call_id, name, is_error, self.flags)
        self.results = []


class _TextOnly(ContentReader):
    """Reads the words of a content value; calls and results inside it are written out as JSON."""

    __slots__ = ()

    def add_call(self, name: Any, arguments: Any, call_id: Any) -> None:
        self.add_text(compact_json({"name": name, "arguments": arguments}))

    def add_result(self, text: str | None, call_id: Any, name: Any = None, is_error: Any = None) -> None:
        if text is not None:
            self.add_text(text)


def text_of(content: Any, conversation: Conversation) -> str | None:
    """The text of any content value: blocks joined by line ends, an object without any block's shape as compact JSON."""
    if content is None or isinstance(content, str):
        return content
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        only = content[0]
        if len(only) == 2 and only.get("type") == "text":
            text = only.get("text", only.get("content"))
            if type(text) is str:
                return text
    if isinstance(content, dict) and not _is_block(content):
        return compact_json(content)
    if isinstance(content, list) and content and not any(isinstance(item, str) or _is_block(item) for item in content):
        return compact_json(content)
    reader = _TextOnly(conversation, "tool", {}, None, ())
    reader.read(content)
    return reader.text


def has_block(content: Any, *types: str) -> bool:
    """Whether a content list holds a block of one of the types."""
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in types for block in content
    )


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if isinstance(kind, str) and kind in _BY_TYPE:
        return True
    return bool(value) and any(key in _BY_KEY or key == "text" for key in value) and len(value) <= 3
