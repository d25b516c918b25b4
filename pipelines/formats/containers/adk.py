"""Containers of Google's Agent Development Kit: sessions (`adk_session`) and evaluation sets (`adk_evalset`, reference data)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.formats.build import Facts, metadata_of, trajectory
from pipelines.formats.container import SourceRecord
from pipelines.formats.dialects import normalise_message
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.model_io import add_output
from pipelines.formats.single import OneTrajectoryARecord
from pipelines.formats.usage import total_usage, usage_of
from pipelines.formats.values import dict_of, id_text, list_of, scalar_text, string_of
from schemas.trajectory import Event, Trajectory


class AdkSession(OneTrajectoryARecord):
    """ADK sessions: one object with its events."""

    name = "adk_session"
    order = 240

    def detect(self, value: Any) -> str | None:
        """`events` with authors, beside an application and a user, or a session's id and state."""
        if type(value) is not dict:
            return None
        events = list_of(value.get("events"))
        if not events or "author" not in dict_of(events[0]):
            return None
        return "`events` with `author`, as in ADK sessions"

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Trajectory | None:
        """The session; streamed partial events are repeated by the whole one and left out."""
        talk = Conversation()
        told = []
        agents: list[str] = []
        facts = Facts(id=id_text(value.get("id")))
        for event in list_of(value.get("events")):
            if type(event) is not dict or event.get("partial") is True:
                continue
            author = str(event.get("author") or "")
            content = event.get("content")
            if type(content) is dict and content.get("parts"):
                role = "user" if author == "user" else "model"
                parts = list_of(content["parts"])
                answers = any(
                    "function_response" in dict_of(part) or "functionResponse" in dict_of(part) for part in parts
                )
                normalise_message(
                    {"role": "user" if answers else role, "parts": [_filled(part) for part in parts]}, talk
                )
            if author and author != "user" and author not in agents:
                agents.append(author)
            usage = _get(event, "usage_metadata", "usageMetadata")
            if usage:
                told.append(usage_of(usage))
            error = _get(event, "error_code", "errorCode")
            if error:
                talk.events.append(Event("error", str(error), string_of(_get(event, "error_message", "errorMessage"))))
                facts.outcome = "error"
            facts.time = facts.time or event.get("timestamp")
        for log in list_of(value.get("event_logs")):
            response = dict_of(dict_of(log).get("model_response"))
            told.append(usage_of(response.get("usage_metadata")))
            facts.model = facts.model or string_of(dict_of(dict_of(log).get("model_request")).get("model"))
        if not talk.messages:
            return None
        facts.group_id, facts.usage = facts.id, total_usage(told)
        facts.agent = agents[0] if agents else _get(value, "app_name", "appName")
        shown = {key: value.get(key) for key in ("app_name", "appName", "user_id", "userId")}
        facts.metadata = metadata_of({**shown, "agents": ",".join(agents) or None}, nested=None)
        return trajectory(record, self.name, talk, facts)


class AdkEvalset(OneTrajectoryARecord):
    """ADK evaluation sets: what a run should do. The cases have references but no output."""

    name = "adk_evalset"
    order = 230

    def detect(self, value: Any) -> str | None:
        """`eval_cases`, or a row of `query` and `expected_tool_use`."""
        if type(value) is not dict:
            return None
        for key in ("eval_cases", "evalCases"):
            if type(value.get(key)) is list:
                return f"`{key}` is a list, as in ADK evaluation sets"
        if "query" in value and "expected_tool_use" in value:
            return "`query` and `expected_tool_use`, as in ADK evaluation sets"
        return None

    def read(self, record: SourceRecord, value: dict[str, Any]) -> Sequence[Trajectory]:
        """One trajectory a case: the user's words, the reference answer and the reference tool calls."""
        cases = _get(value, "eval_cases", "evalCases")
        if cases is None:
            return [_legacy(record, value, self.name)]
        made = []
        for ordinal, case in enumerate(list_of(cases)):
            if type(case) is dict:
                made.append(_case(record, value, case, ordinal, self.name))
        return made


def _case(
    record: SourceRecord, value: dict[str, Any], case: dict[str, Any], ordinal: int, source_format: str
) -> Trajectory:
    talk = Conversation()
    calls: list[dict[str, Any]] = []
    reference = None
    turns = list_of(case.get("conversation"))
    for turn in turns:
        body = dict_of(turn)
        user = _get(body, "user_content", "userContent")
        if type(user) is dict:
            normalise_message({"role": "user", "parts": [_filled(part) for part in list_of(user.get("parts"))]}, talk)
        middle = dict_of(_get(body, "intermediate_data", "intermediateData"))
        for use in list_of(_get(middle, "tool_uses", "toolUses")):
            calls.append({"name": str(dict_of(use).get("name") or ""), "arguments": dict_of(use).get("args")})
        final = _get(body, "final_response", "finalResponse")
        if final is not None:
            answer = Conversation()
            final_parts = [_filled(part) for part in list_of(dict_of(final).get("parts"))]
            add_output({"role": "model", "parts": final_parts}, answer)
            reference = answer.final_output()[0] or reference
    set_id = id_text(_get(value, "eval_set_id", "evalSetId"))
    case_id = id_text(_get(case, "eval_id", "evalId"))
    facts = Facts(id=case_id, group_id=set_id, reference=reference, extra={"reference_tool_calls": calls})
    facts.time = _get(case, "creation_timestamp", "creationTimestamp") or None
    facts.size = record.size if ordinal == 0 else 0
    return trajectory(record, source_format, talk, facts, ordinal)


def _legacy(record: SourceRecord, value: dict[str, Any], source_format: str) -> Trajectory:
    talk = Conversation()
    talk.say("user", scalar_text(value["query"]))
    calls = [
        {"name": str(dict_of(use).get("tool_name") or ""), "arguments": dict_of(use).get("tool_input")}
        for use in list_of(value.get("expected_tool_use"))
    ]
    facts = Facts(reference=scalar_text(value.get("reference")), extra={"reference_tool_calls": calls})
    return trajectory(record, source_format, talk, facts)


def _filled(part: Any) -> Any:
    """A part without its null fields."""
    return {key: item for key, item in part.items() if item is not None} if type(part) is dict else part


def _get(value: dict[str, Any], *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)
