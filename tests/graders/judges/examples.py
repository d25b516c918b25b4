"""Judges and replies that several tests use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from graders.configured import configure
from graders.judges.judge_grader import JudgeGrader
from schemas.score import Score
from schemas.trajectory import Message, ToolCall, ToolResult, Trajectory

LEVELS = [
    {"score": 0, "description": "rude"},
    {"score": 1, "description": "neutral"},
    {"score": 2, "description": "warm"},
]
LLM_SCORE = {"type": "llm-score", "criterion": "Is the reply polite?", "levels": LEVELS, "threshold": 1}
LLM_CHECKLIST = {"type": "llm-checklist", "items": ["greets", "cites policy", "signs"], "match": "all"}
RUBRIC = {"type": "rubric-judge", "rubric": "Must be correct."}
CHOICE = {
    "type": "typed-judge",
    "kind": "choice",
    "question": "Class?",
    "choices": {"safe": None, "pii": "personal data"},
    "expected": "safe",
}
ORDINAL = {"type": "typed-judge", "kind": "ordinal", "question": "Severity?", "levels": ["none", "minor", "major"]}
YES = {"type": "typed-judge", "kind": "yes-probability", "question": "Polite?"}
TRAJECTORY = Trajectory(
    trajectory_uid="u1",
    trajectory_id="t1",
    input="Where is my parcel?",
    output="It arrives on Monday.",
    reference="It arrives on Monday.",
    messages=(
        Message("user", "Where is my parcel?"),
        Message("assistant", None),
        Message("tool", '{"eta": "Monday"}', name="track", tool_call_id="c1"),
        Message("assistant", "It arrives on Monday."),
    ),
    tool_calls=(ToolCall("track", '{"id": 7}', id="c1", message_index=1),),
    tool_results=(ToolResult('{"eta": "Monday"}', tool_call_id="c1", is_error=False, message_index=2),),
)


def judge_grader(entry: Mapping[str, Any], profile: str | None = None) -> JudgeGrader[Any]:
    """A configured judge's grader."""
    grader = configure(entry, profile=profile).grader
    assert isinstance(grader, JudgeGrader)
    return grader


def judged(entry: Mapping[str, Any], reply: Any, trajectory: Trajectory = TRAJECTORY, **more: Any) -> Score:
    """The row when the judge answers every question with the same reply (an exception is raised)."""

    def judge(request: object) -> Any:
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, str) else json.dumps(reply)

    return judge_grader({**entry, **more}).grade_row_with(trajectory, judge)
