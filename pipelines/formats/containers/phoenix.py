"""Container `phoenix`: spans of Arize Phoenix, as JSON (`context`, `span_kind`, dotted `attributes`) or data frame rows (`attributes.*` columns)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.formats.container import Container, Normalised, SourceRecord, piece, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.key_in_text import KeyInText
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.attributes import span_of
from pipelines.formats.spans.model import Span
from pipelines.formats.spans.wire import nanoseconds, status_of
from pipelines.formats.values import dict_of, id_text, list_of, unwrapped
from schemas.reject import RejectReason

_KEY = KeyInText((b"trace_id",), id_text)


class Phoenix(Container):
    """Phoenix spans."""

    name = "phoenix"
    grouping = "key"
    order = 210

    def detect(self, value: Any) -> str | None:
        """`span_kind` beside a context, or the columns of Phoenix's data frame."""
        if type(value) is not dict:
            return None
        if _is_span(value):
            return "`span_kind` beside a span context"
        if any(_is_span(item) for item in _inner(value)[:3]):
            return "lists of spans with `span_kind` and a context"
        return None

    def pieces(self, record: SourceRecord) -> Iterable[SourceRecord]:
        """The spans inside, where a record holds lists of them."""
        if type(record.value) is not dict or _is_span(record.value):
            return (record,)
        inner = [item for item in _inner(record.value) if _is_span(item)]
        if not inner:
            return (record,)
        return [piece(record, index, len(inner), value) for index, value in enumerate(inner)]

    def key(self, record: SourceRecord) -> str | None:
        """The trace."""
        return _ids(dict_of(record.value))[0]

    def key_of_line(self, line: bytes) -> str | None:
        """The trace, where the text tells it."""
        return _KEY.of_line(line)

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one trace's spans."""
        result = Normalised()
        spans: list[Span] = []
        for record in self.expanded(records):
            value = record.value
            if _is_span(value):
                spans.append(_read(record, value))
            else:
                detail = unknown_detail(value) if type(value) is dict else "the record is no span"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
        if spans:
            result.add(assemble(spans, self.name))
        return result


def _is_span(value: Any) -> bool:
    return type(value) is dict and "span_kind" in value and _ids(value)[0] is not None


def _inner(value: dict[str, Any]) -> list[Any]:
    lists = [item for item in value.values() if type(item) is list]
    return [item for items in lists for item in items]


def _ids(value: dict[str, Any]) -> tuple[str | None, str | None]:
    context = dict_of(unwrapped(value.get("context")))
    trace = id_text(context.get("trace_id")) or id_text(value.get("context.trace_id"))
    span = id_text(context.get("span_id")) or id_text(value.get("context.span_id"))
    return trace, span


def _read(record: SourceRecord, value: dict[str, Any]) -> Span:
    trace_id, span_id = _ids(value)
    attributes: dict[str, Any] = {"openinference.span.kind": value["span_kind"]}
    _flatten(dict_of(unwrapped(value.get("attributes"))), "", attributes)
    for key, item in value.items():
        if key.startswith("attributes.") and item is not None:
            attributes[key[11:]] = item
    status = {"code": value.get("status_code"), "message": value.get("status_message")}
    events = [event for event in list_of(unwrapped(value.get("events"))) if type(event) is dict]
    span = span_of(
        record,
        trace_id or record.address,
        span_id or "",
        id_text(value.get("parent_id")),
        str(value.get("name") or ""),
        nanoseconds(value.get("start_time")),
        nanoseconds(value.get("end_time")),
        status_of(status),
        attributes,
        events,
    )
    for note in list_of(unwrapped(value.get("annotations"))):
        if type(note) is dict and note.get("name"):
            span.scores.append({"name": note["name"], **dict_of(note.get("result"))})
    return span


def _flatten(value: dict[str, Any], prefix: str, into: dict[str, Any]) -> None:
    """Nested attribute objects as dotted keys; lists stay."""
    for key, item in value.items():
        if type(item) is dict and item:
            _flatten(item, f"{prefix}{key}.", into)
        elif item is not None:
            into[f"{prefix}{key}"] = item
