"""The canonical trajectory: what every log format is normalised to, one Python object a run of an agent.

Text is Unicode without lone surrogates. Numbers that the log does not carry are None, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from schemas.nesting import has_brackets_for, is_nested_deeper

#: Flags of messages that are in the log but are not the user's or the agent's own words in this run.
NOT_OWN_WORDS = frozenset({"injected", "compaction_summary", "demonstration", "copied_context", "synthetic"})


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `text` is None where the message carries no text at all (a bare tool call)."""

    role: str
    """system, user, assistant or tool."""
    text: str | None = None
    name: str | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    """Of a tool's message: True, False, or None where the log does not say."""
    flags: tuple[str, ...] = ()

    @property
    def own_words(self) -> bool:
        """Whether the speaker said this in this run (see `NOT_OWN_WORDS`)."""
        return NOT_OWN_WORDS.isdisjoint(self.flags)


@dataclass(frozen=True)
class ToolCall:
    """One tool call, in the order of the log."""

    name: str
    arguments_raw: str = ""
    """The arguments as the log wrote them (JSON text; an object in the log is its compact JSON)."""
    id: str | None = None
    message_index: int | None = None

    @cached_property
    def parsed(self) -> tuple[Any, str | None]:
        """(the arguments as a value, None), or (None, why they are not JSON). Empty or absent arguments are `{}`."""
        text = self.arguments_raw.strip()
        if text in ("", "null"):
            return {}, None
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
            if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):  # encoded twice, as some loggers do
                value = json.loads(value, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            return None, f"arguments are not JSON: {type(error).__name__}"
        if has_brackets_for(text) and is_nested_deeper(value):
            return None, "arguments are nested too deep"
        return value, None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. `tool_call_id` or, where the log has none, `name` and order bind it to its call."""

    text: str | None
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None
    message_index: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened beside the messages: `error`, `skill_activation`, `turn_start`, `turn_end`, `system`…."""

    type: str
    name: str | None = None
    text: str | None = None
    data_json: str | None = None
    """The event's own payload, as compact JSON."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the run used. `input_tokens` includes cached input; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None = None
    latency_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One run of an agent. `trajectory_uid` is the join key; `trajectory_id` is the log's own id as text."""

    trajectory_uid: str = ""
    trajectory_id: str = ""
    group_id: str | None = None
    parent_id: str | None = None
    source_uri: str = ""
    source_offset: int = 0
    """Byte offset in the decompressed stream (JSON text), or row number in the file (Parquet, CSV)."""
    source_format: str = ""
    event_time: datetime | None = None
    input: str | None = None
    output: str | None = None
    output_rule: str | None = None
    """Which rule chose `output`: `field`, `last_assistant_message`, `last_assistant_text`, or an adapter's own name."""
    reference: str | None = None
    messages: tuple[Message, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    events: tuple[Event, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    agent: str | None = None
    outcome: str | None = None
    """ok, error, limit, aborted, incomplete, or None where the log does not say."""
    native_scores_json: str | None = None
    """Scores that the log itself carries, as a JSON list; kept, never mixed with ours."""
    extra_json: str | None = None
    """What graders may want of the record and no column holds (metrics, reference tool calls, diffs), as a JSON object."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    issues: tuple[str, ...] = ()
    """What normalisation had to repair, as stable short words (`invalid_utf8`, `duplicate_key`…)."""
    bytes: int = 0
    """Size of the source record in bytes."""
    turn_count: int | None = None
    """As the log counts turns; None lets the number of user messages stand for it."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
