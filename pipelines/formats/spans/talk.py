"""The conversation of one agent's model and tool calls.

Model calls repeat what was said before: a call whose input begins with all that an earlier call was given continues it and replaces it.
A call that begins otherwise is a talk of its own and is appended, without the beginning that it shares with the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.spans.model import INPUT_PREFIX, Span
from schemas.trajectory import Message, ToolResult

_Print = tuple[str, str | None, str | None]


class Thread:
    """One growing conversation: what its last call was given, what came out since, and which calls went into it."""

    def __init__(self, given: Conversation) -> None:
        self.given = given
        self.prints = spoken(prints(given))
        self.said: list[Conversation] = []
        self.calls: list[int] = []

    def replace(self, given: Conversation) -> None:
        """Go on with a longer talk; the system's words are kept where the longer one leaves them out."""
        before = self.given
        if (
            before.messages
            and before.messages[0].role == "system"
            and given.messages
            and given.messages[0].role != "system"
        ):
            opening = Conversation()
            opening.messages = list(takewhile(lambda message: message.role == "system", before.messages))
            opening.extend(given)
            given = opening
        self.given, self.prints, self.said = given, spoken(prints(given)), []

    def continued_by(self, longer: list[_Print], strictly: bool) -> bool:
        """Whether a call that is given `longer` goes on with this talk.

        Strictly: only where it repeats the answers as well, as independent calls may well begin alike.
        """
        own = list(self.prints)
        if strictly:
            for said in self.said:
                own += prints(said)
            if len(own) >= len(longer):
                return False
        return bool(own) and len(own) <= len(longer) and longer[: len(own)] == own

    def whole(self) -> Conversation:
        """The talk with its last answers."""
        for said in self.said:
            self.given.extend(said)
        self.said = []
        return self.given


def spoken(printed: list[_Print]) -> list[_Print]:
    """Prints without the system's words at the beginning: some logs have them in the first call only."""
    start = next((place for place, entry in enumerate(printed) if entry[0] != "system"), len(printed))
    return printed[start:] or printed


def prints(talk: Conversation) -> list[_Print]:
    """What tells messages apart; blanks at the ends and absent text do not."""
    if not talk.calls:
        return [(message.role, (message.text or "").strip(), None) for message in talk.messages]
    calls: dict[int | None, str] = {}
    for call in talk.calls:
        calls[call.message_index] = calls.get(call.message_index, "") + call.name + "\n"
    return [
        (message.role, (message.text or "").strip(), calls.get(index)) for index, message in enumerate(talk.messages)
    ]


def threads_of(calls: Sequence[tuple[Conversation, Conversation]], strictly: bool = False) -> list[Thread]:
    """The talks that the (given, answered) pairs of model calls, in their order, belong to."""
    threads: list[Thread] = []
    for number, (given, answered) in enumerate(calls):
        here = spoken(prints(given))
        thread = next((thread for thread in reversed(threads) if thread.continued_by(here, strictly)), None)
        if thread is None:
            thread = Thread(given)
            threads.append(thread)
        elif len(here) > len(thread.prints):
            thread.replace(given)
        thread.calls.append(number)
        if answered.messages:
            thread.said.append(answered)
    return threads


def joined(calls: Sequence[tuple[Conversation, Conversation]]) -> Conversation:
    """One conversation of all calls."""
    whole = Conversation()
    threads = [] if len(calls) == 1 else threads_of(calls)
    if len(calls) == 1 or len(threads) == 1:
        only = threads[0].whole() if threads else calls[0][0]
        if not threads and calls[0][1].messages:
            only.extend(calls[0][1])
        whole.messages, whole.calls, whole.results, whole.issues = only.messages, only.calls, only.results, only.issues
        return whole
    for thread in threads:
        _append_new(whole, thread.whole())
    return whole


def _append_new(whole: Conversation, part: Conversation) -> None:
    """Append a talk without the messages at its beginning that `whole` begins with as well."""
    shared = 0
    for earlier, later in zip(prints(whole), prints(part), strict=False):
        if earlier != later:
            break
        shared += 1
    rest = Conversation()
    rest.messages = part.messages[shared:]
    rest.calls = [call for call in part.calls if call.message_index is None or call.message_index >= shared]
    rest.results = [result for result in part.results if result.message_index is None or result.message_index >= shared]
    rest.issues = part.issues
    before = len(whole.messages) - shared
    whole.messages += rest.messages
    whole.calls += [
        type(call)(call.name, call.arguments_raw, call.id, _shifted(call.message_index, before)) for call in rest.calls
    ]
    whole.results += [
        ToolResult(
            result.text, result.tool_call_id, result.name, result.is_error, _shifted(result.message_index, before)
        )
        for result in rest.results
    ]
    whole.issues.update(part.issues)


