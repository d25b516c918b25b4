"""What went into a model call and what came out, in any provider's request and response shape, as messages.

Used by every container that holds calls: request/response pairs, spans, batch files.
"""

from __future__ import annotations

from typing import Any

from pipelines.formats.dialects import dialect_of, is_message, normalise_message, normalise_messages
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.values import dict_of, list_of, string_of, unwrapped

_LIMITS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "content_filter", "safety", "model_length", "recitation"}
)
_INPUT_WRAPPERS = ("request", "body", "inputs", "kwargs", "input", "args", "data")
_OUTPUT_WRAPPERS = ("response", "body", "outputs", "result", "output", "data", "raw_output", "value")
_OUTPUT_TEXTS = (
    "text",
    "completion",
    "output_text",
    "answer",
    "output",
    "response",
    "result",
    "content",
    "final_output",
)


def add_input(value: Any, talk: Conversation, role: str = "user") -> bool:
    """Append what a model call was given; False where nothing could be told from it."""
    value = unwrapped(value)
    if value is None or value in ("", [], {}):
        return False
    if type(value) is str:
        talk.say(role, value)
        return True
    if type(value) is list:
        return _add_list(value, talk, role)
    if type(value) is dict:
        return _add_request(value, talk, role)
    talk.say(role, compact_json(value))
    return True


def _add_list(items: list[Any], talk: Conversation, role: str) -> bool:
    if len(items) == 1 and type(unwrapped(items[0])) is list:
        return _add_list(unwrapped(items[0]), talk, role)
    if any(is_message(unwrapped(item)) for item in items):
        return normalise_messages(items, talk) > 0
    if all(type(item) is str for item in items):
        return normalise_messages([{"role": role, "content": item} for item in items], talk) > 0
    text = text_of(items, talk)
    if text is not None:
        talk.say(role, text)
    return text is not None


def _add_request(value: dict[str, Any], talk: Conversation, role: str) -> bool:
    config = dict_of(value.get("config") or value.get("generationConfig") or value.get("generation_config"))
    for key in ("system", "instructions", "systemInstruction", "system_instruction", "system_prompt"):
        system = unwrapped(value.get(key) or config.get(key))
        if system:
            parts = system.get("parts") if type(system) is dict and "parts" in system else system
            talk.say("system", text_of(parts, talk))
            break
    messages = unwrapped(value.get("messages"))
    if type(messages) is list and messages:
        return _add_list(messages, talk, role)
    contents = unwrapped(value.get("contents") or value.get("content") if "contents" in value else None)
    if contents:
        if type(contents) is dict:
            contents = [contents]
        return _add_list(contents, talk, role) if type(contents) is list else add_input(contents, talk, role)
    if is_message(value):
        return normalise_message(value, talk)
    for key in ("prompt", "input", "query", "question", "user_input", "user_message", "message"):
        inner = unwrapped(value.get(key))
        if inner and (type(inner) in (str, list) or (type(inner) is dict and _says_something(inner))):
            return add_input(inner, talk, role)
    for key in _INPUT_WRAPPERS:
        inner = unwrapped(value.get(key))
        if type(inner) is dict and _says_something(inner):
            return add_input(inner, talk, role)
    texts = [item for item in value.values() if type(item) is str]
    if len(value) == 1 and texts:
        talk.say(role, texts[0])
        return True
    talk.say(role, compact_json(value))
    return True


def _says_something(value: dict[str, Any]) -> bool:
    keys = (
        "messages",
        "contents",
        "prompt",
        "input",
        "query",
        "question",
        "instructions",
        "parts",
        "message",
        "content",
    )
    return any(value.get(key) for key in keys) or is_message(value)


def add_output(value: Any, talk: Conversation) -> bool:
    """Append what a model call answered (the first choice); False where nothing could be told from it."""
    value = unwrapped(value)
    if value is None or value in ("", [], {}):
        return False
    if type(value) is str:
        talk.say("assistant", value)
        return True
    if type(value) is list:
        return _add_output_list(value, talk)
    if type(value) is dict:
        return _add_response(value, talk)
    talk.say("assistant", compact_json(value))
    return True


