"""Container `messages`: one record is one conversation, under `messages`, `conversations` or `conversation`, or a bare list.

The rules, exactly (an Arrow fast path for plain records must give the same trajectories):

- **Conversation**: the first of `messages`, `conversations`, `conversation` that is a list, or a string that holds a JSON list. An empty
  or missing one is a reject `no_messages`. A list of lists is one trajectory a list. Text under `system` is a system message before it.
- **id**: the first of `ID_KEYS` that is a non-empty string or an integer, else `metadata.id`, else the record's address. **group**,
  **parent**: likewise of `GROUP_KEYS`, `PARENT_KEYS`. An id's key may also give the group.
- **time**: the first of `TIME_KEYS` that is a non-empty string or a number.
- **model**, **agent**: the first of `MODEL_KEYS`, `AGENT_KEYS` that is a non-empty string.
- **input**: the first of `INPUT_KEYS` that is a string, else the first user message that is the user's own and not blank.
- **output**: the first of `OUTPUT_KEYS` that is a string (also ""; rule `field`); else the last assistant message that is its own, not blank
  and calls no tool (`last_assistant_message`); else the last that is its own and not blank (`last_assistant_text`); else None with the
  issue `no_final_text`.
- **reference**: the first of `REFERENCE_KEYS` that is neither null nor a boolean: text as it is, anything else as compact JSON.
- **usage**: the object `usage`, else the record's own counts (`pipelines.formats.usage.RECORD_USAGE_KEYS`); cost and latency
  (`latency_ms`, `duration_ms`, `latency_sec`) also of the record.
- **outcome**: `error` where the record's `error` is set (its text is an `error` event), `limit` where `finish_reason` is `length` or
  `content_filter`; else None.
- **metadata**: every other top-level entry except `NOT_METADATA`, and the entries of an object `metadata`; an entry that gave one of the
  fields above is left out, one that did not (an earlier key had it) stays. Text as it is, other scalars as compact JSON, objects and lists as
  compact JSON of at most 1,000 characters, nulls left out, sorted by key.
- **A message**: role by `dialects.conversation.ROLES` (unknown: `system` with the issue `unknown_role`); text is `content` where that is
  text or null (then `refusal`, if there is one); `name` as it stands. `role: tool` also makes a tool result with its `tool_call_id`, `name` and
  `is_error` (`is_error`, `success`, `error`, `status`, in this order; None where none is there).
- **A tool call**: id, name, and the arguments' text as written (an object as compact JSON, null as ""). Only calls with neither id nor
  answer by id need the slow path: they get `call_<message>` (`call_<message>_<n>` from the second on) and are answered by name and order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import is_message, normalise_messages
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import FIELD, Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.usage import RECORD_USAGE_KEYS, record_usage
from pipelines.formats.values import dict_of, first_id, unwrapped
from schemas.reject import RejectReason
from schemas.trajectory import Event

CONVERSATION_KEYS = ("messages", "conversations", "conversation")
ID_KEYS = (
    "id",
    "trajectory_id",
    "trace_id",
    "conversation_id",
    "conversation_hash",
    "instance_id",
    "traj_id",
    "uuid",
)
GROUP_KEYS = ("group_id", "session_id", "sessionId", "conversation_id", "thread_id")
PARENT_KEYS = ("parent_id", "parent_trajectory_id")
TIME_KEYS = ("timestamp", "created", "created_at", "createdAt", "event_time", "time", "date")
MODEL_KEYS = ("model", "model_name", "model_id")
AGENT_KEYS = ("agent", "agent_name")
INPUT_KEYS = ("input", "prompt", "question", "query")
OUTPUT_KEYS = ("output", "response", "completion", "final_output")
REFERENCE_KEYS = ("reference", "expected", "expected_output", "target", "ideal", "answer", "ground_truth")
LATENCY_KEYS = ("latency_ms", "duration_ms", "latency_sec")
NOT_METADATA = frozenset(
    {
        *CONVERSATION_KEYS,
        *RECORD_USAGE_KEYS,
        *LATENCY_KEYS,
        "usage",
        "error",
        "finish_reason",
        "tools",
        "functions",
        "system",
        "tool_definitions",
    }
)
_LIMITS = frozenset({"length", "content_filter", "max_tokens"})


class Messages(Container):
    """Records that hold a conversation."""

    name = "messages"
    order = 900

    def detect(self, value: Any) -> str | None:
        """A list of messages under one of the conversation's keys, or a bare one."""
        if type(value) is list:
            return "a list of messages" if value and is_message(value[0]) else None
        if type(value) is not dict:
            return None
        for key in CONVERSATION_KEYS:
            items = unwrapped(value.get(key))
            if type(items) is list and (not items or _starts_conversation(items)):
                return f"`{key}` is a list of messages"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a record (one a list, where a record holds several)."""
        result = Normalised()
        for record in records:
            _add(record, self.name, result)
        return result


def conversation_of(value: Mapping[str, Any]) -> list[Any] | None:
    """The list of messages that a record holds, or None."""
    for key in CONVERSATION_KEYS:
        items = value.get(key)
        if type(items) is str:
            items = unwrapped(items)
        if type(items) is list:
            return items
    return None


def facts_of(value: Mapping[str, Any], conversation: Conversation) -> Facts:
    """What the record's own keys say, by the rules of this module; adds the events of its `error`."""
    facts = Facts(usage=record_usage(value))
    used: set[str] = set()
    facts.id, key = first_id(value, ID_KEYS)
    if key is not None:
        used.add(key)
    else:
        facts.id, _ = first_id(dict_of(value.get("metadata")), ("id",))
    facts.group_id, key = first_id(value, GROUP_KEYS)
    if key is not None:
        used.add(key)
    facts.parent_id, key = first_id(value, PARENT_KEYS)
    if key is not None:
        used.add(key)
    facts.time = _first(value, TIME_KEYS, used, _is_time)
    facts.model = _first(value, MODEL_KEYS, used, _is_name)
    facts.agent = _first(value, AGENT_KEYS, used, _is_name)
    facts.input = _first(value, INPUT_KEYS, used, _is_text)
    facts.output = _first(value, OUTPUT_KEYS, used, _is_text)
    if facts.output is not None:
        facts.output_rule = FIELD
    reference = _first(value, REFERENCE_KEYS, used, _is_reference)
    if reference is not None:
        facts.reference = reference if type(reference) is str else compact_json(reference)
    error = value.get("error")
    if error:
        facts.outcome = "error"
        conversation.events.append(error_event(error))
    elif type(value.get("finish_reason")) is str and value["finish_reason"] in _LIMITS:
        facts.outcome = "limit"
    facts.metadata = metadata_of(
        {key: item for key, item in value.items() if key not in used and key not in NOT_METADATA}
    )
    return facts


