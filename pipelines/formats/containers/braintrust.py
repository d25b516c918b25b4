"""Container `braintrust`: rows of logs and experiments (`root_span_id`, `span_attributes`); rows with `_is_merge` amend earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import metadata_of
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.key_in_text import KeyInText
from pipelines.formats.model_io import add_input, add_output, finish_of
from pipelines.formats.rows import reference_text
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.model import LLM, OTHER, TOOL, Span
from pipelines.formats.spans.wire import nanoseconds
from pipelines.formats.usage import usage_of
from pipelines.formats.values import dict_of, id_text, list_of, number, scalar_text, string_of
from schemas.reject import RejectReason

_KINDS = {"llm": LLM, "tool": TOOL}
_KEY = KeyInText((b"root_span_id",), id_text)
_UPDATES = "row_update_without_its_row"


class Braintrust(Container):
    """Braintrust rows."""

    name = "braintrust"
    grouping = "key"
    order = 200

    def detect(self, value: Any) -> str | None:
        """`root_span_id` beside `span_id` and `span_attributes` or `span_parents`."""
        if type(value) is dict and "root_span_id" in value and ("span_attributes" in value or "span_parents" in value):
            return "`root_span_id` beside `span_attributes`, as in Braintrust rows"
        return None

    def key(self, record: SourceRecord) -> str | None:
        """The root's span id."""
        return id_text(dict_of(record.value).get("root_span_id"))

    def key_of_line(self, line: bytes) -> str | None:
        """The root's span id, where the text tells it."""
        return _KEY.of_line(line)

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one root's rows."""
        result = Normalised()
        rows: dict[
            str, dict[str, Any]
        ] = {}  # by span; a second row of one span_id stands beside it, for `assemble` to tell
        first: dict[str, SourceRecord] = {}
        merged = 0
        for record in sorted(records, key=lambda item: bool(dict_of(item.value).get("_is_merge"))):
            value = dict_of(record.value)
            span_id = id_text(value.get("span_id"))
            if span_id is None or self.key(record) is None:
                detail = unknown_detail(value) if value else "the record is no row"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif span_id in rows and (value.get("_is_merge") or rows[span_id].get("id") == value.get("id")):
                _merge(rows[span_id], value)
                merged += 1
            else:
                place = span_id if span_id not in rows else f"{span_id} {len(rows)}"
                rows[place] = dict(value)
                first[place] = record
        if rows:
            made = assemble([_read(first[span_id], row) for span_id, row in rows.items()], self.name)
            if made.records_used:
                made.records_used += merged
            elif merged:
                made.skip(_UPDATES, merged)
            result.add(made)
        return result


def _merge(row: dict[str, Any], update: dict[str, Any]) -> None:
    for key, value in update.items():
        if type(value) is dict and type(row.get(key)) is dict:
            merged = dict(row[key])
            _merge(merged, value)
            row[key] = merged
        elif value is not None and key != "_is_merge":
            row[key] = value


def _read(record: SourceRecord, row: dict[str, Any]) -> Span:
    attributes = dict_of(row.get("span_attributes"))
    metrics = dict_of(row.get("metrics"))
    parents = list_of(row.get("span_parents"))
    error = row.get("error")
    kind = str(attributes.get("type") or row.get("type"))
    counter = attributes.get("exec_counter")
    span = Span(
        record,
        id_text(row.get("root_span_id")) or record.address,
        id_text(row.get("span_id")) or "",
        id_text(parents[0]) if parents else None,
        str(attributes.get("name") or row.get("name") or ""),
        _KINDS.get(kind, OTHER),
        nanoseconds(metrics.get("start") or row.get("created")),
        nanoseconds(metrics.get("end")),
        True if error else None,
        None,
        scalar_text(error) if error else None,
        order=f"{counter:012d}" if type(counter) is int else "",
    )
    given, answer = row.get("input"), row.get("output")
    span.add_input = lambda talk: add_input(given, talk)
    span.add_output = lambda talk: add_output(answer, talk)
    metadata = dict_of(row.get("metadata"))
    if span.kind == LLM:
        span.model = string_of(metadata.get("model"))
        span.usage = usage_of(
            {
                "prompt_tokens": metrics.get("prompt_tokens"),
                "completion_tokens": metrics.get("completion_tokens"),
                "cached_tokens": metrics.get("prompt_cached_tokens"),
                "reasoning_tokens": metrics.get("completion_reasoning_tokens"),
                "cost": metrics.get("estimated_cost"),
            }
        )
        span.finish = finish_of(answer if type(answer) is dict else {"choices": answer})
    elif span.kind == TOOL:
        span.tool_name, span.tool_arguments, span.tool_result = span.name, given, scalar_text(answer)
        span.tool_call_id = id_text(metadata.get("tool_call_id"))
    span.reference = reference_text(row.get("expected"))
    for name, value in dict_of(row.get("scores")).items():
        span.scores.append({"name": name, "value": number(value)})
    span.session = id_text(metadata.get("session_id")) or id_text(metadata.get("thread_id"))
    if not parents:
        span.metadata = metadata_of({"tags": row.get("tags") or None, "metadata": metadata})
    return span
