"""A span of its attributes: OpenTelemetry GenAI, OpenInference, OpenLLMetry and Vercel AI SDK conventions, which one trace may mix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.formats.container import SourceRecord
from pipelines.formats.dialects import normalise_messages
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.model_io import add_input, add_output
from pipelines.formats.spans.model import AGENT, INPUT_PREFIX, LLM, OTHER, TOOL, Span
from pipelines.formats.usage import usage_of
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, scalar_text, string_of, unwrapped
from schemas.text import bounded
from schemas.trajectory import Usage

Attributes = Mapping[str, Any]

_OPERATIONS = {
    "chat": LLM, "generate_content": LLM, "text_completion": LLM, "llm_call": LLM, "completion": LLM, "responses": LLM,
    "invoke_agent": AGENT, "invoke_workflow": AGENT, "agent_call": AGENT, "execute_tool": TOOL, "tool_call": TOOL,
}  # fmt: skip
_KINDS = {
    "LLM": LLM, "CHAT_MODEL": LLM, "GENERATION": LLM, "TOOL": TOOL, "AGENT": AGENT, "WORKFLOW": OTHER, "TASK": OTHER,
    "TOOL_CALL": TOOL,
}  # fmt: skip
_KIND_KEYS = ("openinference.span.kind", "traceloop.span.kind", "mlflow.spanType", "langfuse.observation.type")
_SESSIONS = (
    "gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id", "langfuse.session.id",
    "ai.telemetry.metadata.sessionId", "thread.id", "langsmith.trace.session_id", "conversation.id",
)  # fmt: skip
_MODELS = (
    "gen_ai.response.model", "ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id",
    "llm.request.model", "model",
)  # fmt: skip
_INPUTS = ("gen_ai.input.messages", "ai.prompt.messages", "gen_ai.prompt", "ai.prompt", "input.value", "traceloop.entity.input",
           "mlflow.spanInputs", "langfuse.observation.input", "gcp.vertex.agent.llm_request", "input")  # fmt: skip
_INPUT_TEXTS = ("gen_ai.input.messages", "ai.prompt.messages")
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.completion", "output.value", "traceloop.entity.output", "mlflow.spanOutputs",
            "langfuse.observation.output", "gcp.vertex.agent.llm_response", "output")  # fmt: skip
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name", "tool_name")
_TOOL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
_TOOL_ARGUMENTS = ("gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "ai.toolCall.args", "tool.parameters", "input.value",
                   "traceloop.entity.input", "mlflow.spanInputs", "input")  # fmt: skip
_TOOL_RESULTS = ("gen_ai.tool.call.result", "gen_ai.tool.message", "ai.toolCall.result", "output.value",
                 "traceloop.entity.output", "mlflow.spanOutputs", "output")  # fmt: skip
_CONTENT = ("gen_ai.", "llm.", "ai.prompt", "ai.response", "ai.toolCall", "ai.usage", "input.", "output.", "mlflow.", "ai.settings",
            "traceloop.entity", "tool.", "ai.request", "ai.embedding", "ai.value", "retrieval.", "message.", "gcp.vertex")  # fmt: skip
_MARKS = ("gen_ai.", "llm.", "ai.operationId", "openinference.", "traceloop.", "mlflow.spanType")
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}  # fmt: skip
_INPUT_COUNTS = (
    "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
    "ai.usage.promptTokens",
)  # fmt: skip
_OUTPUT_COUNTS = (
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
    "ai.usage.outputTokens", "ai.usage.completionTokens",
)  # fmt: skip
_CACHED_COUNTS = (
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cached_tokens", "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens", "gen_ai.usage.details.cache_read_tokens",
)  # fmt: skip
_REASONING_COUNTS = (
    "gen_ai.usage.reasoning.output_tokens", "ai.usage.reasoningTokens",
    "llm.token_count.completion_details.reasoning", "gen_ai.usage.reasoning_tokens",
)  # fmt: skip
_COSTS = ("gen_ai.usage.cost", "llm.cost.total", "gen_ai.cost.total")
_MAX_ATTRIBUTE = 256


def has_marks(attributes: Attributes) -> str | None:
    """The first attribute that only spans of models and agents have."""
    return next((key for key in attributes if key.startswith(_MARKS)), None)


def kind_of(attributes: Attributes, name: str) -> str:
    """What a span is, by the convention it follows."""
    for key in _KIND_KEYS:
        value = attributes.get(key)
        if value is not None:
            known = _KINDS.get(value) if type(value) is str else None
            kind = known or _KINDS.get(str(unwrapped(value)).strip('"').upper())
            if kind is not None:
                return kind
    operation = string_of(attributes.get("gen_ai.operation.name"))
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    vercel = attributes.get("ai.operationId")
    if type(vercel) is str:
        if vercel == "ai.toolCall":
            return TOOL
        return OTHER if "embed" in vercel.lower() else LLM
    if operation is not None:
        return OTHER
    if "gen_ai.tool.name" in attributes or ("tool.name" in attributes and "input.value" in attributes):
        return TOOL
    told = (
        "gen_ai.input.messages",
        "gen_ai.prompt.0.role",
        "gen_ai.prompt.0.content",
        "llm.request.type",
        "gen_ai.request.model",
    )
    if any(key in attributes for key in told) or "llm.input_messages.0.message.role" in attributes:
        return LLM
    return OTHER


def span_of(
    record: SourceRecord,
    trace_id: str,
    span_id: str,
    parent_id: str | None,
    name: str,
    start: int | None,
    end: int | None,
    status: tuple[bool | None, str | None],
    attributes: Attributes,
    events: list[Any],
    resource: Attributes | None = None,
) -> Span:
    """One span; `status` is (whether it failed, what it says), `events` are `{name, attributes}` with plain attributes."""
    is_error, error_text = status
    if not attributes and not events:
        span = Span(record, trace_id, span_id, parent_id, name, OTHER, start, end, is_error, None, error_text)
        span.add_input = span.add_output = _says_nothing
        if resource:
            span.metadata = lambda: _metadata(attributes, resource)
        return span
    kind = kind_of(attributes, name)
    error_type = string_of(attributes.get("error.type"))
    for event in events:
        if event.get("name") == "exception":
            details = dict_of(event.get("attributes"))
            error_type = error_type or string_of(details.get("exception.type"))
            error_text = error_text or string_of(details.get("exception.message"))
    span = Span(record, trace_id, span_id, parent_id, name, kind, start, end, is_error, error_type, error_text)
    span.session = _first(attributes, _SESSIONS)
    span.agent = string_of(attributes.get("gen_ai.agent.name"))
    if span.agent is None and kind == AGENT:
        span.agent = string_of(attributes.get("agent.name")) or name
    if kind == TOOL:
        _read_tool(span, attributes, name)
    elif kind == LLM:
        span.model = _first(attributes, _MODELS)
        span.usage = _usage(attributes)
        span.finish = _finish(attributes)
        span.input_text = _first(attributes, _INPUT_TEXTS)
        span.system_text = attributes.get("gen_ai.system_instructions")
        if f"{INPUT_PREFIX}0.message.role" in attributes:
            span.input_entries = attributes
    elif kind == AGENT:
        span.usage = _usage(attributes)
    span.add_input = lambda talk: _add_input(attributes, events, talk)
    span.add_output = lambda talk: _add_output(attributes, events, talk)
    span.metadata = lambda: _metadata(attributes, resource)
    return span


def _says_nothing(_talk: Conversation) -> bool:
    return False


def _read_tool(span: Span, attributes: Attributes, name: str) -> None:
    span.tool_name = _first(attributes, _TOOL_NAMES) or name.removeprefix("execute_tool ")
    span.tool_call_id = id_text(_first_given(attributes, _TOOL_IDS))
    span.tool_arguments = _once_decoded(_first_given(attributes, _TOOL_ARGUMENTS))
    result = _first_given(attributes, _TOOL_RESULTS)
    if result is not None:
        inner = unwrapped(result)
        if type(inner) is dict and type(inner.get("type")) is str and "value" in inner:
            inner = inner["value"]
        span.tool_result = scalar_text(inner if type(inner) is str else result)


def _once_decoded(value: Any) -> Any:
    if type(value) is str and value[:1] != '"':
        return value  # one string, or JSON of an object or list: as it stands
    inner = unwrapped(value)
    return inner if type(inner) is str else value


def _metadata(attributes: Attributes, resource: Attributes | None) -> dict[str, str]:
    metadata = {}
    service = (resource or {}).get("service.name")
    if type(service) is str:
        metadata["service.name"] = service
    for key, value in attributes.items():
        if key.startswith(_CONTENT) or value is None:
            continue
        if type(value) is str:
            metadata[key] = bounded(value, _MAX_ATTRIBUTE)
        elif type(value) in (int, float, bool):
            metadata[key] = scalar_text(value) or ""
    return metadata


def _usage(attributes: Attributes) -> Usage | None:
    inputs, outputs = _count(attributes, _INPUT_COUNTS), _count(attributes, _OUTPUT_COUNTS)
    cached, reasoning = _count(attributes, _CACHED_COUNTS), _count(attributes, _REASONING_COUNTS)
    money = next((cost(attributes[key]) for key in _COSTS if key in attributes), None)
    if inputs is None and outputs is None and cached is None and reasoning is None and money is None:
        if "mlflow.chat.tokenUsage" not in attributes:
            return None
        counted = usage_of(dict_of(unwrapped(attributes["mlflow.chat.tokenUsage"])))
        return counted if counted != Usage() else None
    return Usage(inputs, outputs, cached, reasoning, money)


def _count(attributes: Attributes, keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            return integer(value)
    return None


def _finish(attributes: Attributes) -> str | None:
    reasons = unwrapped(attributes.get("gen_ai.response.finish_reasons") or attributes.get("ai.response.finishReason"))
    for reason in reasons if type(reasons) is list else [reasons]:
        if type(reason) is str and reason.lower().replace("-", "_") in ("length", "max_tokens", "content_filter"):
            return "limit"
    return None


def _add_input(attributes: Attributes, events: list[Any], talk: Conversation) -> bool:
    flat = _flat_messages(attributes, "llm.input_messages.", "gen_ai.prompt.")
    if flat:
        return normalise_messages(flat, talk) > 0
    system = attributes.get("gen_ai.system_instructions")
    if system:
        talk.say("system", text_of(unwrapped(_unquoted(system)), talk))
    for key in _INPUTS:
        value = attributes.get(key)
        if value is not None and value != "":
            return add_input(_as_messages(value), talk)
    return _add_events(events, talk, answers=False)


def _add_output(attributes: Attributes, events: list[Any], talk: Conversation) -> bool:
    flat = _flat_messages(attributes, "llm.output_messages.", "gen_ai.completion.")
    if flat:
        return normalise_messages([{"role": "assistant", **message} for message in flat], talk) > 0
    text, calls = attributes.get("ai.response.text"), unwrapped(attributes.get("ai.response.toolCalls"))
    if text is not None or calls:
        message = {"role": "assistant", "content": text or None, "tool_calls": calls if type(calls) is list else None}
        return normalise_messages([message], talk) > 0
    if attributes.get("ai.response.object") is not None:
        talk.say("assistant", scalar_text(attributes["ai.response.object"]))
        return True
    for key in _OUTPUTS:
        value = attributes.get(key)
        if value is not None and value != "":
            return add_output(_as_messages(value), talk)
    return _add_events(events, talk, answers=True)


def _as_messages(value: Any) -> Any:
    """A value, with `{parts}` that lacks a role, and Vercel's `{prompt, system}`, left to the readers of model calls."""
    inner = unwrapped(_unquoted(value))
    return inner if inner is not None else value


