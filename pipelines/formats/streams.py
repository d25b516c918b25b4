"""Streamed answers put together again: the chunks of OpenAI, Anthropic and Gemini as the response that they add up to."""

from __future__ import annotations

from typing import Any

from pipelines.formats.json_values import Decoded, decode_line
from pipelines.formats.values import dict_of, list_of, string_of, unwrapped


def events_of(body: Any) -> list[dict[str, Any]] | None:
    """The events of a stream: a list of objects, or server-sent-event text; None for anything else."""
    if type(body) is list:
        events = []
        for item in body:
            inner = unwrapped(item)
            if type(inner) is dict:
                events.append(dict_of(unwrapped(inner.get("data"))) or inner)
            elif type(item) is str:
                events += events_of(item) or []
        return events or None
    if type(body) is not str or not body.lstrip().startswith(("event:", "data:")):
        return None
    events = []
    for line in body.split("\n"):
        if line.startswith("data:"):
            for part in decode_line(line[5:].encode("utf-8", "replace")):
                if isinstance(part, Decoded) and type(part.value) is dict:
                    events.append(part.value)
    return events or None


def merged(events: list[dict[str, Any]]) -> dict[str, Any]:
    """One response of a stream's events."""
    last = next((event for event in reversed(events) if type(event.get("response")) is dict), None)
    if last is not None and str(last.get("type", "")).startswith("response."):
        return dict_of(last["response"])
    if any(event.get("type") in ("message_start", "content_block_start") for event in events):
        return _anthropic(events)
    if any("candidates" in event for event in events):
        return _gemini(events)
    return _openai(events)


def _anthropic(events: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"type": "message", "role": "assistant"}
    blocks: dict[int, dict[str, Any]] = {}
    partial: dict[int, str] = {}
    usage: dict[str, Any] = {}
    for event in events:
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            message.update(dict_of(event.get("message")))
            usage.update(dict_of(message.get("usage")))
        elif kind == "content_block_start" and type(index) is int:
            blocks[index] = dict(dict_of(event.get("content_block")))
        elif kind == "content_block_delta" and type(index) is int:
            _apply_delta(blocks.setdefault(index, {"type": "text"}), dict_of(event.get("delta")), partial, index)
        elif kind == "message_delta":
            message.update({key: item for key, item in dict_of(event.get("delta")).items() if item is not None})
            usage.update({key: item for key, item in dict_of(event.get("usage")).items() if item is not None})
        elif kind == "error":
            message["error"] = event.get("error")
    for index, text in partial.items():
        blocks[index]["input"] = text or {}
    message["content"] = [blocks[index] for index in sorted(blocks)]
    message["usage"] = usage
    return message


def _apply_delta(block: dict[str, Any], delta: dict[str, Any], partial: dict[int, str], index: int) -> None:
    if delta.get("type") == "input_json_delta":
        partial[index] = partial.get(index, "") + (string_of(delta.get("partial_json")) or "")
    elif type(delta.get("text")) is str:
        block["text"] = (string_of(block.get("text")) or "") + delta["text"]


def _gemini(events: list[dict[str, Any]]) -> dict[str, Any]:
    parts: list[Any] = []
    whole: dict[str, Any] = {}
    finish = None
    for event in events:
        for key, item in event.items():
            if key != "candidates" and item is not None:
                whole[key] = item
        candidate = dict_of(next(iter(list_of(event.get("candidates"))), None))
        finish = candidate.get("finishReason") or finish
        for part in list_of(dict_of(candidate.get("content")).get("parts")):
            text = dict_of(part).get("text")
            before = parts[-1] if parts else {}
            if type(text) is str and type(before.get("text")) is str and before.get("thought") == part.get("thought"):
                parts[-1] = {**before, "text": before["text"] + text}
            elif type(part) is dict:
                parts.append(part)
    whole["candidates"] = [{"content": {"role": "model", "parts": parts}, "finishReason": finish}]
    return whole


def _openai(events: list[dict[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    text: str | None = None
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for event in events:
        for key, item in event.items():
            if key != "choices" and item is not None:
                whole[key] = item
        for choice in list_of(event.get("choices"))[:1]:
            delta = dict_of(dict_of(choice).get("delta"))
            finish = dict_of(choice).get("finish_reason") or finish
            if type(delta.get("content")) is str:
                text = (text or "") + delta["content"]
            for call in list_of(delta.get("tool_calls")):
                _add_call_delta(calls, dict_of(call))
    message = {"role": "assistant", "content": text, "tool_calls": [calls[index] for index in sorted(calls)]}
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
    return whole


def _add_call_delta(calls: dict[int, dict[str, Any]], delta: dict[str, Any]) -> None:
    index = delta["index"] if type(delta.get("index")) is int else len(calls)
    call = calls.setdefault(index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
    call["id"] = delta.get("id") or call["id"]
    function = dict_of(delta.get("function"))
    call["function"]["name"] += string_of(function.get("name")) or ""
    call["function"]["arguments"] += string_of(function.get("arguments")) or ""
