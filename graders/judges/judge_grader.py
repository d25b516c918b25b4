"""The base of all judge grader types: what is asked of whom, and the row that the answers make. Nothing is called here.

A judge type defines its question, the reply's fields with their schemas, and `read_choice`, which checks a reply
against what was offered.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from pydantic import Field

from graders.grade_batch import GradeBatch
from graders.grader import Grader, GraderConfig
from graders.judges.choice import Answer, Choice, Failure, Mistake
from graders.judges.conversation import take_reply
from graders.judges.evidence import EvidenceKind, select
from graders.judges.prompts import REASONING_LINE, REASONING_SCHEMA, judge_messages, object_schema
from graders.judges.reply import fields_of, reasoning_in
from graders.judges.request import Judge, JudgeCallError, JudgeReply, JudgeRequest
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import ErrorType, Score, Status, error, skipped
from schemas.trajectory import Trajectory

DEFAULT_ROUTE = "default"
OnMissing = Literal["error", "fail", "skip", "ask"]


class JudgeConfig(GraderConfig):
    """What every judge says: whom it asks, how, and what it shows."""

    route: str = Field(default=DEFAULT_ROUTE, min_length=1)
    """A route of the suite. `default` also means the only one there is."""
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    """None: not sent (some models refuse it)."""
    max_tokens: int = Field(default=500, ge=1)
    evidence: list[EvidenceKind] | None = Field(default=None, min_length=1)
    """What the judge sees; None is the type's own choice."""
    max_evidence_chars: int = Field(default=50_000, ge=100)
    """Bound for each kind of evidence, in code points; head and tail are kept."""
    reference: str | None = Field(default=None, min_length=1)
    """Stands for the trajectory's own reference."""
    context: str | None = Field(default=None, min_length=1)
    """Stands for the trajectory's own context."""
    on_missing_output: OnMissing = "error"
    """`ask` shows the judge null."""
    on_missing_reference: OnMissing = "skip"
    on_missing_context: OnMissing = "skip"
    reasoning: Literal["required", "optional"] = "required"
    """Whether a reply without reasoning is usable. Blank reasoning never is."""
    extra_fields: Literal["refuse", "ignore"] = "refuse"
    """Fields of the reply that were not asked for, e.g. the model's own verdict: an unusable reply, or left unread."""


JudgeConfigT = TypeVar("JudgeConfigT", bound=JudgeConfig)


