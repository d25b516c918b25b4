"""A row of question, answer and reference as a trajectory: shared by mapped rows and the presets."""

from __future__ import annotations

from typing import Any

from pipelines.formats.build import Facts, trajectory
from pipelines.formats.container import SourceRecord
from pipelines.formats.dialects import is_message, normalise_messages
from pipelines.formats.dialects.conversation import FIELD, Conversation
from pipelines.formats.json_values import compact_json
from pipelines.formats.values import scalar_text, unwrapped
from schemas.trajectory import Trajectory


def as_messages(value: Any) -> list[Any] | None:
    """The messages that a field holds (a list, or a JSON string of one), or None where it is plain text or data."""
    inner = unwrapped(value)
    if type(inner) is dict and type(inner.get("messages")) is list:
        inner = inner["messages"]
    if type(inner) is list and inner and all(is_message(item) for item in inner):
        return inner
    if type(inner) is dict and "content" in inner and is_message(inner):
        return [inner]
    return None


def row_trajectory(
    record: SourceRecord,
    source_format: str,
    facts: Facts,
    question: Any = None,
    answer: Any = None,
    messages: Any = None,
    system: Any = None,
    conversation: Conversation | None = None,
) -> Trajectory | None:
    """The trajectory of one row, or None where it has neither messages, question nor answer.

    Question and answer may be text, messages or data; an answer in words is the output by the rule `field`. Where the row has messages
    too, they are the conversation and the answer is not added to them.
    """
    talk = conversation or Conversation()
    if isinstance(system, str) and system:
        talk.say("system", system)
    inner = as_messages(messages)
    if inner is None and unwrapped(messages) == [] and (question is not None or answer is not None):
        inner = []  # the row says that nothing was said: its answer is no message of the agent
    if inner is not None:
        normalise_messages(inner, talk)
    elif question is not None:
        _add(question, "user", talk)
    answers = as_messages(answer)
    if answers is not None:
        if inner is None:
            normalise_messages(answers, talk)
    elif answer is not None:
        facts.output, facts.output_rule = scalar_text(answer), FIELD
        if inner is None:
            talk.say("assistant", facts.output)
    if question is not None and as_messages(question) is None and facts.input is None:
        facts.input = scalar_text(question)
    if inner is None and question is None and answer is None and not talk.messages:
        return None
    return trajectory(record, source_format, talk, facts)


def reference_text(value: Any) -> str | None:
    """A reference as text: messages give their last text, other data its compact JSON."""
    inner = as_messages(value)
    if inner is not None:
        talk = Conversation()
        normalise_messages(inner, talk)
        return next((message.text for message in reversed(talk.messages) if message.text), None)
    return value if value is None or isinstance(value, str) else compact_json(value)


def _add(value: Any, role: str, talk: Conversation) -> None:
    messages = as_messages(value)
    if messages is not None:
        normalise_messages(messages, talk)
    else:
        talk.say(role, scalar_text(value))
