"""The conversation under construction: what the message dialects write into and trajectories are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipelines.formats.json_values import compact_json
from pipelines.formats.values import id_text
from schemas.trajectory import NOT_OWN_WORDS, Event, Message, ToolCall, ToolResult

ORPHAN_TOOL_RESULT = "orphan_tool_result"
UNKNOWN_ROLE = "unknown_role"
NO_FINAL_TEXT = "no_final_text"

FIELD = "field"
LAST_ASSISTANT_MESSAGE = "last_assistant_message"
LAST_ASSISTANT_TEXT = "last_assistant_text"

#: The roles of all dialects, in ours.
ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "agent": "assistant",
    "bing": "assistant",
    "chatgpt": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "tool_response": "tool",
    "tool_result": "tool",
    "toolResult": "tool",
    "environment": "tool",
}


def role_of(spoken: Any, conversation: Conversation, absent: str = "user") -> str:
    """A dialect's role in ours; an unknown one is the system's, with an issue."""
    if spoken is None or spoken == "":
        return absent
    role = ROLES.get(spoken) if type(spoken) is str else None
    if role is None and type(spoken) is str:
        role = ROLES.get(spoken.strip().lower())
    if role is None:
        conversation.issue(UNKNOWN_ROLE)
        return "system"
    return role


def arguments_text(arguments: Any) -> str:
    """Tool arguments as the log wrote them: text as it is, absent as "", a value as compact JSON."""
    if type(arguments) is str:
        return arguments
    return "" if arguments is None else compact_json(arguments)


class Conversation:
    """Messages with their tool calls and results, in order. Message dialects append; containers read."""

    __slots__ = ("calls", "default_is_error", "events", "issues", "messages", "open_turn", "results", "waiting")

    def __init__(self, default_is_error: bool | None = None) -> None:
        self.messages: list[Message] = []
        self.calls: list[ToolCall] = []
        self.results: list[ToolResult] = []
        self.events: list[Event] = []
        self.issues: dict[str, None] = {}
        self.waiting: list[tuple[str, str]] = []
        """(name, id) of the calls without an id of their own that no result has answered yet."""
        self.open_turn = False
        """Whether the last message is an assistant turn that further items of the same response belong to."""
        self.default_is_error = default_is_error
        """What a result without any sign of an error means in this log."""

    def issue(self, word: str) -> None:
        """Note what normalisation had to repair or leave out."""
        self.issues[word] = None

    def say(self, role: str, text: str | None, name: str | None = None, flags: tuple[str, ...] = ()) -> int:
        """Append a message; returns its index."""
        self.open_turn = False
        self.messages.append(Message(role, text, name, None, None, flags))
        return len(self.messages) - 1

    def add_text(self, text: str, separator: str = "\n", index: int = -1) -> None:
        """Add text to the last message, or the one at `index`."""
        last = self.messages[index]
        joined = f"{last.text}{separator}{text}" if last.text else text
        self.messages[index] = Message(last.role, joined, last.name, last.tool_call_id, last.is_error, last.flags)

    def call(self, name: str, arguments: Any, call_id: Any = None, index: int | None = None) -> str:
        """Append a tool call of the last message (or the one at `index`); returns its id, made of that index where the log has none."""
        if index is None:
            index = len(self.messages) - 1
        own_id = id_text(call_id)
        if own_id is None:
            earlier = sum(1 for _ in self._calls_of_last(index))
            own_id = f"call_{index}_{earlier}" if earlier else f"call_{index}"
            self.waiting.append((name, own_id))
        self.calls.append(ToolCall(name, arguments_text(arguments), own_id, index))
        return own_id

    def result(
        self,
        text: str | None,
        call_id: Any = None,
        name: str | None = None,
        is_error: bool | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        """Append a tool's message and result; one without an id answers the first open call (of its name), those without an id first."""
        own_id = id_text(call_id)
        if own_id is None:
            own_id = self._take_waiting(name)
            if own_id is None:
                self.issue(ORPHAN_TOOL_RESULT)
        if is_error is None:
            is_error = self.default_is_error
        self.open_turn = False
        self.messages.append(Message("tool", text, name, own_id, is_error, flags))
        self.results.append(ToolResult(text, own_id, name, is_error, len(self.messages) - 1))

    def final_output(self) -> tuple[str | None, str | None]:
        """(the final answer, the rule that chose it): the last own text of the assistant that calls no tool, else its last own text."""
        calling = {call.message_index for call in self.calls}
        with_calls = None
        for index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[index]
            if message.role != "assistant" or not message.text or message.text.isspace() or not own_words(message):
                continue
            if index not in calling:
                return message.text, LAST_ASSISTANT_MESSAGE
            if with_calls is None:
                with_calls = message.text
        return (with_calls, LAST_ASSISTANT_TEXT) if with_calls is not None else (None, None)

    def first_user_text(self) -> str | None:
        """The first words of the user's own."""
        for message in self.messages:
            if message.role == "user" and message.text and not message.text.isspace() and own_words(message):
                return message.text
        return None

    def extend(self, other: Conversation) -> None:
        """Append another conversation's messages, calls, results and issues."""
        shift = len(self.messages)
        self.messages += other.messages
        self.calls += [_moved_call(call, shift) for call in other.calls]
        self.results += [_moved_result(result, shift) for result in other.results]
        self.events += other.events
        self.issues.update(other.issues)
        self.open_turn = False

    def _calls_of_last(self, index: int) -> Iterable[ToolCall]:
        for call in reversed(self.calls):
            if call.message_index != index:
                return
            yield call

    def _take_waiting(self, name: str | None) -> str | None:
        for place, (called, call_id) in enumerate(self.waiting):
            if name is None or called == name:
                del self.waiting[place]
                return call_id
        answered = {result.tool_call_id for result in self.results}
        for call in self.calls:
            if call.id not in answered and (name is None or call.name == name):
                return call.id
        return None


def own_words(message: Message) -> bool:
    """Whether the speaker said this in this run."""
    return not message.flags or NOT_OWN_WORDS.isdisjoint(message.flags)


def _moved_call(call: ToolCall, shift: int) -> ToolCall:
    index = None if call.message_index is None else call.message_index + shift
    return ToolCall(call.name, call.arguments_raw, call.id, index)


def _moved_result(result: ToolResult, shift: int) -> ToolResult:
    index = None if result.message_index is None else result.message_index + shift
    return ToolResult(result.text, result.tool_call_id, result.name, result.is_error, index)
