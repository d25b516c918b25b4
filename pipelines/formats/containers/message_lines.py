"""Container `message_lines`: one message a record. A conversation is what shares a conversation's id, else the whole file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.messages import GROUP_KEYS, MODEL_KEYS, TIME_KEYS
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import is_message, normalise_message
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.text_actions import has_shell_answers, with_shell_calls
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import first_id, integer, string_of
from schemas.reject import RejectReason

_KEYS = (*GROUP_KEYS, "test_id", "trace_id", "dialog_id", "chat_id", "run_id")
_MESSAGE_KEYS = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "function_call", "text", "parts", "name", "id", "type", "from", "value",
     "refusal", "usage", "message_index", "timestamp", "annotations", "audio", "kwargs", "lc", "data", "output", "status"}
)  # fmt: skip


class MessageLines(Container):
    """Single messages."""

    name = "message_lines"
    grouping = "key"
    order = 920

    def detect(self, value: Any) -> str | None:
        """A message of a known dialect."""
        if type(value) is dict and is_message(value):
            return "each record is one message"
        return None

    def key(self, record: SourceRecord) -> str | None:
        """The conversation's id (with its target, where one test ran on several), else the file."""
        if type(record.value) is not dict:
            return None
        found, key = first_id(record.value, _KEYS)
        target = string_of(record.value.get("target")) or ""
        return f"file {record.uri}" if found is None else f"{key} {found} {target}"

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectory of the messages with one key, in their order."""
        result = Normalised()
        talk = Conversation()
        used: list[SourceRecord] = []
        for record in sorted(records, key=_place):
            if self.detect(record.value) is None or not normalise_message(record.value, talk):
                detail = unknown_detail(record.value) if type(record.value) is dict else "the record is no message"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            else:
                used.append(record)
        if not used:
            return result
        if has_shell_answers(talk):
            talk = with_shell_calls(talk)
        first = used[0].value
        facts = Facts()
        facts.id, _ = first_id(first, _KEYS)
        facts.group_id = facts.id
        facts.time = next((first[key] for key in TIME_KEYS if first.get(key) is not None), None)
        facts.model = next(
            (string_of(record.value.get(key)) for record in used for key in MODEL_KEYS if record.value.get(key)), None
        )
        facts.usage = total_usage(usage_of(record.value.get("usage")) for record in used)
        facts.metadata = metadata_of(first, {*_MESSAGE_KEYS, *_KEYS, *TIME_KEYS, *MODEL_KEYS})
        facts.size = sum(record.size for record in used)
        result.trajectories.append(trajectory(used[0], self.name, talk, facts))
        result.records_used += len(used)
        return result


def _place(record: SourceRecord) -> tuple[str, int, int, int]:
    index = integer(record.value.get("message_index")) if type(record.value) is dict else None
    return record.uri, index or 0, record.offset, record.ordinal
