"""Token counts and costs from the usage objects of all providers, in one shape.

`input_tokens` always includes cached input and `output_tokens` always includes reasoning, whichever way the provider counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.formats.values import cost, dict_of, integer, milliseconds
from schemas.trajectory import Usage

_INPUT = ("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "total_prompt_tokens", "input")
_OUTPUT = (
    "output_tokens",
    "completion_tokens",
    "outputTokens",
    "completionTokens",
    "total_completion_tokens",
    "output",
)
_CACHED_INSIDE = (
    "cached_tokens",
    "cached_input_tokens",
    "cachedInputTokens",
    "cacheReadTokens",
    "total_cached_tokens",
    "cached",
)
_CACHED_BESIDE = (
    "cache_read_input_tokens",
    "input_tokens_cache_read",
    "cacheReadInputTokens",
    "input_cache_read",
    "input_cached_tokens",
)
_WRITTEN_BESIDE = (
    "cache_creation_input_tokens",
    "input_tokens_cache_write",
    "cacheWriteInputTokens",
    "input_cache_creation",
)
_REASONING = ("reasoning_tokens", "reasoning_output_tokens", "reasoningTokens", "output_reasoning_tokens", "thoughts")
_COST = ("cost_usd", "total_cost_usd", "total_cost", "cost")
_DETAILS_IN = ("prompt_tokens_details", "input_tokens_details", "input_token_details", "inputTokenDetails")
_DETAILS_OUT = ("completion_tokens_details", "output_tokens_details", "output_token_details", "outputTokenDetails")


def usage_of(value: Any) -> Usage:
    """The counts of one provider's usage object; None for what it does not say.

    Where cached input has keys of its own beside `input_tokens` it is added; `prompt_tokens` includes it also where a proxy repeats those keys.
    """
    if type(value) is not dict or not value:
        return Usage()
    if "promptTokenCount" in value or "prompt_token_count" in value or "candidatesTokenCount" in value:
        return _gemini(value)
    inputs = _first(value, _INPUT)
    outputs = _first(value, _OUTPUT)
    cached = _first(value, _CACHED_INSIDE)
    if cached is None:
        cached = _detail(value, _DETAILS_IN, ("cached_tokens", "cache_read", "cachedTokens", "cacheReadTokens"))
    beside = _first(value, _CACHED_BESIDE)
    written = _first(value, _WRITTEN_BESIDE)
    if inputs is not None and "prompt_tokens" not in value:
        inputs += (beside or 0) + (written or 0)
    if beside is not None:
        cached = beside
    reasoning = _first(value, _REASONING)
    if reasoning is None:
        reasoning = _detail(value, _DETAILS_OUT, ("reasoning_tokens", "reasoning", "reasoningTokens"))
    return Usage(inputs, outputs, cached, reasoning, _cost(value))


def _gemini(value: Mapping[str, Any]) -> Usage:
    prompt = _first(value, ("promptTokenCount", "prompt_token_count"))
    tool_prompt = _first(value, ("toolUsePromptTokenCount", "tool_use_prompt_token_count"))
    candidates = _first(value, ("candidatesTokenCount", "candidates_token_count"))
    thoughts = _first(value, ("thoughtsTokenCount", "thoughts_token_count"))
    cached = _first(value, ("cachedContentTokenCount", "cached_content_token_count"))
    return Usage(_plus(prompt, tool_prompt), _plus(candidates, thoughts), cached, thoughts)


def total_usage(usages: Iterable[Usage], latency_ms: int | None = None) -> Usage:
    """The sum of several calls; a count that no call gives stays None. Latency is not summed: calls may overlap."""
    inputs = outputs = cached = reasoning = None
    money = None
    for usage in usages:
        inputs = _plus(inputs, usage.input_tokens)
        outputs = _plus(outputs, usage.output_tokens)
        cached = _plus(cached, usage.cached_input_tokens)
        reasoning = _plus(reasoning, usage.reasoning_tokens)
        if usage.cost_usd is not None:
            money = usage.cost_usd if money is None else money + usage.cost_usd
    return Usage(inputs, outputs, cached, reasoning, money, latency_ms)


def record_usage(record: Mapping[str, Any]) -> Usage:
    """The usage that a record carries: its `usage` object, else counts, cost and latency among its own keys."""
    if _TELLING.isdisjoint(record):
        return _UNKNOWN
    source = record.get("usage")
    usage = usage_of(source if type(source) is dict else _own_counts(record))
    money = usage.cost_usd if usage.cost_usd is not None else _cost(record)
    latency = integer(record.get("latency_ms"))
    if latency is None:
        latency = integer(record.get("duration_ms"))
    if latency is None:
        latency = milliseconds(record.get("latency_sec"))
    return Usage(
        usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens, money, latency
    )


def _own_counts(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in RECORD_USAGE_KEYS if key in record and key not in _COST}


#: Keys of a record itself that count as usage where it has no `usage` object.
RECORD_USAGE_KEYS = (
    "input_tokens",
    "prompt_tokens",
    "output_tokens",
    "completion_tokens",
    "cached_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
    *_COST,
)


_UNKNOWN = Usage()
_TELLING = frozenset({*RECORD_USAGE_KEYS, "usage", "latency_ms", "duration_ms", "latency_sec"})


def _cost(value: Mapping[str, Any]) -> Any:
    for key in _COST:
        amount = cost(value.get(key))
        if amount is not None:
            return amount
    return None


def _first(value: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    for key in keys:
        if key in value:
            count = integer(value[key])
            if count is not None:
                return count
    return None


def _detail(value: Mapping[str, Any], holders: Iterable[str], keys: Iterable[str]) -> int | None:
    for holder in holders:
        details = value.get(holder)
        if type(details) is list and details:
            return _sum_of_details(details, keys)
        count = _first(dict_of(details), keys)
        if count is not None:
            return count
    return None


def _sum_of_details(details: list[Any], keys: Iterable[str]) -> int | None:
    total = None
    for detail in details:
        total = _plus(total, _first(dict_of(detail), keys))
    return total


def _plus(left: int | None, right: int | None) -> int | None:
    if left is None:
        return right
    return left if right is None else left + right
