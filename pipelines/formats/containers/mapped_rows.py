"""Container `mapped_rows`: rows of the user's own, read by `input.fields`: canonical name → path.

`fields: {output: $.answer, reference: $.gold, id: $.meta.id, metadata.tenant: $.customer}`. A path may go through JSON strings. What no
path reads is metadata, by the rule of all formats. A row in which none of `messages`, `input` and `output` is there is a reject `missing_field`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graders.errors import ConfigError, Problem
from pipelines.formats.build import Facts, metadata_of
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.paths import Path, look_up, parse_path
from pipelines.formats.rows import reference_text, row_trajectory
from pipelines.formats.usage import RECORD_USAGE_KEYS, record_usage
from pipelines.formats.values import id_text, integer, scalar_text, unwrapped
from schemas.reject import RejectReason

#: What a path can be given for, beside `metadata.<name>`.
FIELD_NAMES = (
    "id",
    "group_id",
    "parent_id",
    "event_time",
    "system",
    "input",
    "output",
    "reference",
    "messages",
    "model",
    "agent",
    "outcome",
    "usage",
    "latency_ms",
    "reference_tool_calls",
)
_METADATA = "metadata."


class MappedRows(Container):
    """Rows read through a mapping of paths. Never detected: the suite names it by giving `fields`."""

    name = "mapped_rows"
    order = 2_000

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        problems = []
        self.paths: dict[str, Path] = {}
        for name, text in (fields or {}).items():
            if name not in FIELD_NAMES and not name.startswith(_METADATA):
                known = ", ".join(FIELD_NAMES)
                problems.append(
                    Problem(("input", "fields", name), f"no such field; there are {known} and metadata.<name>")
                )
                continue
            try:
                self.paths[name] = parse_path(text)
            except ValueError as error:
                problems.append(Problem(("input", "fields", name), str(error)))
        if not problems and not {"messages", "input", "output"} & set(self.paths):
            problems.append(Problem(("input", "fields"), "a mapping needs at least one of messages, input and output"))
        if problems:
            raise ConfigError(problems)
        self.left_out = frozenset(
            {str(path[0]) for path in self.paths.values()} | set(RECORD_USAGE_KEYS) | {"usage", "latency_ms"}
        )

    def detect(self, value: Any) -> str | None:
        """Never: a mapping is given, not found."""
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a row."""
        result = Normalised()
        for record in records:
            if type(record.value) is not dict:
                detail = "a mapped row must be an object"
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, detail, self.name))
                continue
            found = {name: look_up(record.value, path) for name, path in self.paths.items()}
            made = row_trajectory(
                record,
                self.name,
                self._facts(record.value, found),
                found.get("input"),
                found.get("output"),
                found.get("messages"),
                found.get("system"),
            )
            if made is None:
                missing = ", ".join(name for name in ("messages", "input", "output") if name in self.paths)
                keys = ", ".join(f"`{key}`" for key in list(record.value)[:10])
                detail = f"nothing at the paths of {missing}; the row has the keys {keys or '(none)'}"
                result.rejects.append(reject(record, RejectReason.MISSING_FIELD, detail, self.name))
            else:
                result.trajectories.append(made)
                result.records_used += 1
        return result

    def _facts(self, row: dict[str, Any], found: dict[str, Any]) -> Facts:
        usage_source = found.get("usage")
        facts = Facts(
            id=id_text(found.get("id")),
            group_id=id_text(found.get("group_id")),
            parent_id=id_text(found.get("parent_id")),
            time=found.get("event_time"),
            reference=reference_text(found.get("reference")),
            usage=record_usage({"usage": usage_source, "latency_ms": integer(found.get("latency_ms"))})
            if usage_source is not None or "latency_ms" in self.paths
            else record_usage(row),
            model=scalar_text(found.get("model")),
            agent=scalar_text(found.get("agent")),
            outcome=scalar_text(found.get("outcome")),
        )
        calls = unwrapped(found.get("reference_tool_calls"))
        if type(calls) is list:
            facts.extra = {"reference_tool_calls": calls}
        metadata = metadata_of(row, self.left_out)
        for name, value in found.items():
            if name.startswith(_METADATA) and value is not None:
                metadata[name[len(_METADATA) :]] = scalar_text(value) or ""
        facts.metadata = dict(sorted(metadata.items()))
        return facts
