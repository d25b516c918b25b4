"""Seeded span exports of agents' runs in the shapes that tracing systems write, spans of a trace far apart in shuffled files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

_START = 1_764_489_600_000_000_000
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """What one span of a run holds, before a tracing system writes it down."""

    trace: int
    number: int
    kind: str
    """`agent`, `chat` or `tool`."""
    given: list[tuple[str, str]]
    """(role, text) of what a model call was given; (tool's name, arguments) of a tool's."""
    answer: str

    @property
    def trace_id(self) -> str:
        """The trace's id, in hex as OpenTelemetry writes it."""
        return f"{self.trace + 1:08x}" + f"{(self.trace + 1) * 0x9E3779B97F4A7C15 % 2**96:024x}"

    @property
    def span_id(self) -> str:
        """The span's id."""
        return f"{self.trace + 1:012x}{self.number + 1:04x}"

    @property
    def parent_id(self) -> str | None:
        """The run's own span for all others."""
        return f"{self.trace + 1:012x}{1:04x}" if self.number else None

    @property
    def start(self) -> int:
        """Nanoseconds since the epoch."""
        return _START + self.trace * _SECOND + self.number * 40_000_000

    @property
    def end(self) -> int:
        """Nanoseconds since the epoch."""
        return self.start + 30_000_000 if self.number else self.start + _SECOND


def write_spans(folder: Path, workload: str, megabytes: float, words: int, files: int = 3, seed: int = 7) -> list[Path]:
    """Write about `megabytes` of a workload's spans as JSON lines, shuffled over `files`; the same bytes for the same arguments.

    `words` is the length of a message: 12 make spans of 0.7 to 1.4 kB, 60 of 1.6 to 2.3, 300 of 5.5 to 6.8.
    """
    encode = WORKLOADS[workload]
    chance = random.Random(seed)
    lines: list[bytes] = []
    size = trace = 0
    sentences = _sentences(chance, words)
    while size < megabytes * 1_000_000:
        # A collector's requests hold what several services sent it in between: spans of some forty traces in any order.
        calls = [call for number in range(40) for call in _run(chance, trace + number, sentences)]
        trace += 40
        chance.shuffle(calls)
        added = [orjson.dumps(record) for record in encode(calls)]
        size += sum(map(len, added)) + len(added)
        lines += added
    chance.shuffle(lines)
    paths = []
    for number in range(files):
        path = folder / f"{workload}-{number}.jsonl"
        path.write_bytes(b"\n".join(lines[number::files]) + b"\n")
        paths.append(path)
    return paths


def _sentences(chance: random.Random, words: int) -> list[str]:
    vocabulary = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(4000)]
    return [" ".join(chance.choices(vocabulary, k=words)) for _ in range(3000)]


def _run(chance: random.Random, trace: int, sentences: list[str]) -> Iterator[Call]:
    """A run: a question, one to three model calls with a tool call between each two, an answer."""
    question = chance.choice(sentences)
    history = [("system", sentences[0]), ("user", question)]
    turns = chance.randint(1, 3)
    answer = chance.choice(sentences)
    yield Call(trace, 0, "agent", [("user", question)], answer)
    for turn in range(turns):
        said = answer if turn == turns - 1 else chance.choice(sentences)
        yield Call(trace, 1 + 2 * turn, "chat", list(history), said)
        if turn < turns - 1:
            result = chance.choice(sentences)
            yield Call(trace, 2 + 2 * turn, "tool", [("search", f'{{"query":"{said[:20]}"}}')], result)
            history += [("assistant", said), ("user", result)]


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _genai(call: Call) -> dict[str, Any]:
    """Attributes of OpenTelemetry's GenAI conventions."""
    if call.kind == "agent":
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "support",
            "gen_ai.conversation.id": f"c-{call.trace}",
            "tenant": f"t{call.trace % 7}",
        }
    if call.kind == "tool":
        name, arguments = call.given[0]
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": f"call_{call.span_id}",
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": call.answer,
        }
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in call.given[1:]]
    answer = {"role": "assistant", "parts": [{"type": "text", "content": call.answer}], "finish_reason": "stop"}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1-2026",
        "gen_ai.usage.input_tokens": 100 * call.number,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.system_instructions": _text([{"type": "text", "content": call.given[0][1]}]),
        "gen_ai.input.messages": _text(messages),
        "gen_ai.output.messages": _text([answer]),
    }


