"""What a judge sees of a trajectory: the selected parts, windowed head and tail, encoded as one line of JSON.

Whatever the text says, it stays data: it can't leave its JSON string, start a line of the prompt, or hold the control
tokens of a chat template or invisible characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from schemas.trajectory import Message, ToolResult, Trajectory

EvidenceKind = Literal[
    "input", "output", "reference", "context", "transcript", "tool_calls", "metadata", "diff", "golden_patch"
]
#: In this order they appear.
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = (
    "input",
    "context",
    "transcript",
    "tool_calls",
    "diff",
    "golden_patch",
    "metadata",
    "output",
    "reference",
)
#: Keys of `extra_json` (then of the metadata) that hold the context of a record which has no column for it.
CONTEXT_KEYS = ("context", "contexts", "documents", "retrieved_documents")

_UNSAFE = re.compile(
    "[<>\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e01ef]|\\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_))"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Selected parts of one trajectory. `values[kind]` is None where the trajectory has none."""

    values: dict[str, Any]
    cut: dict[str, Any]
    """What windowing left out: kind → {characters, messages?}."""


def select(trajectory: Trajectory, kinds: Sequence[str], max_chars: int, **given: str | None) -> Evidence:
    """The evidence of the given kinds; each is cut to about `max_chars` code points, its head and tail kept.

    Args:
        trajectory: the graded run.
        kinds: which parts.
        max_chars: bound for each part, in code points of its text.
        given: texts from the configuration that stand for the trajectory's own (`reference=`, `context=`).
    """
    values: dict[str, Any] = {}
    cut: dict[str, Any] = {}
    for kind in EVIDENCE_KINDS:
        if kind in kinds:
            raw = given.get(kind)
            values[kind], lost = _windowed(_part(trajectory, kind) if raw is None else raw, max_chars)
            if lost:
                cut[kind] = lost
    return Evidence(values, cut)


def encode(values: dict[str, Any]) -> str:
    """The evidence as one line of JSON that reads back as the same values, characters of `_UNSAFE` escaped."""
    return _UNSAFE.sub(_escaped, json.dumps(values, ensure_ascii=False, separators=(",", ":")))


def window_text(text: str, limit: int) -> tuple[str, int]:
    """`text` and 0, or its head and tail around a marker and how many code points are left out."""
    if len(text) <= limit:
        return text, 0
    head = limit - limit // 3
    lost = len(text) - limit
    return f"{text[:head]} […{lost} characters left out…] {text[len(text) - limit // 3 :]}", lost


def window_items(items: Sequence[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Items whose texts fit into `limit` code points, from both ends, with a marker between; and what was left out.

    The first and the last item are always there, cut themselves where they alone are too long.
    """
    sizes = [_size(item) for item in items]
    if sum(sizes) <= limit:
        return list(items), {}
    lost_characters = 0
    kept: dict[int, dict[str, Any]] = {}
    order = [(range(len(items)), limit - limit // 2), (range(len(items) - 1, -1, -1), limit // 2)]
    for indices, budget in order:
        left = budget
        for index in indices:
            if index in kept:
                break
            if sizes[index] <= left:
                kept[index] = items[index]
                left -= sizes[index]
                continue
            if index == indices[0]:
                kept[index], lost = _cut_item(items[index], left)
                lost_characters += lost
            break
    omitted = [index for index in range(len(items)) if index not in kept]
    lost_characters += sum(sizes[index] for index in omitted)
    shown = [kept[index] for index in sorted(kept)]
    if omitted:
        marker = {"left_out": {"messages": len(omitted), "characters": sum(sizes[index] for index in omitted)}}
        shown.insert(omitted[0], marker)
    return shown, {"characters": lost_characters, "messages": len(omitted)}


def _windowed(value: Any, limit: int) -> tuple[Any, dict[str, int]]:
    if isinstance(value, str):
        text, lost = window_text(value, limit)
        return text, {"characters": lost} if lost else {}
    if isinstance(value, list):
        return window_items(value, limit)
    return value, {}


def _part(trajectory: Trajectory, kind: str) -> Any:
    if kind in ("input", "output", "reference"):
        return getattr(trajectory, kind)
    if kind == "transcript":
        return [_message(message) for message in trajectory.messages] or None
    if kind == "tool_calls":
        return _tool_calls(trajectory)
    if kind == "metadata":
        return [{"name": key, "text": value} for key, value in sorted(trajectory.metadata.items())] or None
    return _extra(trajectory, CONTEXT_KEYS if kind == "context" else (kind,))


def _message(message: Message) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": message.role}
    if message.name is not None:
        shown["name"] = message.name
    if message.flags:
        shown["flags"] = list(message.flags)
    if message.is_error:
        shown["is_error"] = True
    shown["text"] = message.text
    return shown


def _tool_calls(trajectory: Trajectory) -> list[dict[str, Any]] | None:
    by_id = {result.tool_call_id: result for result in trajectory.tool_results if result.tool_call_id is not None}
    unbound = [result for result in trajectory.tool_results if result.tool_call_id is None]
    shown = []
    for call in trajectory.tool_calls:
        item: dict[str, Any] = {"name": call.name, "arguments": call.arguments_raw}
        result = by_id.get(call.id) if call.id is not None else _take_named(unbound, call.name)
        if result is not None:
            item["result"] = result.text
            if result.is_error is not None:
                item["is_error"] = result.is_error
        shown.append(item)
    return shown or None


def _take_named(results: list[ToolResult], name: str) -> ToolResult | None:
    for index, result in enumerate(results):
        if result.name in (name, None):
            return results.pop(index)
    return None


def _extra(trajectory: Trajectory, keys: Sequence[str]) -> str | None:
    try:
        extra = json.loads(trajectory.extra_json) if trajectory.extra_json else {}
    except (ValueError, RecursionError):
        extra = {}
    for source in (extra if isinstance(extra, dict) else {}, trajectory.metadata):
        for key in keys:
            value = source.get(key)
            if value:
                return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None


def _size(item: dict[str, Any]) -> int:
    return sum(len(value) for value in item.values() if isinstance(value, str))


def _cut_item(item: dict[str, Any], limit: int) -> tuple[dict[str, Any], int]:
    texts = {key: value for key, value in item.items() if isinstance(value, str)}
    share = max(limit // max(len(texts), 1), 1)
    shown = dict(item)
    lost = 0
    for key, text in texts.items():
        shown[key], part = window_text(text, share)
        lost += part
    return shown, lost


def _escaped(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
