"""Container `weave`: calls of W&B Weave, one a row, grouped by trace.

Which calls are model calls is told by `attributes.kind` or by the op's name, as the integrations give it (`openai.chat.completions.create`).
A call's `summary.usage` holds the usage of all calls below it too, so that only a model call's own counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import metadata_of
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.model_io import add_input, add_output, finish_of
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.model import AGENT, LLM, OTHER, TOOL, Span
from pipelines.formats.spans.wire import nanoseconds
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, scalar_text, string_of, unwrapped
from schemas.reject import RejectReason

_KINDS = {"llm": LLM, "tool": TOOL, "agent": AGENT}
_MODEL_CALL = re.compile(
    r"(?:completions?\.(?:create|parse|complete|stream)|messages\.(?:create|stream)|responses\.(?:create|parse)|generate_content(?:_stream)?"
    r"|litellm\.a?completion|chat\.(?:complete|stream)(?:_async)?|\.converse(?:_stream)?|bedrock.*\.invoke)$",
    re.IGNORECASE,
)
_REFERENCE = "weave:///"


class Weave(Container):
    """Calls of W&B Weave."""

    name = "weave"
    grouping = "key"
    order = 185

    def detect(self, value: Any) -> str | None:
        """`op_name` beside `trace_id` and what a call was given or when it began."""
        if type(value) is not dict or type(value.get("op_name")) is not str or "trace_id" not in value:
            return None
        return "`op_name` beside `trace_id`, as in Weave calls" if "inputs" in value or "started_at" in value else None

    def key(self, record: SourceRecord) -> str | None:
        """The trace."""
        return id_text(dict_of(record.value).get("trace_id"))

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one trace's calls."""
        result = Normalised()
        spans: list[Span] = []
        for record in records:
            value = dict_of(record.value)
            if self.detect(record.value) is None:
                detail = unknown_detail(value) if value else "the record is no call"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            else:
                spans.append(_read(record, value))
        if spans:
            result.add(assemble(spans, self.name))
        return result


def _op(value: dict[str, Any]) -> str:
    """The op's own name, of a reference `weave:///entity/project/op/name:version` too."""
    name = str(value["op_name"])
    return name.rsplit("/", 1)[-1].split(":", 1)[0] if name.startswith(_REFERENCE) else name


def _kind(op: str, attributes: dict[str, Any]) -> str:
    told = attributes.get("kind") or dict_of(attributes.get("weave")).get("kind")
    if told in _KINDS:
        return _KINDS[str(told)]
    return LLM if _MODEL_CALL.search(op) else OTHER


def _read(record: SourceRecord, value: dict[str, Any]) -> Span:
    op, attributes = _op(value), dict_of(unwrapped(value.get("attributes")))
    error, ended = scalar_text(value.get("exception")), value.get("ended_at")
    span = Span(
        record,
        id_text(value.get("trace_id")) or record.address,
        id_text(value.get("id")) or "",
        id_text(value.get("parent_id")),
        string_of(value.get("display_name")) or op,
        _kind(op, attributes),
        nanoseconds(value.get("started_at")),
        nanoseconds(ended),
        True if error else False if ended is not None else None,
        None,
        error,
    )
    given, answer = unwrapped(value.get("inputs")), unwrapped(value.get("output"))
    if type(given) is dict:
        given = {key: item for key, item in given.items() if key != "self"}
    span.add_input = lambda talk: add_input(given, talk)
    span.add_output = lambda talk: add_output(answer, talk)
    span.session = id_text(value.get("thread_id")) or id_text(attributes.get("thread_id"))
    if span.kind == LLM:
        by_model = dict_of(dict_of(unwrapped(value.get("summary"))).get("usage"))
        span.model = (
            string_of(dict_of(answer).get("model"))
            or string_of(dict_of(given).get("model"))
            or next(iter(by_model), None)
        )
        span.usage = total_usage(usage_of(counts) for counts in by_model.values()) if by_model else None
        if span.usage is None and type(dict_of(answer).get("usage")) is dict:
            span.usage = usage_of(dict_of(answer)["usage"])
        span.finish = finish_of(answer)
    elif span.kind == TOOL:
        span.tool_name = op
        span.tool_arguments = given
        span.tool_result = scalar_text(answer)
    if span.parent_id is None:
        shown = {key: item for key, item in attributes.items() if key not in ("weave", "kind", "thread_id")}
        span.metadata = metadata_of(
            {**shown, "project_id": value.get("project_id"), "wb_user_id": value.get("wb_user_id")}
        )
    return span
