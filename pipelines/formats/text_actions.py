"""Actions that an agent wrote into its text as a fenced shell block, answered by the next user message: made real calls and results."""

from __future__ import annotations

import re

from pipelines.formats.dialects.conversation import Conversation

_BLOCK = re.compile(r"```(?:mswea_bash_command|bash|sh)\s*\n(.*?)\n?```", re.DOTALL)
_ANSWER = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>(.*)", re.DOTALL)
_OUTPUT = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)
_TOOL = "bash"
_FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?```", re.DOTALL)


def has_shell_answers(talk: Conversation) -> bool:
    """Whether user messages are answers to shell actions (`<returncode>`)."""
    return any(message.role == "user" and _ANSWER.match(message.text or "") for message in talk.messages)


def with_shell_calls(talk: Conversation) -> Conversation:
    """The conversation with its shell blocks as calls of `bash`; a user message with `<returncode>` is the call's result."""
    made = Conversation()
    made.issues = talk.issues
    pending: str | None = None
    for message in talk.messages:
        answer = _ANSWER.match(message.text or "") if message.role == "user" else None
        if answer is not None and pending is not None:
            output = _OUTPUT.search(answer[2])
            made.result(output[1] if output else answer[2].strip(), pending, _TOOL, int(answer[1]) != 0)
            pending = None
            continue
        made.messages.append(message)
        blocks = _BLOCK.findall(message.text or "") if message.role == "assistant" else []
        if len(blocks) == 1:
            pending = made.call(_TOOL, {"command": blocks[0]}, f"action_{len(made.messages) - 1}")
    return made


def with_fenced_calls(talk: Conversation) -> Conversation:
    """The conversation with each assistant message's only fenced block as a call of `bash`, answered by the user message after it."""
    made = Conversation()
    made.issues = talk.issues
    pending: str | None = None
    for message in talk.messages:
        if message.role == "user" and pending is not None:
            made.result(message.text, pending, _TOOL, None, message.flags)
            pending = None
            continue
        made.messages.append(message)
        pending = None
        blocks = _FENCE.findall(message.text or "") if message.role == "assistant" else []
        if len(blocks) == 1:
            pending = made.call(_TOOL, {"command": blocks[0]}, f"action_{len(made.messages) - 1}")
    return made