def error_event(error: Any) -> Event:
    """An `error` event of whatever a log put under `error`."""
    if type(error) is str:
        return Event("error", None, error)
    body = dict_of(error)
    text = body.get("message")
    name = next((body[key] for key in ("type", "code", "name") if type(body.get(key)) is str), None)
    return Event("error", name, text if type(text) is str else None, compact_json(error))


def _add(record: SourceRecord, source_format: str, result: Normalised) -> None:
    value = record.value
    if type(value) is list and value and is_message(value[0]):
        value = {"messages": value}
    if type(value) is not dict:
        result.rejects.append(reject(record, *_not_a_record(value), source_format))
        return
    items = conversation_of(value)
    if not items:
        what = "the list of messages is empty" if items is not None else _no_conversation(value)
        reason = RejectReason.NO_MESSAGES if items is not None or _has_key(value) else RejectReason.UNKNOWN_FORMAT
        result.rejects.append(reject(record, reason, what, source_format))
        return
    several = all(type(item) is list for item in items)
    added = 0
    for ordinal, messages in enumerate(items if several else [items]):
        conversation = Conversation()
        system = text_of(value.get("system"), conversation)
        if system:
            conversation.say("system", system)
        if normalise_messages(messages, conversation):
            facts = facts_of(value, conversation)
            if several and ordinal and facts.id is not None:
                facts.id = f"{facts.id}#{ordinal}"
            result.trajectories.append(trajectory(record, source_format, conversation, facts, ordinal))
            added += 1
    if added:
        result.records_used += 1
    else:
        detail = "no entry of the list of messages is a message of a known dialect"
        result.rejects.append(reject(record, RejectReason.NO_MESSAGES, detail, source_format))


def _first(value: Mapping[str, Any], keys: Sequence[str], used: set[str], fits: Any) -> Any:
    for key in keys:
        if key in value:
            found = value[key]
            if fits(found):
                used.add(key)
                return found
    return None


def _is_time(value: Any) -> bool:
    return (type(value) is str and value != "") or type(value) in (int, float) or hasattr(value, "tzinfo")


def _is_name(value: Any) -> bool:
    return type(value) is str and value != ""


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_reference(value: Any) -> bool:
    return value is not None and type(value) is not bool


def _starts_conversation(items: list[Any]) -> bool:
    first = items[0]
    if type(first) is list:
        return bool(first) and is_message(first[0])
    return is_message(first)


def _has_key(value: Mapping[str, Any]) -> bool:
    return any(key in value for key in CONVERSATION_KEYS)


def _no_conversation(value: dict[str, Any]) -> str:
    if _has_key(value):
        return "the list of messages is null or not a list"
    return unknown_detail(value)


def _not_a_record(value: Any) -> tuple[RejectReason, str]:
    kinds = {type(None): "null", str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return RejectReason.NOT_AN_OBJECT, f"the record is {kinds.get(type(value), 'no object')}, not an object"
