"""One span: a model call, a tool call, an agent's run or a step around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.formats.container import SourceRecord
from pipelines.formats.dialects.conversation import Conversation
from schemas.trajectory import Usage

#: How attributes begin that hold one message each of what a model call was given (OpenInference).
INPUT_PREFIX = "llm.input_messages."
LLM, TOOL, AGENT, OTHER = "llm", "tool", "agent", "other"


@dataclass(slots=True)
class Span:
    """What a front-end says of one span. Content is read only when asked for: most spans repeat what others hold."""

    record: SourceRecord
    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: str
    """`llm`, `tool`, `agent` or `other`."""
    start: int | None = None
    """Nanoseconds since the epoch."""
    end: int | None = None
    is_error: bool | None = None
    """True, False where the span says that all went well, None where it says nothing."""
    error_type: str | None = None
    error_text: str | None = None
    add_input: Callable[[Conversation], bool] | None = None
    """Appends what a model call, or the whole run, was given; False where the span does not hold it."""
    add_output: Callable[[Conversation], bool] | None = None
    input_text: str | None = None
    """The JSON text of the messages that a model call was given, where the log has it as text."""
    input_entries: Mapping[str, Any] | None = None
    """The same of logs that spread the messages over attributes: the attributes, of which those with `INPUT_PREFIX` count."""
    input_messages: list[Any] | None = None
    """The same of logs that have the messages as a list."""
    system_text: Any = None
    """The system instructions that stand beside `input_text`, as the log has them."""
    usage: Usage | None = None
    model: str | None = None
    agent: str | None = None
    session: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_arguments: Any = None
    tool_result: str | None = None
    reference: str | None = None
    scores: list[Any] = field(default_factory=list)
    metadata: dict[str, str] | Callable[[], dict[str, str]] = field(default_factory=dict)
    """Of a root. A front-end that has to work for it gives a function: most spans are no roots."""
    finish: str | None = None
    """`limit` or `error` where the model's answer was cut or failed."""
    order: str = ""
    """Breaks ties between spans that start together (LangSmith's dotted order, Braintrust's counter)."""
