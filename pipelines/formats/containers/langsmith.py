"""Container `langsmith`: runs, one a row or in `post`/`patch` bodies; the halves of one run are merged by id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.formats.build import metadata_of
from pipelines.formats.container import Container, Normalised, SourceRecord, piece, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.model_io import add_input, add_output, finish_of
from pipelines.formats.rows import reference_text
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.model import AGENT, LLM, OTHER, TOOL, Span
from pipelines.formats.spans.wire import nanoseconds
from pipelines.formats.usage import usage_of
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, scalar_text, string_of, unwrapped
from schemas.reject import RejectReason
from schemas.trajectory import Usage

_KINDS = {"llm": LLM, "tool": TOOL, "agent": AGENT}
_SESSIONS = ("thread_id", "session_id", "conversation_id")


class LangSmith(Container):
    """LangSmith runs."""

    name = "langsmith"
    grouping = "key"
    order = 180

    def detect(self, value: Any) -> str | None:
        """`run_type` with a trace, or lists `post` and `patch`."""
        if type(value) is not dict:
            return None
        if type(value.get("post")) is list or (type(value.get("patch")) is list and "messages" not in value):
            return "lists `post` and `patch` of runs"
        if "run_type" in value and ("dotted_order" in value or "trace_id" in value):
            return "`run_type` beside a trace id"
        return None

    def pieces(self, record: SourceRecord) -> Iterable[SourceRecord]:
        """The runs of a body."""
        value = dict_of(record.value)
        runs = [run for key in ("post", "patch") for run in list_of(value.get(key)) if type(run) is dict]
        if not runs:
            return (record,)
        return [piece(record, index, len(runs), run) for index, run in enumerate(runs)]

    def key(self, record: SourceRecord) -> str | None:
        """The trace."""
        return _trace_id(dict_of(record.value))

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """The trajectories of one trace's runs."""
        result = Normalised()
        runs: dict[str, dict[str, Any]] = {}
        first: dict[str, SourceRecord] = {}
        merged = 0
        for record in self.expanded(records):
            value = dict_of(record.value)
            run_id = _run_id(value)
            if run_id is None:
                detail = unknown_detail(value) if value else "the record is no run"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif run_id in runs:
                runs[run_id].update({key: item for key, item in value.items() if item is not None and item != {}})
                merged += 1
            else:
                runs[run_id], first[run_id] = dict(value), record
        if runs:
            made = assemble([_read(first[run_id], run_id, run) for run_id, run in runs.items()], self.name)
            if made.records_used:
                made.records_used += merged
            else:
                made.skip("run_update", merged)
            result.add(made)
        return result


def _trace_id(value: dict[str, Any]) -> str | None:
    return id_text(value.get("trace_id")) or _run_id(value)


def _run_id(value: dict[str, Any]) -> str | None:
    own = id_text(value.get("id")) or id_text(value.get("run_id"))
    if own is None and type(value.get("dotted_order")) is str:
        return str(value["dotted_order"]).rsplit(".", 1)[-1].split("Z", 1)[-1] or None
    return own


def _read(record: SourceRecord, run_id: str, run: dict[str, Any]) -> Span:
    error = run.get("error")
    status = run.get("status")
    is_error = True if error or status == "error" else False if status == "success" else None
    parent = id_text(run.get("parent_run_id"))
    dotted = run.get("dotted_order")
    if parent is None and type(dotted) is str and "." in dotted:
        parent = dotted.split(".")[-2].split("Z", 1)[-1]
    span = Span(
        record,
        _trace_id(run) or run_id,
        run_id,
        parent,
        str(run.get("name") or ""),
        _KINDS.get(str(run.get("run_type")), OTHER),
        nanoseconds(run.get("start_time")),
        nanoseconds(run.get("end_time")),
        is_error,
        None,
        error if type(error) is str else scalar_text(error) if error else None,
        order=dotted if type(dotted) is str else "",
    )
    given, answer = unwrapped(run.get("inputs")), unwrapped(run.get("outputs"))
    span.add_input = lambda talk: add_input(given, talk)
    span.add_output = lambda talk: add_output(answer, talk)
    extra = dict_of(dict_of(unwrapped(run.get("extra"))).get("metadata"))
    span.session = next((id_text(extra[key]) for key in _SESSIONS if key in extra), None)
    if span.kind == LLM:
        span.model = string_of(extra.get("ls_model_name")) or string_of(dict_of(given).get("model"))
        span.usage = _usage(run, dict_of(answer))
        span.finish = finish_of(answer)
    elif span.kind == TOOL:
        span.tool_name = span.name
        arguments = dict_of(given).get("input") if set(dict_of(given)) == {"input"} else given
        span.tool_arguments = arguments
        output = dict_of(answer)
        span.tool_call_id = id_text(dict_of(output.get("output")).get("tool_call_id")) or id_text(
            extra.get("tool_call_id")
        )
        inner = output.get("output") if "output" in output else answer
        content = dict_of(inner).get("content")
        span.tool_result = scalar_text(content if content is not None else inner)
    if parent is None:
        span.reference = reference_text(
            dict_of(run.get("reference_example")).get("outputs") or run.get("reference_outputs")
        )
        for name, stats in dict_of(unwrapped(run.get("feedback_stats"))).items():
            span.scores.append({"name": name, "value": dict_of(stats).get("avg"), "count": dict_of(stats).get("n")})
        shown = {"session_name": run.get("session_name"), "tags": run.get("tags") or None, "metadata": extra}
        span.metadata = metadata_of(shown)
    return span


def _usage(run: dict[str, Any], answer: dict[str, Any]) -> Usage | None:
    counted = usage_of(dict_of(answer.get("usage_metadata")) or dict_of(answer.get("usage")))
    if counted == Usage():
        counted = usage_of(dict_of(dict_of(answer.get("llm_output")).get("token_usage")))
    inputs = counted.input_tokens if counted.input_tokens is not None else integer(run.get("prompt_tokens"))
    outputs = counted.output_tokens if counted.output_tokens is not None else integer(run.get("completion_tokens"))
    money = counted.cost_usd if counted.cost_usd is not None else cost(run.get("total_cost"))
    made = Usage(inputs, outputs, counted.cached_input_tokens, counted.reasoning_tokens, money)
    return made if made != Usage() else None
