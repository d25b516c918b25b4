"""Container `claude_stream`: what `claude -p --output-format stream-json` and the Claude Agent SDK print; bare or in `{direction, message}`.

The closing `result` holds the whole run's usage, cost and outcome; the messages' own usage is not counted beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, Ordinals, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.claude_code import add_assistant, add_user
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Event, Trajectory, Usage

CONTROL = "control_or_partial_event"
RESULT_FIELD = "result_field"
_TYPES = frozenset({"system", "user", "assistant", "result", "stream_event", "control_request", "control_response"})


class ClaudeStream(Container):
    """Claude stream-json."""

    name = "claude_stream"
    grouping = "file"
    order = 90

    def detect(self, value: Any) -> str | None:
        """Frames of `{direction, message}`, or a stream's types with `session_id`."""
        if type(value) is not dict:
            return None
        frames = list_of(value.get("messages"))
        if frames and dict_of(frames[0]).get("direction") and "message" in dict_of(frames[0]):
            return "`messages` are frames of `direction` and `message`"
        if string_of(value.get("type")) in _TYPES and "session_id" in value and "sessionId" not in value:
            return "`type` and `session_id`, as in Claude stream-json"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a session and side chain."""
        result = Normalised()
        runs: dict[tuple[str, str | None], _Run] = {}
        for record in records:
            value = record.value
            if self.detect(value) is None and not (type(value) is dict and string_of(value.get("type")) in _TYPES):
                detail = unknown_detail(value) if type(value) is dict else "the line is no object"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
                continue
            frames = [dict_of(frame) for frame in list_of(value.get("messages"))]
            ids = [id_text(dict_of(frame.get("message")).get("session_id")) for frame in frames]
            session = next((own for own in ids if own not in (None, "default")), None)
            inner = [_of_frame(frame) for frame in frames] if frames else [value]
            used = False
            for line in inner:
                own = session or id_text(line.get("session_id")) or record.address
                used = _take(line, own, record, runs) or used
            if used:
                result.records_used += 1
            else:
                result.skip(CONTROL)
        ordinals = Ordinals()
        result.trajectories = [run.trajectory(self.name, ordinals) for run in runs.values()]
        return result


class _Run:
    def __init__(self, session: str, parent_call: str | None, record: SourceRecord) -> None:
        self.session, self.parent_call, self.record = session, parent_call, record
        self.talk = Conversation()
        self.facts = Facts(id=session if parent_call is None else f"{session}:{parent_call}", group_id=session)
        self.facts.parent_id = session if parent_call is not None else None
        self.usage: dict[str, Usage] = {}
        self.places: dict[str, int] = {}
        self.size = 0

    def trajectory(self, source_format: str, ordinals: Ordinals) -> Trajectory:
        if self.facts.usage == Usage():
            self.facts.usage = total_usage(self.usage.values())
        self.facts.size = self.size
        return trajectory(self.record, source_format, self.talk, self.facts, ordinals.of(self.record))


def _of_frame(frame: dict[str, Any]) -> dict[str, Any]:
    return dict_of(frame.get("message"))


def _take(line: dict[str, Any], session: str, record: SourceRecord, runs: dict[tuple[str, str | None], _Run]) -> bool:
    kind = line.get("type")
    if kind not in ("user", "assistant", "system", "result"):
        return False
    if kind in ("user", "assistant") and type(line.get("message")) is not dict:
        return False
    parent_call = id_text(line.get("parent_tool_use_id"))
    run = runs.get((session, parent_call))
    if run is None:
        run = runs[(session, parent_call)] = _Run(session, parent_call, record)
    run.size += record.size if run.size == 0 or run.record is not record else 0
    message = dict_of(line.get("message"))
    if kind == "user":
        add_user(message, line, run.talk, ())
    elif kind == "assistant":
        add_assistant(message, run.talk, (), run.places)
        run.facts.model = run.facts.model or string_of(message.get("model"))
        run.usage[id_text(message.get("id")) or f"#{len(run.usage)}"] = usage_of(message.get("usage"))
    elif kind == "system":
        run.facts.model = run.facts.model or string_of(line.get("model"))
        run.facts.metadata = {
            key: line[key] for key in ("claude_code_version", "cwd", "permissionMode") if type(line.get(key)) is str
        }
    else:
        _take_result(line, run)
    return True


def _take_result(line: dict[str, Any], run: _Run) -> None:
    counted = usage_of(line.get("usage"))
    run.facts.usage = Usage(
        counted.input_tokens, counted.output_tokens, counted.cached_input_tokens, counted.reasoning_tokens,
        cost(line.get("total_cost_usd")), integer(line.get("duration_ms")),
    )  # fmt: skip
    run.facts.turn_count = integer(line.get("num_turns"))
    if line.get("is_error") is True or str(line.get("subtype", "")).startswith("error"):
        run.facts.outcome = "limit" if line.get("subtype") == "error_max_turns" else "error"
        run.talk.events.append(Event("error", string_of(line.get("subtype")), string_of(line.get("result"))))
    else:
        run.facts.outcome = "ok"
        text = string_of(line.get("result"))
        if text is not None:
            run.facts.output, run.facts.output_rule = text, RESULT_FIELD