def _openinference(call: Call) -> dict[str, Any]:
    """Attributes of OpenInference."""
    if call.kind == "agent":
        plain = {"openinference.span.kind": "AGENT", "session.id": f"c-{call.trace}", "agent.name": "support"}
        return {**plain, "input.value": call.given[0][1], "output.value": call.answer}
    if call.kind == "tool":
        name, arguments = call.given[0]
        plain = {"openinference.span.kind": "TOOL", "tool.name": name}
        return {**plain, "input.value": arguments, "output.value": call.answer}
    found: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.provider": "openai"}
    for number, (role, text) in enumerate(call.given):
        found[f"llm.input_messages.{number}.message.role"] = role
        found[f"llm.input_messages.{number}.message.content"] = text
    found["llm.output_messages.0.message.role"] = "assistant"
    found["llm.output_messages.0.message.content"] = call.answer
    found |= {"llm.token_count.prompt": 100 * call.number, "llm.token_count.completion": 20}
    return found


def _otlp_span(call: Call, attributes: dict[str, Any]) -> dict[str, Any]:
    span: dict[str, Any] = {"traceId": call.trace_id, "spanId": call.span_id}
    if call.parent_id is not None:
        span["parentSpanId"] = call.parent_id
    values = [
        {"key": key, "value": {"intValue": str(item)} if type(item) is int else {"stringValue": item}}
        for key, item in attributes.items()
    ]
    return {
        **span,
        "flags": 256,
        "name": call.kind,
        "kind": 3,
        "startTimeUnixNano": str(call.start),
        "endTimeUnixNano": str(call.end),
        "attributes": values,
        "status": {},
    }


def _request(spans: list[dict[str, Any]]) -> dict[str, Any]:
    resource = [
        {"key": "service.name", "value": {"stringValue": "agents"}},
        {"key": "telemetry.sdk.language", "value": {"stringValue": "python"}},
        {"key": "telemetry.sdk.version", "value": {"stringValue": "1.38.0"}},
    ]
    scope = {"name": "agents.tracing", "version": "1.2.0"}
    return {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


def _otlp(calls: list[Call]) -> Iterator[Any]:
    for call in calls:
        yield _request([_otlp_span(call, _genai(call))])


def _otlp_batches(calls: list[Call]) -> Iterator[Any]:
    for start in range(0, len(calls), 32):
        yield _request([_otlp_span(call, _genai(call)) for call in calls[start : start + 32]])


def _otlp_openinference(calls: list[Call]) -> Iterator[Any]:
    for call in calls:
        yield _request([_otlp_span(call, _openinference(call))])


def _iso(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds - _START, _SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"2025-12-{1 + days % 28:02d}T{hours:02d}:{minutes:02d}:{seconds:02d}.{rest // 1000:06d}+00:00"


def _phoenix(calls: list[Call]) -> Iterator[Any]:
    for call in calls:
        attributes = _openinference(call)
        yield {
            "name": call.kind,
            "context": {"trace_id": call.trace_id, "span_id": call.span_id},
            "span_kind": attributes.pop("openinference.span.kind"),
            "parent_id": call.parent_id,
            "start_time": _iso(call.start),
            "end_time": _iso(call.end),
            "status_code": "OK",
            "status_message": "",
            "attributes": attributes,
            "events": [],
        }


def _langfuse(calls: list[Call]) -> Iterator[Any]:
    for call in calls:
        row = {
            "id": call.span_id,
            "traceId": call.trace_id,
            "type": {"agent": "AGENT", "chat": "GENERATION", "tool": "TOOL"}[call.kind],
            "name": call.kind,
            "startTime": _iso(call.start),
            "endTime": _iso(call.end),
            "parentObservationId": call.parent_id,
            "level": "DEFAULT",
            "statusMessage": None,
            "version": None,
            "environment": "default",
            "metadata": {"scope": {"name": "agents", "version": "1.2.0"}},
        }
        if call.kind == "chat":
            given: Any = [{"role": role, "content": text} for role, text in call.given]
            answer: Any = {"role": "assistant", "content": call.answer}
            usage = {"input": 100 * call.number, "output": 20, "total": 100 * call.number + 20}
            row |= {"model": "m-1", "usageDetails": usage, "costDetails": {"total": 0.00125}}
        else:
            given, answer = call.given[0][1], call.answer
        yield {**row, "input": given, "output": answer}


#: How each system writes the spans of some runs.
WORKLOADS: dict[str, Callable[[list[Call]], Iterator[Any]]] = {
    "otlp": _otlp,
    "otlp-batches": _otlp_batches,
    "otlp-openinference": _otlp_openinference,
    "phoenix": _phoenix,
    "langfuse": _langfuse,
}