def _add_output_list(items: list[Any], talk: Conversation) -> bool:
    if type(items[0]) is list and items[0]:
        return _add_output_list(items[0], talk)
    if any(is_message(unwrapped(item)) for item in items):
        spoken = [item for item in items if type(unwrapped(item)) is dict]
        return normalise_messages([_with_role(unwrapped(item)) for item in spoken], talk) > 0
    if type(items[0]) is dict and ("message" in items[0] or "delta" in items[0]):
        return _add_choices(items, talk)
    text = text_of(items, talk)
    if text is not None:
        talk.say("assistant", text)
    return text is not None


def _add_choices(choices: list[Any], talk: Conversation) -> bool:
    choice = dict_of(choices[0])
    message = choice.get("message")
    if type(message) is dict:
        return normalise_message(_with_role(message), talk)
    delta = dict_of(choice.get("delta"))
    text = choice.get("text") if type(choice.get("text")) is str else delta.get("content")
    talk.say("assistant", text if type(text) is str else None)
    return True


def _add_response(value: dict[str, Any], talk: Conversation) -> bool:
    for key in ("choices", "candidates", "generations"):
        items = unwrapped(value.get(key))
        if type(items) is list and items:
            return _add_candidates(items, talk, key)
    output = unwrapped(value.get("output"))
    if type(output) is list and output and any(is_message(item) for item in output):
        return normalise_messages(output, talk) > 0
    if type(output) is dict and type(output.get("message")) is dict:
        return normalise_message(_with_role(output["message"]), talk)
    if is_message(_with_role(value)) and (
        "content" in value or "tool_calls" in value or "parts" in value or "kwargs" in value
    ):
        return normalise_message(_with_role(value), talk)
    messages = unwrapped(value.get("messages"))
    if type(messages) is list and messages:
        return normalise_messages(messages, talk) > 0
    message = unwrapped(value.get("message"))
    if type(message) is dict:
        return add_output(message, talk)
    for key in _OUTPUT_WRAPPERS:
        inner = unwrapped(value.get(key))
        if type(inner) is dict and inner:
            return _add_response(inner, talk)
        if type(inner) is list and inner and any(is_message(unwrapped(item)) for item in inner):
            return _add_output_list(inner, talk)
    calls = value.get("tool_calls") or value.get("toolCalls")
    for key in _OUTPUT_TEXTS:
        if type(value.get(key)) is str:
            return normalise_message({"role": "assistant", "content": value[key], "tool_calls": calls}, talk)
    if calls:
        return normalise_message({"role": "assistant", "content": None, "tool_calls": calls}, talk)
    if type(value.get("message")) is str:
        talk.say("assistant", value["message"])
        return True
    talk.say("assistant", compact_json(value))
    return True


def _add_candidates(items: list[Any], talk: Conversation, key: str) -> bool:
    first = items[0][0] if type(items[0]) is list and items[0] else items[0]
    body = dict_of(first)
    if key == "choices":
        return _add_choices([body], talk)
    if key == "candidates":
        content = body.get("content")
        if type(content) is dict:
            return normalise_message(
                {"role": "model", **content} if content.get("role") else {**content, "role": "model"}, talk
            )
        talk.say("assistant", text_of(content, talk))
        return True
    message = body.get("message")
    if type(message) is dict:
        return normalise_message(_with_role(message), talk)
    talk.say("assistant", string_of(body.get("text")))
    return True


def _with_role(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("role"):
        return message
    if dialect_of(message) in ("openai_responses", "langchain", "sharegpt"):
        return message
    return {**message, "role": "assistant"}


def finish_of(value: Any) -> str | None:
    """`limit` where a response says that it was cut by a limit or filter, `error` where it failed, None otherwise."""
    body = dict_of(unwrapped(value))
    if not body:
        return None
    reasons: list[Any] = [
        body.get("finish_reason"),
        body.get("stop_reason"),
        body.get("stopReason"),
        body.get("finishReason"),
    ]
    for choice in [*list_of(body.get("choices")), *list_of(body.get("candidates"))]:
        reasons += [dict_of(choice).get("finish_reason"), dict_of(choice).get("finishReason")]
    reasons.append(dict_of(body.get("incomplete_details")).get("reason"))
    for reason in reasons:
        if isinstance(reason, str) and reason.lower() in _LIMITS:
            return "limit"
    if body.get("status") in ("failed", "cancelled") or body.get("type") == "error":
        return "error"
    return None