def _shifted(index: int | None, by: int) -> int | None:
    return None if index is None else index + by


def conversation_of(
    calls: list[Span], outer: list[Span], tools: list[Span], root: Span, wrapped: dict[int, Span]
) -> Conversation:
    """What was said in one agent's run; model calls first, then what only tool spans and the root hold.

    `wrapped` gives the outer span of a model call that stands alone in it: read where the inner one is less detailed.
    """
    pairs = _pairs(calls, wrapped)
    if not any(given.messages or answered.messages for given, answered in pairs):
        pairs = _pairs(outer, {})
    talk = joined(pairs)
    if not talk.messages and root.add_input is not None and root not in tools:
        root.add_input(talk)
    _add_tools(talk, tools)
    if (
        not any(message.role == "assistant" and message.text for message in talk.messages)
        and root.add_output is not None
    ):
        root.add_output(talk)
    return talk


def _pairs(calls: list[Span], wrapped: dict[int, Span]) -> list[tuple[Conversation, Conversation]]:
    pairs = []
    for number, call in enumerate(calls):
        if number + 1 < len(calls) and _is_repeated(call, calls[number + 1]):
            continue
        pair = _pair(call)
        outer = wrapped.get(id(call))
        if outer is not None and len(pair[0].messages) < 2:
            other = _pair(outer)
            if len(other[0].messages) > len(pair[0].messages):
                pair = other
        pairs.append(pair)
    return pairs


def _pair(call: Span) -> tuple[Conversation, Conversation]:
    given, answered = Conversation(), Conversation()
    if call.add_input is not None:
        call.add_input(given)
    if call.add_output is not None:
        call.add_output(answered)
    return given, answered


def _is_repeated(call: Span, after: Span) -> bool:
    """Whether the next call's messages begin, as JSON text, values or attributes, with all of this call's and go on: then this one need not be read."""
    if call.input_entries is not None and after.input_entries is not None:
        before, now = call.input_entries, after.input_entries
        keys = [key for key in before if key.startswith(INPUT_PREFIX)]
        longer = sum(1 for key in now if key.startswith(INPUT_PREFIX)) > len(keys)
        return longer and all(key in now and now[key] == before[key] for key in keys)
    if call.input_messages and after.input_messages:
        count = len(call.input_messages)
        return len(after.input_messages) > count and after.input_messages[:count] == call.input_messages
    text, later = call.input_text, after.input_text
    if text is None or later is None or len(later) <= len(text) or text[-1:] != "]":
        return False
    if call.system_text is not None and call.system_text != after.system_text:
        return False
    return later.startswith(text[:-1]) and later[len(text) - 1] == ","


def _add_tools(talk: Conversation, tools: list[Span]) -> None:
    """Results and calls that the messages lack; what the tool spans say of success goes to the results that they match.

    A span matches the call of its id, else, in order, the calls of its name that no span names by id.
    """
    if not tools:
        return
    known = {call.id for call in talk.calls}
    named = {tool.tool_call_id for tool in tools}
    answered = {result.tool_call_id: place for place, result in enumerate(talk.results)}
    unmatched = [call for call in talk.calls if call.id not in named]
    for tool in tools:
        call_id = tool.tool_call_id if tool.tool_call_id in known else None
        if call_id is None:
            match = next((call for call in unmatched if call.name == tool.tool_name), None)
            if match is not None:
                unmatched.remove(match)
                call_id = match.id
        if call_id is not None and call_id in answered:
            if tool.is_error is not None:
                _mark(talk, answered[call_id], tool.is_error)
            continue
        if call_id is None:
            talk.say("assistant", None)
            call_id = talk.call(tool.tool_name or tool.name, tool.tool_arguments, tool.tool_call_id)
            talk.waiting = [entry for entry in talk.waiting if entry[1] != call_id]
        if tool.tool_result is not None or tool.is_error or tool.end is not None:
            text = tool.tool_result if tool.tool_result is not None else tool.error_text
            talk.result(text, call_id, tool.tool_name, tool.is_error)
            answered[call_id] = len(talk.results) - 1


def _mark(talk: Conversation, place: int, is_error: bool) -> None:
    result = talk.results[place]
    if result.is_error is not None:
        return
    talk.results[place] = ToolResult(result.text, result.tool_call_id, result.name, is_error, result.message_index)
    if result.message_index is not None:
        old = talk.messages[result.message_index]
        talk.messages[result.message_index] = Message(
            old.role, old.text, old.name, old.tool_call_id, is_error, old.flags
        )
