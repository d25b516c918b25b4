"""Container `vally`: trial results, legacy outcomes and bare trajectories of vally.

`run-summary` and unknown kinds of records are skipped, as vally's own readers do. A trial without a trajectory (skipped, or stopped by an
error) is a trajectory without messages, so that it stays in the denominator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import FIELD, Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, integer, list_of, scalar_text, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

OTHER_RECORD = "record_kind_without_trial"
_OUTCOMES = {"success": "ok", "error": "error", "skipped": None}
_END_REASONS = {
    "agent_timeout": "limit",
    "timeout": "limit",
    "max_turns": "limit",
    "aborted": "aborted",
    "cancelled": "aborted",
}
_NOT_METADATA = frozenset(
    {"type", "trajectory", "gradeResult", "grade", "error", "durationMs", "model", "status", "metadata"}
)


class Vally(Container):
    """Vally's results."""

    name = "vally"
    order = 20

    def detect(self, value: Any) -> str | None:
        """`type` trial-result, `gradeResult` beside `trajectory`, or a trajectory's `events`, `metrics` and `stimulus`."""
        if type(value) is not dict:
            return None
        if value.get("type") in ("trial-result", "run-summary"):
            return f"`type` {value['type']}, as in vally's results"
        if "gradeResult" in value and "trajectory" in value:
            return "`gradeResult` beside `trajectory`, as in vally's outcomes"
        if type(dict_of(value.get("trajectory")).get("events")) is list:
            return "`trajectory.events`, as in vally's outcomes"
        if type(value.get("events")) is list and type(value.get("metrics")) is dict and "stimulus" in value:
            return "`events`, `metrics` and `stimulus`, as in vally's trajectories"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a trial."""
        result = Normalised()
        for record in records:
            value = record.value
            if type(value) is not dict:
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, "the line is no object", self.name))
            elif self.detect(value) is not None and value.get("type") != "run-summary":
                result.trajectories.append(_trial(record, value, self.name))
                result.records_used += 1
            elif type(value.get("type")) is str:
                result.skip(OTHER_RECORD)
            else:
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, unknown_detail(value), self.name))
        return result


def _trial(record: SourceRecord, value: dict[str, Any], source_format: str) -> Trajectory:
    is_bare = "trajectory" not in value
    run = value if is_bare else dict_of(value.get("trajectory"))
    talk = Conversation()
    stimulus = run.get("stimulus")
    prompt = text_of(dict_of(stimulus).get("prompt"), talk)
    if prompt is not None:
        talk.say("user", prompt)
    counted: list[Usage] = []
    for event in list_of(run.get("events")):
        if type(event) is dict:
            _add_event(event, talk, counted, prompt)
    metadata = dict_of(run.get("metadata"))
    metrics = dict_of(run.get("metrics"))
    facts = Facts(id=_id(value, run), group_id=_group(value, run), input=prompt)
    facts.time = next(
        (event["timestamp"] for event in list_of(run.get("events")) if dict_of(event).get("timestamp")), None
    )
    facts.time = facts.time or metadata.get("completedAt") or value.get("timestamp")
    output = run.get("output")
    if type(output) is str:
        facts.output, facts.output_rule = output, FIELD
    facts.model = string_of(value.get("model")) or string_of(metadata.get("model"))
    facts.agent = string_of(metadata.get("executor"))
    usage = usage_of(metrics.get("tokenUsage"))
    if usage == Usage():
        usage = total_usage(counted)
    latency = integer(metrics.get("wallTimeMs"))
    latency = latency if latency is not None else integer(value.get("durationMs"))
    facts.usage = Usage(
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_input_tokens,
        usage.reasoning_tokens,
        usage.cost_usd,
        latency,
    )
    facts.turn_count = integer(metrics.get("turnCount"))
    facts.outcome = _END_REASONS.get(str(run.get("endReason")))
    if facts.outcome is None:
        facts.outcome = _OUTCOMES.get(str(value.get("status")))
    error = value.get("error")
    if error:
        talk.events.append(Event("error", "trial", scalar_text(dict_of(error).get("message") or error)))
    facts.native_scores = _scores(value.get("gradeResult") or value.get("grade"))
    extra: dict[str, Any] = {}
    if metrics:
        extra["metrics"] = metrics
    for key, source in (("diff", run.get("diff") or value.get("diff")), ("custom_metrics", run.get("customMetrics"))):
        if source:
            extra[key] = source
    facts.extra = extra or None
    facts.metadata = _metadata(value, run, metadata)
    return trajectory(record, source_format, talk, facts)


def _add_event(event: dict[str, Any], talk: Conversation, counted: list[Usage], prompt: str | None) -> None:
    kind = str(event.get("type"))
    data = dict_of(event.get("data"))
    text = next((data[key] for key in ("content", "text", "message") if data.get(key) is not None), None)
    if kind == "user_message":
        words = text_of(text, talk)
        if not (len(talk.messages) == 1 and words == prompt):
            talk.say("user", words)
    elif kind == "assistant_message":
        talk.say("assistant", text_of(text, talk))
    elif kind == "tool_call":
        if not talk.messages or talk.messages[-1].role != "assistant":
            talk.say("assistant", None)
        talk.call(str(data.get("toolName") or ""), data.get("arguments"), data.get("toolCallId"))
    elif kind == "tool_result":
        success = data.get("success")
        failed = None if type(success) is not bool else not success
        talk.result(text_of(data.get("result"), talk), data.get("toolCallId"), string_of(data.get("toolName")), failed)
    elif kind == "token_usage":
        counted.append(usage_of(data))
    elif kind in ("turn_start", "turn_end"):
        talk.events.append(Event(kind, id_text(data.get("turnId"))))
    elif kind == "error":
        talk.events.append(Event("error", string_of(data.get("type")), scalar_text(data.get("message"))))
    elif kind == "skill_activation":
        talk.events.append(Event(kind, string_of(data.get("name")), string_of(data.get("path"))))
    elif kind == "system":
        name = string_of(data.get("type")) or string_of(data.get("name")) or string_of(data.get("subtype"))
        talk.events.append(Event(kind, name, scalar_text(text), compact_json(data)))
    else:
        talk.events.append(Event(kind, None, scalar_text(text), compact_json(data)))


def _name(stimulus: Any) -> str | None:
    return string_of(stimulus) or string_of(dict_of(stimulus).get("name"))


def _id(value: dict[str, Any], run: dict[str, Any]) -> str | None:
    """The trial's own id; the run's with what tells trials apart; stimulus and trial where there is no run."""
    parts = [id_text(run.get("id")) or id_text(value.get("itemId"))]
    if parts[0] is None:
        name = _name(value.get("stimulus"))
        if name is None:
            return None
        parts = [id_text(value.get("evalName")), name]
    variant, trial = string_of(value.get("variant")), value.get("trialIndex")
    if variant and variant != "main":
        parts.append(variant)
    if type(trial) is int:
        parts.append(str(trial))
    return ":".join(part for part in parts if part)


def _group(value: dict[str, Any], run: dict[str, Any]) -> str | None:
    return _name(value.get("stimulus")) or _name(run.get("stimulus"))


def _scores(grade: Any) -> list[Any] | None:
    body = dict_of(grade)
    if not body:
        return None
    entry = {"name": body.get("name"), "value": body.get("score"), "passed": body.get("passed"),
             "explanation": body.get("evidence"), "details": body.get("details") or None}  # fmt: skip
    return [{key: item for key, item in entry.items() if item is not None}]


def _metadata(value: dict[str, Any], run: dict[str, Any], metadata: dict[str, Any]) -> dict[str, str]:
    shown: dict[str, Any] = {}
    if "trajectory" in value:
        shown = {key: item for key, item in value.items() if key not in _NOT_METADATA}
        if value.get("status") is not None:
            shown["status"] = value["status"]
    if type(shown.get("stimulus")) is dict or "stimulus" not in shown:
        shown["stimulus"] = _group(value, run)
    if run.get("endReason") is not None:
        shown["endReason"] = run["endReason"]
    return metadata_of({**shown, "metadata": metadata})
