"""Presets of mapped rows, told by their columns: Vertex AI, Azure AI, and question/answer/reference rows (also of CSV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pipelines.formats.build import Facts, metadata_of
from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.messages import (
    AGENT_KEYS,
    GROUP_KEYS,
    ID_KEYS,
    LATENCY_KEYS,
    MODEL_KEYS,
    TIME_KEYS,
    error_event,
)
from pipelines.formats.dialects import normalise_messages
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.rows import as_messages, reference_text, row_trajectory
from pipelines.formats.usage import RECORD_USAGE_KEYS, record_usage
from pipelines.formats.values import dict_of, first_id, list_of, scalar_text, string_of, unwrapped
from schemas.reject import RejectReason
from schemas.trajectory import Trajectory

_QUESTION = ("input", "query", "prompt", "question", "instruction", "user_input")
_ANSWER = ("output", "response", "completion", "answer", "prediction", "actual_output", "generated_answer")
_REFERENCE = (
    "reference", "expected", "expected_output", "ground_truth", "target", "ideal", "reference_answer", "gold",
)  # fmt: skip
_NOT_METADATA = frozenset(
    {*RECORD_USAGE_KEYS, *LATENCY_KEYS, "usage", "error", "tools", "tool_definitions", "conversation"}
)


class _Rows(Container):
    """Rows with columns of fixed names."""

    question: ClassVar[Sequence[str]] = _QUESTION
    answer: ClassVar[Sequence[str]] = _ANSWER
    reference: ClassVar[Sequence[str]] = _REFERENCE

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """One trajectory a row."""
        result = Normalised()
        for record in records:
            row = record.value
            if type(row) is not dict:
                result.rejects.append(reject(record, RejectReason.NOT_AN_OBJECT, "the row is no object", self.name))
                continue
            made = self.row(record, row)
            if made is None:
                keys = ", ".join(f"`{key}`" for key in list(row)[:10])
                detail = f"the row has neither a question nor an answer; its keys are {keys or '(none)'}"
                result.rejects.append(reject(record, RejectReason.MISSING_FIELD, detail, self.name))
            else:
                result.trajectories.append(made)
                result.records_used += 1
        return result

    def row(self, record: SourceRecord, row: dict[str, Any]) -> Trajectory | None:
        """The trajectory of one row, or None where nothing is in it."""
        used = set(_NOT_METADATA)
        question, answer = _take(row, self.question, used), _take(row, self.answer, used)
        reference = reference_text(_take(row, self.reference, used))
        facts = _facts(row, used)
        facts.reference = reference
        talk = Conversation()
        if row.get("error"):
            facts.outcome = "error"
            talk.events.append(error_event(row["error"]))
        return row_trajectory(record, self.name, facts, question, answer, system=row.get("system"), conversation=talk)


class VertexRows(_Rows):
    """Vertex AI evaluation rows: `prompt`, `response`, `predicted_trajectory`, `reference_trajectory`."""

    name = "vertex_eval"
    order = 250
    question = ("prompt", "instruction", "query")
    answer = ("response", "output")

    def detect(self, value: Any) -> str | None:
        """`predicted_trajectory` or `reference_trajectory`."""
        if type(value) is dict:
            for key in ("predicted_trajectory", "reference_trajectory"):
                if key in value:
                    return f"`{key}` is a key of Vertex AI evaluation rows"
        return None

    def row(self, record: SourceRecord, row: dict[str, Any]) -> Trajectory | None:
        """User prompt, one assistant turn with the predicted calls, and the response."""
        used = {*_NOT_METADATA, "predicted_trajectory", "reference_trajectory"}
        question, answer = _take(row, self.question, used), _take(row, self.answer, used)
        reference = reference_text(_take(row, self.reference, used))
        facts = _facts(row, used)
        facts.reference = reference
        calls = _calls(row.get("predicted_trajectory"))
        expected = _calls(row.get("reference_trajectory"))
        if "reference_trajectory" in row:
            facts.extra = {"reference_tool_calls": expected}
        talk = Conversation()
        if question is not None:
            messages = as_messages(question)
            if messages is not None:
                normalise_messages(messages, talk)
            else:
                facts.input = scalar_text(question)
                talk.say("user", facts.input)
        if calls:
            talk.say("assistant", None)
            for call in calls:
                talk.call(call["name"], call["arguments"], None)
        return row_trajectory(record, self.name, facts, None, answer, conversation=talk)


class AzureRows(_Rows):
    """Azure AI evaluation rows: `query` and `response` (text or messages), or `conversation: {messages}`."""

    name = "azure_ai_eval"
    order = 350
    question = ("query",)
    answer = ("response",)

    def detect(self, value: Any) -> str | None:
        """`query` and `response`; or an object `conversation` with messages."""
        if type(value) is not dict:
            return None
        if "query" in value and "response" in value:
            return "`query` and `response` are keys of Azure AI evaluation rows"
        if list_of(dict_of(value.get("conversation")).get("messages")):
            return "`conversation.messages` is a list"
        return None

    def row(self, record: SourceRecord, row: dict[str, Any]) -> Trajectory | None:
        """As other rows; a `conversation` object gives the messages."""
        inner = dict_of(row.get("conversation")).get("messages")
        if inner is None:
            return super().row(record, row)
        used = {*_NOT_METADATA, "query", "response"}
        reference = reference_text(_take(row, self.reference, used))
        facts = _facts(row, used)
        facts.reference = reference
        return row_trajectory(record, self.name, facts, messages=inner)


class QuestionAnswerRows(_Rows):
    """Rows with a question and an answer or a reference, under the usual names."""

    name = "question_answer"
    order = 950

    def detect(self, value: Any) -> str | None:
        """A question's key beside an answer's or a reference's."""
        if type(value) is not dict:
            return None
        asked = next((key for key in _QUESTION if _is_content(value.get(key))), None)
        told = next((key for key in (*_ANSWER, *_REFERENCE) if _is_content(value.get(key))), None)
        if asked is not None and told is not None:
            return f"`{asked}` and `{told}` are the columns of a question and its answer"
        answer = next((key for key in _ANSWER if _is_content(value.get(key))), None)
        reference = next((key for key in _REFERENCE if _is_content(value.get(key))), None)
        if answer is not None and reference is not None:
            return f"`{answer}` and `{reference}` are the columns of an answer and its reference"
        return None