def _unquoted(value: Any) -> Any:
    """A string that is itself a JSON string, decoded."""
    if type(value) is str and len(value) > 1 and value[0] == '"' and value[-1] == '"':
        inner = unwrapped(value)
        return inner if inner is not None else value
    return value


def _flat_messages(attributes: Attributes, *prefixes: str) -> list[dict[str, Any]]:
    if "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes:
        return []
    for prefix in prefixes:
        if prefix[:-1] in attributes and prefix.startswith("llm."):
            whole = unwrapped(attributes[prefix[:-1]])
            if type(whole) is list and whole:
                return [_flat_message(dict_of(item)) for item in whole]
        start = len(prefix)
        tree: dict[str, Any] = {}
        for key, value in attributes.items():
            if key.startswith(prefix) and value is not None:
                steps = key[start:].split(".")
                if len(steps) == 3 and type(message := tree.get(steps[0])) is dict:
                    inner = message.get(steps[1])
                    if type(inner) is dict:
                        inner[steps[2]] = value
                        continue
                _put(tree, steps, value)
        if tree:
            ordered = _as_list(tree)
            if ordered:
                return [_flat_message(dict_of(item)) for item in ordered]
    return []


def _put(tree: dict[str, Any], steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        inner = tree.get(step)
        if type(inner) is not dict:
            inner = tree[step] = {}
        tree = inner
    tree[steps[-1]] = value


def _as_list(tree: Any) -> list[Any]:
    if type(tree) is list:
        return tree
    if type(tree) is not dict:
        return []
    return [tree[key] for key in sorted((key for key in tree if key.isdigit()), key=int)]


def _flat_message(item: dict[str, Any]) -> dict[str, Any]:
    """An OpenInference or OpenLLMetry message, un-flattened, as an OpenAI message."""
    plain = item.get("message") if len(item) == 1 else None
    if type(plain) is dict and len(plain) == 2 and "content" in plain and plain.get("role"):
        return {"role": plain["role"], "content": plain["content"], "tool_calls": []}
    body = {**item, **dict_of(item.get("message"))}
    body.update({key[8:]: value for key, value in item.items() if key.startswith("message.")})
    message: dict[str, Any] = {"role": body.get("role") or "user", "content": body.get("content")}
    contents = []
    for part in _as_list(body.get("contents")):
        inner = dict_of(dict_of(part).get("message_content")) or {
            key.removeprefix("message_content."): value for key, value in dict_of(part).items()
        }
        contents.append(inner)
    if contents and not message["content"]:
        message["content"] = contents
    calls = []
    for call in _as_list(body.get("tool_calls")):
        inner = dict_of(dict_of(call).get("tool_call")) or {
            key.removeprefix("tool_call."): value for key, value in dict_of(call).items()
        }
        function = dict_of(inner.get("function")) or inner
        name = function.get("name") or inner.get("function.name")
        arguments = function.get("arguments") if "arguments" in function else inner.get("function.arguments")
        calls.append({"id": inner.get("id"), "function": {"name": name, "arguments": arguments}})
    if not calls and body.get("function_call_name"):
        calls.append(
            {"function": {"name": body["function_call_name"], "arguments": body.get("function_call_arguments_json")}}
        )
    message["tool_calls"] = calls
    for key in ("tool_call_id", "name"):
        if body.get(key):
            message[key] = body[key]
    return message


def _add_events(events: list[Any], talk: Conversation, answers: bool) -> bool:
    """Messages in span events (older GenAI conventions), and the newer single event with all details."""
    messages: list[dict[str, Any]] = []
    for event in events:
        name, body = event.get("name"), dict_of(event.get("attributes"))
        if name == "gen_ai.client.inference.operation.details":
            value = body.get("gen_ai.output.messages" if answers else "gen_ai.input.messages")
            if value is not None:
                return (add_output if answers else add_input)(value, talk)
        elif name == "gen_ai.choice" and answers:
            message = unwrapped(body.get("message"))
            inner = message if type(message) is dict else {"content": body.get("content") or message}
            calls = unwrapped(inner.get("tool_calls") or body.get("tool_calls"))
            messages.append({"role": "assistant", "content": inner.get("content"), "tool_calls": list_of(calls)})
        elif name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            key = "gen_ai.completion" if answers else "gen_ai.prompt"
            if body.get(key) is not None:
                return (add_output if answers else add_input)(body[key], talk)
        elif name in _MESSAGE_EVENTS and not answers:
            content = body.get("content", body.get("gen_ai.event.content"))
            calls = unwrapped(body.get("tool_calls"))
            messages.append(
                {
                    "role": _MESSAGE_EVENTS[name],
                    "content": content,
                    "tool_calls": list_of(calls),
                    "tool_call_id": body.get("id"),
                }
            )
    return normalise_messages(messages, talk) > 0


def _first_given(attributes: Attributes, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            return value
    return None


def _first(attributes: Attributes, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = attributes.get(key)
        if type(value) is str and value:
            return value
    return None
