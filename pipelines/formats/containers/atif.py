"""Container `atif`: the Agent Trajectory Interchange Format (Harbor, Terminal-Bench), versions 1.0 to 1.8, read leniently.

Results stand in the step of their calls; a result without a call is the environment's word. Steps with `is_copied_context` were told in an
earlier file and are flagged. Embedded sub-agents are trajectories of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from pipelines.formats.dialects.content import text_of
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.usage import total_usage
from pipelines.formats.values import cost, dict_of, id_text, integer, list_of, string_of
from schemas.reject import RejectReason
from schemas.trajectory import Trajectory, Usage

_ROLES = {"user": "user", "agent": "assistant", "assistant": "assistant", "system": "system"}
_METADATA = ("notes", "extra", "continued_trajectory_ref", "session_id", "schema_version")


class Atif(Container):
    """ATIF trajectories."""

    name = "atif"
    order = 10

    def detect(self, value: Any) -> str | None:
        """`schema_version` beginning with `ATIF-`; or an object whose values have it."""
        if type(value) is not dict:
            return None
        if _is_atif(value):
            return f"`schema_version` {value['schema_version']}"
        if value and all(_is_atif(item) for item in value.values()):
            return "an object of ATIF trajectories"
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a file, and one a sub-agent embedded in it."""
        result = Normalised()
        for record in records:
            value = record.value
            if self.detect(value) is None:
                detail = unknown_detail(value) if type(value) is dict else "the record is no trajectory"
                result.rejects.append(reject(record, RejectReason.UNKNOWN_FORMAT, detail, self.name))
                continue
            roots = [value] if _is_atif(value) else list(value.values())
            made: list[Trajectory] = []
            for root in roots:
                _add(record, root, None, made, self.name)
            result.trajectories += made
            result.records_used += 1
        return result


def _is_atif(value: Any) -> bool:
    return type(value) is dict and str(value.get("schema_version", "")).startswith("ATIF-")


def _add(
    record: SourceRecord, value: dict[str, Any], parent_id: str | None, made: list[Trajectory], source_format: str
) -> None:
    talk = Conversation()
    steps = [step for step in list_of(value.get("steps")) if type(step) is dict]
    for step in steps:
        _add_step(step, talk)
    agent = dict_of(value.get("agent"))
    facts = Facts(id=id_text(value.get("trajectory_id")) or id_text(value.get("session_id")), parent_id=parent_id)
    facts.group_id = id_text(value.get("session_id"))
    facts.time = next((step["timestamp"] for step in steps if step.get("timestamp")), None)
    models = [string_of(step.get("model_name")) for step in steps]
    facts.model = string_of(agent.get("model_name")) or next((model for model in models if model), None)
    name, version = string_of(agent.get("name")), string_of(agent.get("version"))
    facts.agent = f"{name}@{version}" if name and version else name
    facts.usage = _usage(value, steps)
    facts.metadata = metadata_of({key: value[key] for key in _METADATA if value.get(key) is not None}, nested=None)
    facts.size = record.size if not made else 0
    own = trajectory(record, source_format, talk, facts, len(made))
    made.append(own)
    for child in list_of(value.get("subagent_trajectories")):
        if type(child) is dict:
            _add(record, child, own.trajectory_id, made, source_format)


def _add_step(step: dict[str, Any], talk: Conversation) -> None:
    flags = ("copied_context",) if step.get("is_copied_context") else ()
    role = _ROLES.get(str(step.get("source")), "system")
    calls = [call for call in list_of(step.get("tool_calls")) if type(call) is dict]
    text = text_of(step.get("message"), talk)
    talk.say(role, None if calls and text == "" else text, None, flags)
    for call in calls:
        name = call.get("function_name") or call.get("name") or ""
        talk.call(str(name), call.get("arguments"), call.get("tool_call_id") or call.get("id"))
    for result in list_of(dict_of(step.get("observation")).get("results")):
        if type(result) is not dict:
            continue
        content = text_of(result.get("content"), talk)
        call_id = id_text(result.get("source_call_id"))
        if call_id is not None:
            talk.result(content, call_id, None, None, flags)
        elif len(calls) == 1 and len(list_of(step["observation"].get("results"))) == 1:
            talk.result(content, talk.calls[-1].id, None, None, flags)
        elif content is not None:
            talk.say("user", content, "environment", (*flags, "injected"))


def _usage(value: dict[str, Any], steps: list[dict[str, Any]]) -> Usage:
    final = dict_of(value.get("final_metrics"))
    if final:
        return Usage(
            integer(final.get("total_prompt_tokens")),
            integer(final.get("total_completion_tokens")),
            integer(final.get("total_cached_tokens")),
            None,
            cost(final.get("total_cost_usd")),
        )
    told = []
    for step in steps:
        metrics = dict_of(step.get("metrics"))
        if metrics and not step.get("is_copied_context"):
            told.append(
                Usage(
                    integer(metrics.get("prompt_tokens")),
                    integer(metrics.get("completion_tokens")),
                    integer(metrics.get("cached_tokens")),
                    None,
                    cost(metrics.get("cost_usd")),
                )
            )
    return total_usage(told)