class JudgeGrader(Grader[JudgeConfigT]):
    """A check made by asking LLMs. `requests` and `verdict` are pure; shells carry the questions."""

    default_evidence: tuple[EvidenceKind, ...] = ("input", "output")

    @property
    def routes(self) -> Sequence[str]:
        """The routes it asks, one a question."""
        return (self.config.route,)

    @property
    def evidence_kinds(self) -> Sequence[EvidenceKind]:
        """What it shows the judge."""
        return self.default_evidence if self.config.evidence is None else self.config.evidence

    @property
    @abstractmethod
    def question(self) -> str:
        """What is asked, in the words of the suite's author."""

    @property
    @abstractmethod
    def reply_fields(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """Fields of the reply after `reasoning`: name → (what goes in, JSON Schema)."""

    @abstractmethod
    def read_choice(self, reply: dict[str, Any]) -> Choice | Mistake:
        """The choice in a reply whose fields are the right ones, checked against what was offered."""

    optional_fields: tuple[str, ...] = ()
    """Other fields that a reply may hold."""

    def required_fields(self, reply: dict[str, Any]) -> Sequence[str]:
        """Fields that this reply must hold, beside its reasoning."""
        return tuple(self.reply_fields)

    def precheck(self, trajectory: Trajectory) -> Score | None:
        """The outcome where there is nothing to ask: output, reference or context, if to be shown, is missing."""
        shown = self.evidence_kinds
        silent = trajectory.output is None and (
            "output" in shown or ("transcript" in shown and not any(message.text for message in trajectory.messages))
        )
        if silent and self.config.on_missing_output != "ask":
            return _missing(self.config.on_missing_output, ErrorType.MISSING_OUTPUT, "output")
        if (
            "reference" in shown
            and self.config.reference is None
            and trajectory.reference is None
            and self.config.on_missing_reference != "ask"
        ):
            return _missing(self.config.on_missing_reference, ErrorType.MISSING_REFERENCE, "reference")
        if "context" in shown and self.config.on_missing_context != "ask" and self.config.context is None:
            found = select(trajectory, ("context",), self.config.max_evidence_chars)
            if found.values["context"] is None:
                return _missing(self.config.on_missing_context, ErrorType.MISSING_FIELD, "context")
        return None

    def requests(self, trajectory: Trajectory) -> list[JudgeRequest]:
        """The questions about one trajectory, one a route; equal routes get counted repeats."""
        found = select(
            trajectory,
            self.evidence_kinds,
            self.config.max_evidence_chars,
            reference=self.config.reference,
            context=self.config.context,
        )
        fields = self.reply_fields
        lines = [REASONING_LINE, *(f'"{name}": {text}' for name, (text, _) in fields.items())]
        schema = object_schema(
            {"reasoning": REASONING_SCHEMA, **{name: dict(part) for name, (_, part) in fields.items()}}
        )
        messages = judge_messages(self.question, lines, found.values)
        seen: dict[str, int] = {}
        requests = []
        for route in self.routes:
            repeat = seen.get(route, 0)
            seen[route] = repeat + 1
            requests.append(
                JudgeRequest(
                    route=route,
                    messages=messages,
                    json_schema=schema,
                    schema_name=self.type.replace("-", "_"),
                    temperature=self.config.temperature,
                    max_tokens=self.config.max_tokens,
                    repeat=repeat,
                    cut=found.cut,
                )
            )
        return requests

    def read(self, reply: dict[str, Any]) -> Choice | Mistake:
        """A reply's object as a checked choice with the verdict that we make of it, or what is wrong with it."""
        reasoning = reasoning_in(reply, required=self.config.reasoning == "required")
        if isinstance(reasoning, Mistake):
            return reasoning
        mistake = fields_of(
            reply,
            self.required_fields(reply),
            optional=("reasoning", *self.optional_fields),
            ignore_others=self.config.extra_fields == "ignore",
        )
        if mistake is not None:
            return mistake
        choice = self.read_choice(reply)
        return choice if isinstance(choice, Mistake) else replace(choice, reasoning=reasoning)

    def verdict(self, trajectory: Trajectory, answers: Sequence[Answer]) -> Score:
        """The row that the answers make (one answer a request, in order)."""
        answer = answers[0]
        return row_of(answer.outcome, answers, {} if isinstance(answer.outcome, Failure) else answer.outcome.details)

    def grade_row_with(self, trajectory: Trajectory, judge: Judge) -> Score:
        """The outcome for one trajectory, asking a callable. What it raises is that question's failure."""
        started = time.perf_counter_ns()
        score = self.precheck(trajectory)
        if score is None:
            answers = [ask(judge, request, self) for request in self.requests(trajectory)]
            score = self.verdict(trajectory, answers)
        return replace(score, duration_us=(time.perf_counter_ns() - started) // 1_000)

    def grade_batch(self, batch: TrajectoryBatch) -> GradeBatch:
        """Refused: a judge needs somebody to ask."""
        raise TypeError(
            f'{self.type} asks an LLM: give "routes" in a suite, or judge= (a callable) to evaluate; '
            "there is nothing to ask here"
        )


def ask(judge: Judge, request: JudgeRequest, grader: JudgeGrader[Any]) -> Answer:
    """Ask a callable until it gives a usable reply or has shown that it does not."""
    asked = request
    attempts = 0
    while True:
        attempts += 1
        try:
            given = judge(asked)
        except JudgeCallError as fault:
            outcome: Choice | Failure = Failure(fault.error_type, "call_failed", fault.message)
            break
        except Exception as exception:  # the text of a foreign exception may quote what was sent
            timed_out = isinstance(exception, TimeoutError)
            error_type = ErrorType.JUDGE_TIMEOUT if timed_out else ErrorType.JUDGE_UNAVAILABLE
            name = type(exception).__name__
            outcome = Failure(error_type, "call_failed", f"the judge raised {name}", {"exception": name})
            break
        reply = JudgeReply(text=given) if isinstance(given, str) or given is None else JudgeReply(value=given)
        step = take_reply(asked, reply, grader.read)
        if not isinstance(step, JudgeRequest):
            outcome = step
            break
        asked = step
    return Answer(request, outcome, attempts=attempts, repairs=asked.repair)


def row_of(outcome: Choice | Failure, answers: Sequence[Answer], details: Mapping[str, Any]) -> Score:
    """A row with the verdict of `outcome` and what all the answers cost together."""
    usage = answers[0].usage
    for answer in answers[1:]:
        usage = usage.plus(answer.usage)
    more = dict(details)
    if answers[0].request.cut:
        more["cut"] = dict(answers[0].request.cut)
    if repairs := sum(answer.repairs for answer in answers):
        more["repairs"] = repairs
    if len(answers) == 1:
        more.update(answers[0].notes)
    spent: dict[str, Any] = {
        "attempts": sum(answer.attempts for answer in answers),
        "cached": all(answer.cached for answer in answers),
        "judge_route": _joined(answer.request.route for answer in answers),
        "judge_model": _joined(answer.model for answer in answers),
        "judge_response_id": answers[0].response_id if len(answers) == 1 else None,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "cost_usd": usage.cost_usd,
    }
    if isinstance(outcome, Failure):
        more = {"kind": outcome.kind, **outcome.details, **more}
        return error(outcome.error_type, outcome.message, details=more, **spent)
    return Score(
        status=outcome.status,
        score=outcome.score,
        native_score=outcome.native_score,
        label=outcome.label,
        explanation=outcome.reasoning,
        details=more or None,
        **spent,
    )


def verdict_status(passed: bool) -> Status:
    """`pass` or `fail`."""
    return Status.PASS if passed else Status.FAIL


def _joined(names: Any) -> str | None:
    known = list(dict.fromkeys(name for name in names if name is not None))
    return ",".join(known) or None


def _missing(policy: OnMissing, error_type: ErrorType, what: str) -> Score:
    if policy == "skip":
        return skipped(f"the trajectory has no {what}")
    if policy == "fail":
        return Score(Status.FAIL, score=0.0, explanation=f"the trajectory has no {what}", attempts=0)
    return error(error_type, f"the trajectory has no {what} for the judge to see", attempts=0)
