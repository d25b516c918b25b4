"""Containers `inspect` and `inspect_scout`: Inspect AI logs (`.json`, samples of `.eval`) and Scout's transcript tables.

One sample is one trajectory. `attachment://` references are resolved, pooled messages are taken from the pool. Scorers' model calls are not
turns of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.messages import error_event
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects import normalise_messages
from pipelines.formats.dialects.conversation import FIELD, Conversation
from pipelines.formats.rows import reference_text
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, integer, list_of, milliseconds, scalar_text, string_of, unwrapped
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

NO_SAMPLES = "log_without_samples"
_ATTACHMENT = "attachment://"


class InspectLog(Container):
    """Inspect AI evaluation logs."""

    name = "inspect"
    order = 150

    def detect(self, value: Any) -> str | None:
        """`eval` beside `status` and `version`; or an archive's `header`."""
        if type(value) is not dict:
            return None
        if type(value.get("eval")) is dict and "status" in value and "version" in value:
            return "`eval`, `status` and `version`, as in Inspect logs"
        if type(value.get("header")) is dict and (type(value.get("sample")) is dict or "eval" in value["header"]):
            return "`header.json` and `samples/` in the archive, as in Inspect logs"
        if {"epoch", "messages", "output", "target"} <= set(value) and "scores" in value:
            return "a sample of an Inspect log"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a sample."""
        result = Normalised()
        for record in records:
            value = record.value
            if self.detect(value) is None:
                detail = unknown_detail(value) if type(value) is dict else "the record is no log"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
                continue
            header, samples = _parts(value)
            if not samples:
                result.skip(NO_SAMPLES)
                continue
            for ordinal, sample in enumerate(samples):
                result.trajectories.append(_sample(record, header, sample, ordinal, len(samples), self.name))
            result.records_used += 1
        return result


def _parts(value: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(the log's header, its samples) of a whole log, of a member of an archive, or of a sample alone."""
    if "header" in value:
        return value["header"], [value["sample"]] if type(value.get("sample")) is dict else []
    if "eval" in value:
        return value, [sample for sample in list_of(value.get("samples")) if type(sample) is dict]
    return {}, [value]


def _sample(
    record: SourceRecord,
    header: Mapping[str, Any],
    sample: dict[str, Any],
    ordinal: int,
    count: int,
    source_format: str,
) -> Trajectory:
    evaluation = dict_of(header.get("eval"))
    attachments = dict_of(sample.get("attachments"))
    pool = {str(index): item for index, item in enumerate(list_of(sample.get("message_pool")))}
    pool.update(dict_of(sample.get("message_pool")))
    talk = Conversation(default_is_error=False)
    messages = [
        pool.get(str(item), item) if type(item) in (int, str) else item for item in list_of(sample.get("messages"))
    ]
    normalise_messages([_resolved(message, attachments) for message in messages], talk)
    output = _resolved(dict_of(sample.get("output")), attachments)
    if not talk.messages:
        given = _resolved(sample.get("input"), attachments)
        if type(given) is list:
            normalise_messages(given, talk)
        elif given is not None:
            talk.say("user", scalar_text(given))
    facts = Facts(id=string_of(sample.get("uuid")) or _sample_id(evaluation, sample))
    facts.group_id = id_text(evaluation.get("eval_id")) or id_text(evaluation.get("run_id"))
    facts.time = _started(sample) or evaluation.get("created")
    completion = output.get("completion")
    if type(completion) is not str:
        choice = dict_of(next(iter(list_of(output.get("choices"))), None))
        inner = Conversation()
        normalise_messages([choice.get("message")] if choice.get("message") else [], inner)
        completion = next((message.text for message in inner.messages if message.text), None)
    if completion:
        facts.output, facts.output_rule = completion, FIELD
    given = sample.get("input")
    facts.input = _resolved(given, attachments) if type(given) is str else None
    facts.reference = reference_text(sample.get("target"))
    facts.model = string_of(evaluation.get("model")) or string_of(output.get("model"))
    facts.agent = string_of(evaluation.get("solver")) or string_of(evaluation.get("task"))
    facts.usage = _usage(sample, header, output, count)
    facts.native_scores = _scores(sample)
    facts.outcome = _outcome(sample, header, talk)
    shown = {
        "task": evaluation.get("task"),
        "sample_id": sample.get("id"),
        "epoch": sample.get("epoch"),
        "eval_id": evaluation.get("eval_id"),
        "metadata": dict_of(sample.get("metadata")),
    }
    facts.metadata = metadata_of(shown)
    facts.size = record.size if ordinal == 0 or count == 1 else 0
    return trajectory(record, source_format, talk, facts, ordinal)


def _sample_id(evaluation: Mapping[str, Any], sample: Mapping[str, Any]) -> str | None:
    run = id_text(evaluation.get("eval_id")) or id_text(evaluation.get("run_id"))
    own = id_text(sample.get("id"))
    return f"{run or ''}:{own}:{sample.get('epoch', 1)}" if own is not None else None


