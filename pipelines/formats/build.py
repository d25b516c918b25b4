"""From a conversation and its record to one trajectory; metadata by one rule for all formats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.formats.container import SourceRecord, sub_ordinal
from pipelines.formats.dialects.conversation import NO_FINAL_TEXT, Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.values import parse_time
from pipelines.identity import trajectory_uid
from schemas.text import bounded
from schemas.trajectory import Trajectory, Usage

#: Longest metadata value made of a nested object or list, in characters.
MAX_NESTED_METADATA = 1_000

_NO_USAGE = Usage()


@dataclass(slots=True)
class Facts:
    """What a container knows of a trajectory beside its conversation. None is what the log does not say."""

    id: str | None = None
    group_id: str | None = None
    parent_id: str | None = None
    time: Any = None
    """As the log wrote it: ISO text or an epoch number."""
    input: str | None = None
    output: str | None = None
    output_rule: str | None = None
    """With `output` given, the rule that chose it; with None the conversation's rules choose."""
    reference: str | None = None
    usage: Usage = _NO_USAGE
    model: str | None = None
    agent: str | None = None
    outcome: str | None = None
    native_scores: list[Any] | None = None
    extra: dict[str, Any] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    turn_count: int | None = None
    size: int | None = None
    """Bytes of all records that went in; None for those of the one record."""


class Ordinals:
    """Numbers the trajectories that come of the same record, where several may begin in one."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int, int], int] = {}

    def of(self, record: SourceRecord) -> int:
        """0 for the first trajectory of a record, 1 for the next, and so on."""
        key = (record.uri, record.offset, record.ordinal)
        self._seen[key] = self._seen.get(key, -1) + 1
        return self._seen[key]


def trajectory(
    record: SourceRecord, source_format: str, conversation: Conversation, facts: Facts, ordinal: int = 0
) -> Trajectory:
    """The `ordinal`-th trajectory of a record (of the first of several, where they make one together)."""
    issues = list(record.issues)
    issues.extend(issue for issue in conversation.issues if issue not in issues)
    output, rule = facts.output, facts.output_rule
    if output is None:
        output, rule = conversation.final_output()
        if output is None:
            issues.append(NO_FINAL_TEXT)
    event_time: datetime | None = None
    if facts.time is not None:
        event_time, time_issue = parse_time(facts.time)
        if time_issue is not None:
            issues.append(time_issue)
    address = record.address
    return Trajectory(
        trajectory_uid(record.uri, record.offset, sub_ordinal(record.ordinal, ordinal)),
        facts.id or (f"{address}:{ordinal}" if ordinal else address),
        facts.group_id,
        facts.parent_id,
        record.uri,
        record.offset,
        source_format,
        event_time,
        facts.input if facts.input is not None else conversation.first_user_text(),
        output,
        rule,
        facts.reference,
        tuple(conversation.messages),
        tuple(conversation.calls),
        tuple(conversation.results),
        tuple(conversation.events),
        facts.usage,
        facts.model,
        facts.agent,
        facts.outcome,
        compact_json(facts.native_scores) if facts.native_scores else None,
        compact_json(facts.extra) if facts.extra else None,
        facts.metadata,
        tuple(issues),
        record.size if facts.size is None else facts.size,
        facts.turn_count,
    )


def metadata_of(
    record: Mapping[str, Any], left_out: Collection[str] = (), nested: str | None = "metadata"
) -> dict[str, str]:
    """Every entry of `record` that is not left out, as text, sorted by key.

    Strings as they are, other scalars as compact JSON, objects and lists as compact JSON of at most 1,000 characters; null is absent.
    The entries of an object under `nested` stand beside the record's own, which win where both have a key.
    """
    texts: dict[str, str] = {}
    if nested is not None:
        inner = record.get(nested)
        if type(inner) is dict:
            _add_texts(texts, inner.items())
    _add_texts(
        texts,
        (
            (key, value)
            for key, value in record.items()
            if key not in left_out and not (key == nested and type(value) is dict)
        ),
    )
    return texts if len(texts) < 2 else dict(sorted(texts.items()))


def _add_texts(texts: dict[str, str], entries: Iterable[tuple[str, Any]]) -> None:
    for key, value in entries:
        if type(value) is str:
            texts[key] = value
        elif value is not None:
            text = compact_json(value)
            texts[key] = bounded(text, MAX_NESTED_METADATA) if isinstance(value, (dict, list)) else text
