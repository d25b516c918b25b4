"""The whole-batch code gives each row what it gets alone, and what plain Python would give it."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.configured import configure
from graders.evaluation import evaluate_configured
from graders.grading import grade
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import MAX_EVIDENCE, MAX_QUOTE
from schemas.trajectory import Message, Trajectory

TEXT = st.text(st.sampled_from(list("abAB .é😀İΣ\n")), max_size=8)
MESSAGE = st.builds(
    Message,
    role=st.sampled_from(["assistant", "assistant", "user"]),
    text=TEXT | st.none(),
    flags=st.sampled_from([(), (), ("injected",), ("harmless",)]),
)
ROW = st.builds(
    Trajectory,
    output=TEXT | st.none(),
    reference=TEXT | st.none(),
    messages=st.lists(MESSAGE, max_size=4).map(tuple),
)
CONFIGS: list[dict[str, Any]] = [
    {"type": "exact"},
    {"type": "exact", "trim": True, "case_sensitive": False, "on_missing_reference": "error"},
    {"type": "contains", "texts": ["a", "b", "é"], "match": "any"},
    {"type": "not-contains", "texts": ["A", "b"], "match": "all", "case_sensitive": False},
    {"type": "regex", "pattern": "a.?b", "flags": "i", "limits": {"subject_bytes": 9}},
    {"type": "output-contains", "substring": "İ", "case_sensitive": False, "on_missing_output": "fail"},
    {"type": "output-not-matches", "pattern": "[^a]+$", "dialect": "ecma", "on_missing_output": "skip"},
    {"type": "transcript-contains", "substring": "b", "case_sensitive": False, "turns": "all"},
    {"type": "transcript-not-contains", "substring": "b", "turn": 1},
    {"type": "transcript-matches", "pattern": "^a", "turns": "last", "on_empty": "error"},
    {"type": "transcript-not-matches", "pattern": "a+", "limits": {"subject_bytes": 6}},
    {"type": "length", "min": 2, "max": 5},
    {"type": "length", "unit": "words", "max": 1, "on_missing_output": "fail"},
    {"type": "json-schema", "schema": {"type": "string", "pattern": "a"}},
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: str(config["type"]))
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(ROW, max_size=6))
def test_a_row_gets_in_a_batch_what_it_gets_alone(config: dict[str, Any], rows: list[Trajectory]) -> None:
    configured = configure(config)
    batch = TrajectoryBatch.from_trajectories(rows)
    together = configured.grader.grade_batch(TrajectoryBatch(batch.record_batch)).to_scores()
    named: dict[str, Any] = {
        "grader_name": configured.name,
        "grader_type": configured.type,
        "grader_hash": configured.grader_hash,
    }
    for row, score in zip(rows, together, strict=True):
        alone = evaluate_configured(configured, row)
        assert replace(score, **named, duration_us=alone.duration_us) == alone
        _check_shape(row, score)


def _check_shape(row: Trajectory, score: Any) -> None:
    assert (score.score is None) == (score.passed is None)
    assert (score.error_type is None) == (score.status.value != "error")
    assert (score.skip_reason is None) == (score.status.value != "skipped")
    assert len(score.evidence) <= MAX_EVIDENCE
    for place in score.evidence:
        texts = [row.output] if place.message_index is None else [row.messages[place.message_index].text]
        assert texts[0] is not None
        assert texts[0][place.start : place.end] == place.quote
        assert len(place.quote) <= MAX_QUOTE


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(ROW, max_size=6), negate=st.booleans(), turns=st.sampled_from(["any", "all", "first", "last"]))
def test_transcript_verdicts_as_by_hand(rows: list[Trajectory], negate: bool, turns: str) -> None:
    config = {"type": "transcript-contains", "substring": "a", "negate": negate, "turns": turns}
    batch = TrajectoryBatch.from_trajectories(rows)
    scores = configure(config).grader.grade_batch(batch).to_scores()
    for row, score in zip(rows, scores, strict=True):
        texts = [
            m.text for m in row.messages if m.role == "assistant" and m.text is not None and "injected" not in m.flags
        ]
        hits = ["a" in text for text in texts]
        held = {"any": any(hits), "all": all(hits), "first": hits[:1] == [True], "last": hits[-1:] == [True]}[turns]
        assert score.passed is (False if not texts else held != negate)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(ROW, max_size=6), size=st.integers(0, 3))
def test_a_slice_of_a_batch_is_graded_like_any(rows: list[Trajectory], size: int) -> None:
    configured = configure({"type": "transcript-matches", "pattern": "[ab]"})
    batch = TrajectoryBatch.from_trajectories(rows)
    whole = configured.grader.grade_batch(batch).to_scores()
    part = TrajectoryBatch(batch.record_batch.slice(size))
    assert configured.grader.grade_batch(part).to_scores() == whole[size:]


def test_making_the_rows_of_a_block_is_no_graders_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count(step=1_000_000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(ticks))
    grader = configure({"type": "readability", "minimum": 0, "maximum": 100})
    batch = TrajectoryBatch(TrajectoryBatch.from_trajectories([Trajectory(output="a b.")]).record_batch)
    first, again = grade(grader, batch, {})[1], grade(grader, batch, {})[1]
    assert batch.rows_us == 1_000
    assert first - again == 1_000  # the two looks at the clock; the milliseconds between them are left out
