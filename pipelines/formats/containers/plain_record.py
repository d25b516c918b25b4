"""Container `record`: the plain records that `graders.evaluate` takes, one a line, with the same meaning there and here.

- Every key is one of `KEYS`, and what other formats do not carry is there: `events`, `metrics`, or an `output` that stands
  alone (with `messages` beside it, the format `messages` reads the record, unless they are empty).
- `graders.record.to_trajectory` says what becomes of the keys. What it refuses is a reject `adapter_error`.
- **id** is the record's `id`, else its address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from graders.record import to_trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.identity import trajectory_uid
from schemas.reject import RejectReason

KEYS = frozenset(
    {
        "messages",
        "output",
        "reference",
        "input",
        "events",
        "metrics",
        "metadata",
        "context",
        "id",
        "model",
        "agent",
        "outcome",
    }
)
#: Names that the graders of budgets look for; a chat log's `metrics` may be anything else.
METRICS = frozenset({"totalTokens", "tokenUsage", "toolCallCount", "errorCount", "wallTimeMs", "turnCount"})


class PlainRecord(Container):
    """Plain records, as `graders.evaluate` takes them: `output`, `messages`, `events`, `metrics`, `reference`."""

    name = "record"
    order = 850

    def detect(self, value: Any) -> str | None:
        """Only known keys, and among them what no other format carries."""
        if type(value) is not dict or not value.keys() <= KEYS:
            return None
        metrics = value.get("metrics")
        if type(metrics) is dict and (not value.get("messages") or metrics.keys() & METRICS):
            return "`metrics` beside the keys of a plain record"
        events = value.get("events")
        if type(events) is list and all(type(event) is dict and type(event.get("type")) is str for event in events):
            return "`events` with types beside the keys of a plain record"
        if "output" in value and not value.get("messages") and not value.keys() & {"input", "reference"}:
            return "`output` and nothing but the keys of a plain record"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a record."""
        result = Normalised()
        for record in records:
            try:
                trajectory = to_trajectory(record.value)
            except TypeError as error:
                is_object = type(record.value) is dict
                reason = RejectReason.UNKNOWN_FORMAT if is_object else RejectReason.NOT_AN_OBJECT
                result.rejects.append(reject(record, reason, str(error), self.name))
                continue
            result.trajectories.append(
                replace(
                    trajectory,
                    trajectory_uid=trajectory_uid(record.uri, record.offset, record.ordinal),
                    trajectory_id=trajectory.trajectory_id or record.address,
                    source_uri=record.uri,
                    source_offset=record.offset,
                    source_format=self.name,
                    issues=(*trajectory.issues, *record.issues),
                    bytes=record.size,
                )
            )
            result.records_used += 1
        return result
