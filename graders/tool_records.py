"""What graders ask of a trajectory's tool calls: results, steps, arguments as text, and whether they only read."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from graders.json_values import encode
from schemas.trajectory import ToolCall, ToolResult, Trajectory

#: Names under which the agents' tools take what a matcher calls `command` and `path`.
ARGUMENT_ALIASES: Mapping[str, tuple[str, ...]] = {
    "command": ("command", "cmd"),
    "path": ("path", "file_path", "filePath", "filepath", "filename"),
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_READING_WORDS = _words(
    "browse cat check count describe diff fetch find get glob grep head inspect list lookup ls look open peek query "
    "read retrieve rg search select show status tail think view wc weather"
)
_CHANGING_WORDS = _words(
    "add append apply archive book buy cancel commit copy create delete deploy drop edit exec execute insert install "
    "kill make mark merge modify move order patch pay post publish purchase push put refund remove rename replace "
    "reset restart run save schedule send set sh shell bash submit transfer update upload write"
)
_SHELL_WORDS = _words("bash sh shell powershell terminal exec execute run")
_READING_COMMANDS = _words(
    "basename cat cd cut date df diff dirname du echo file find grep head hostname id jq less ls nl pwd "
    "readlink realpath rg sort stat tail test tree tr true type uname uniq wc which whoami"
)
_READING_GIT = _words("blame diff log ls-files rev-parse show status")
_CHANGING_SYNTAX = re.compile(r">|\$\(|`|-delete\b|-exec\b|\bsed\b|-i\b|\bsudo\b|\btee\b|\bxargs\b")
_COMMAND_BORDER = re.compile(r"\|\||&&|[|;&\n]")


def results_by_call(trajectory: Trajectory) -> list[ToolResult | None]:
    """The result of each tool call, in order: bound by id, else by the tool's name and order, else by order alone."""
    by_id: dict[str, deque[ToolResult]] = {}
    by_name: dict[str | None, deque[ToolResult]] = {}
    for result in trajectory.tool_results:
        if result.tool_call_id is not None:
            by_id.setdefault(result.tool_call_id, deque()).append(result)
        else:
            by_name.setdefault(result.name, deque()).append(result)
    bound: list[ToolResult | None] = []
    for call in trajectory.tool_calls:
        queue = by_id.get(call.id) if call.id is not None else None
        queue = queue or by_name.get(call.name) or by_name.get(None)
        bound.append(queue.popleft() if queue else None)
    return bound


def steps_of_calls(trajectory: Trajectory) -> list[int]:
    """The agent step (0-based) of each tool call: the place of its message among the assistant's messages.

    A call that no message holds is a step of its own, after those before it.
    """
    ranks: dict[int, int] = {}
    for index, message in enumerate(trajectory.messages):
        if message.role == "assistant" and message.own_words:
            ranks[index] = len(ranks)
    steps: list[int] = []
    last = -1
    for call in trajectory.tool_calls:
        rank = ranks.get(call.message_index) if call.message_index is not None else None
        last = last + 1 if rank is None else rank
        steps.append(last)
    return steps


def argument_text(call: ToolCall, name: str) -> str | None:
    """One argument as text: a string as it is, anything else as compact JSON; None where the call lacks it."""
    arguments, problem = call.parsed
    if problem is not None or not isinstance(arguments, dict):
        return None
    for key in ARGUMENT_ALIASES.get(name, (name,)):
        if key in arguments:
            return as_text(arguments[key])
    return None


def as_text(value: Any) -> str:
    """A string as it is, any other value as compact JSON."""
    return value if isinstance(value, str) else encode(value)


def malformed(calls: Sequence[ToolCall]) -> int:
    """How many calls have arguments that are not JSON."""
    return sum(call.parsed[1] is not None for call in calls)


def only_reads(call: ToolCall) -> bool:
    """Whether a call is known to change nothing: by the verbs in its tool's name, or for a shell by its commands.

    What can't be told counts as changing something.
    """
    words = {word.lower() for word in _WORD.findall(call.name)}
    command = argument_text(call, "command")
    if command is not None and words & _SHELL_WORDS:
        return _command_only_reads(command)
    return bool(words & _READING_WORDS) and not words & _CHANGING_WORDS


def _command_only_reads(command: str) -> bool:
    if _CHANGING_SYNTAX.search(command):
        return False
    for part in _COMMAND_BORDER.split(command):
        words = part.split()
        if (
            words
            and words[0] not in _READING_COMMANDS
            and not (words[0] == "git" and words[1:2] and words[1] in _READING_GIT)
        ):
            return False
    return True