def _is_content(value: Any) -> bool:
    return type(value) in (str, list, dict)


def _take(row: dict[str, Any], keys: Sequence[str], used: set[str]) -> Any:
    for key in keys:
        if row.get(key) is not None and key not in used:
            used.add(key)
            return row[key]
    return None


def _facts(row: dict[str, Any], used: set[str]) -> Facts:
    facts = Facts(usage=record_usage(row))
    facts.id, key = first_id(row, (*ID_KEYS, "eval_id", "test_id"))
    used.add(key or "")
    facts.group_id, key = first_id(row, GROUP_KEYS)
    used.add(key or "")
    for name, keys in (("time", TIME_KEYS), ("model", MODEL_KEYS), ("agent", AGENT_KEYS)):
        for key in keys:
            value = string_of(row.get(key)) or (
                row.get(key) if name == "time" and type(row.get(key)) in (int, float) else None
            )
            if value is not None:
                setattr(facts, name, value)
                used.add(key)
                break
    facts.metadata = metadata_of(row, used)
    return facts


def _calls(value: Any) -> list[dict[str, Any]]:
    """The calls of a Vertex trajectory (a list, or a JSON string of one) as name and arguments."""
    calls = []
    for step in list_of(unwrapped(value)):
        if type(step) is dict:
            name = step.get("tool_name") or step.get("name")
            arguments = next((step[key] for key in ("tool_input", "arguments", "args") if key in step), None)
            calls.append({"name": str(name or ""), "arguments": arguments})
    return calls