def _started(sample: Mapping[str, Any]) -> Any:
    if sample.get("started_at"):
        return sample["started_at"]
    events = list_of(sample.get("events")) or list_of(dict_of(sample.get("transcript")).get("events"))
    return dict_of(events[0]).get("timestamp") if events else None


def _resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """`value` with every `attachment://<hash>` replaced by what it stands for."""
    if type(value) is str:
        if value.startswith(_ATTACHMENT):
            return attachments.get(value[len(_ATTACHMENT) :], value)
        return value
    if not attachments:
        return value
    if type(value) is list:
        return [_resolved(item, attachments) for item in value]
    if type(value) is dict:
        return {key: _resolved(item, attachments) for key, item in value.items()}
    return value


def _usage(sample: Mapping[str, Any], header: Mapping[str, Any], output: Mapping[str, Any], count: int) -> Usage:
    per_model = dict_of(sample.get("model_usage"))
    if not per_model and count == 1:
        per_model = dict_of(dict_of(header.get("stats")).get("model_usage")) if "model_usage" not in sample else {}
    told = [_inspect_usage(usage) for usage in per_model.values()]
    if not told and output.get("usage"):
        told = [_inspect_usage(output["usage"])]
    return total_usage(told, milliseconds(sample.get("total_time")))


def _inspect_usage(value: Any) -> Usage:
    """Inspect counts cached input beside `input_tokens`."""
    return usage_of({key: item for key, item in dict_of(value).items() if item is not None})


def _scores(sample: Mapping[str, Any]) -> list[Any] | None:
    scores = []
    for name, score in dict_of(sample.get("scores")).items():
        body = dict_of(score)
        entry = {
            "name": name,
            "value": body.get("value"),
            "answer": body.get("answer"),
            "explanation": body.get("explanation"),
        }
        scores.append({key: item for key, item in entry.items() if item is not None})
    return scores or None


def _outcome(sample: Mapping[str, Any], header: Mapping[str, Any], talk: Conversation) -> str | None:
    if sample.get("error"):
        talk.events.append(error_event(sample["error"]))
        return "error"
    limit = sample.get("limit")
    if limit:
        talk.events.append(Event("system", "limit", scalar_text(dict_of(limit).get("type") or limit)))
        return "limit"
    return {"success": "ok", "started": "incomplete", "cancelled": "aborted", "error": None}.get(
        str(header.get("status"))
    )


class ScoutTranscripts(Container):
    """Tables of inspect_scout: one row is one transcript, JSON columns are text."""

    name = "inspect_scout"
    order = 160

    def detect(self, value: Any) -> str | None:
        """`transcript_id` beside `messages` or `events`."""
        if type(value) is dict and "transcript_id" in value and ("messages" in value or "events" in value):
            return "`transcript_id` beside `messages`, as in inspect_scout tables"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a row."""
        result = Normalised()
        for record in records:
            row = record.value
            messages = list_of(unwrapped(row.get("messages"))) if type(row) is dict else []
            if type(row) is not dict or "transcript_id" not in row:
                detail = unknown_detail(row) if type(row) is dict else "the record is no row"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
            elif not messages:
                result.rejects.append(
                    reject(record, RejectReason.NO_MESSAGES, "the transcript has no messages", self.name)
                )
            else:
                result.trajectories.append(_transcript(record, row, messages, self.name))
                result.records_used += 1
        return result


_SCOUT_COLUMNS = frozenset(
    {"transcript_id", "source_id", "date", "agent", "model", "score", "success", "total_time", "error", "limit", "messages",
     "events", "timelines", "events_data", "score_explanation", "total_tokens", "message_count", "input", "target"}
)  # fmt: skip


def _transcript(record: SourceRecord, row: dict[str, Any], messages: list[Any], source_format: str) -> Trajectory:
    talk = Conversation()
    normalise_messages(messages, talk)
    facts = Facts(id=id_text(row["transcript_id"]), group_id=id_text(row.get("source_id")), time=row.get("date"))
    facts.model, facts.agent = string_of(row.get("model")), string_of(row.get("agent"))
    facts.reference = reference_text(row.get("target"))
    facts.usage = Usage(latency_ms=milliseconds(row.get("total_time")))
    if row.get("score") is not None or row.get("success") is not None:
        score = {
            "name": "score",
            "value": row.get("score"),
            "passed": row.get("success"),
            "explanation": row.get("score_explanation"),
        }
        facts.native_scores = [{key: item for key, item in score.items() if item is not None}]
    if row.get("error"):
        facts.outcome = "error"
        talk.events.append(error_event(row["error"]))
    elif row.get("limit"):
        facts.outcome = "limit"
    metadata = metadata_of(row, _SCOUT_COLUMNS)
    tokens = integer(row.get("total_tokens"))
    if tokens is not None:
        metadata["total_tokens"] = str(tokens)
    facts.metadata = dict(sorted(metadata.items()))
    return trajectory(record, source_format, talk, facts)
