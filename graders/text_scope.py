"""Which texts of a trajectory a text grader looks at, and how their answers make one outcome of the row.

Every text is searched by itself; texts are never joined. The logic is three-valued: a search that a limit stopped is
neither found nor not found, so any(stopped, found) is found, any(stopped, not found) is an error, all(stopped, not
found) is not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from graders.evidence import evidence_column, marked
from graders.grade_batch import GradeBatch
from graders.outcome_columns import Fault, Outcomes, coded
from graders.text_config import OnMissing
from graders.text_positions import Mask, Positions
from graders.text_search import Found, Search, Spans
from graders.trajectory_batch import MessageTexts, TrajectoryBatch
from schemas.score import ErrorType

Turns = Literal["any", "all", "first", "last"]
OnEmpty = Literal["pass", "fail", "error"]

NO_MESSAGES = "no assistant messages in transcript to check"
NO_OUTPUT = "the trajectory has no output"
MISSING_OUTPUT = Fault(ErrorType.MISSING_OUTPUT, NO_OUTPUT)


@dataclass(frozen=True, slots=True)
class Sentences:
    """What the evidence says of a text that holds the thing and of one that does not, without mark."""

    found: str
    not_found: str


def grade_outputs(
    batch: TrajectoryBatch, search: Search, said: Sentences, *, negate: bool, on_missing: OnMissing, evidence: bool
) -> GradeBatch:
    """Search the final outputs: pass where found (where not found, when negated)."""
    outcomes = Outcomes.of(len(batch))
    texts = batch.outputs
    sentences = [
        marked(True, said.not_found if negate else said.found),
        marked(False, said.found if negate else said.not_found),
    ]
    found = search.find(texts, spans_wanted=evidence)
    codes = _decided(outcomes, texts, found, negate=negate, all_texts=False)
    if len(texts.rows) < len(batch):
        without = np.ones(len(batch), bool)
        without[texts.rows] = False
        missing_output(outcomes, without, on_missing)
        sentences.append(marked(False, NO_OUTPUT))
        codes.said[without & ~outcomes.undecidable] = 2
    places = search.spans(texts, found, codes.deciding) if evidence and len(codes.deciding) else None
    return _finished(batch, texts, outcomes, codes, sentences, places)


def grade_transcripts(
    batch: TrajectoryBatch,
    search: Search,
    said: Sentences,
    *,
    negate: bool,
    turn: int | None,
    turns: Turns,
    on_empty: OnEmpty,
    evidence: bool,
) -> GradeBatch:
    """Search the assistant messages one by one: pass where any, all or the chosen one holds it; negation flips that."""
    outcomes = Outcomes.of(len(batch))
    every = batch.assistant_texts
    counts = np.bincount(every.rows, minlength=len(batch))
    texts = chosen_turns(every, counts, turn, turns)
    sentences = [
        marked(True, said.not_found if negate else said.found),
        marked(False, said.found if negate else said.not_found),
    ]
    found = search.find(texts, spans_wanted=evidence)
    codes = _decided(outcomes, texts, found, negate=negate, all_texts=turns == "all")
    empty = counts == 0
    if turn is not None and (outside := ~empty & (counts <= turn)).any():
        message = f"turn {turn} asked for, but the transcript has fewer assistant messages"
        outcomes.fail(outside, Fault(ErrorType.TURN_OUT_OF_RANGE, message, {"turn": turn}))
    if empty.any():
        if on_empty == "error":
            outcomes.fail(empty, Fault(ErrorType.MISSING_FIELD, NO_MESSAGES, {"field": "messages"}))
        else:
            outcomes.decide(empty, on_empty == "pass")
            sentences.append(marked(on_empty == "pass", NO_MESSAGES))
            codes.said[empty] = 2
    places = search.spans(texts, found, codes.deciding) if evidence and len(codes.deciding) else None
    return _finished(batch, texts, outcomes, codes, sentences, places)


def missing_output(outcomes: Outcomes, rows: Mask, policy: OnMissing) -> None:
    """Give rows without output the outcome that the policy says."""
    if policy == "error":
        outcomes.fail(rows, MISSING_OUTPUT)
    elif policy == "skip":
        outcomes.skip(rows, NO_OUTPUT)
    else:
        outcomes.decide(rows, False)


def limit_fault(name: str) -> Fault:
    """The error of a search that a limit stopped."""
    return Fault(ErrorType.REGEX_RESOURCE_LIMIT, f"the match was stopped by its limit {name}", {"limit": name})


def chosen_turns(texts: MessageTexts, counts: npt.NDArray[np.int64], turn: int | None, turns: Turns) -> MessageTexts:
    """The texts of the chosen assistant messages: number `turn` (from 0), the first or last of each row, or all."""
    if turn is None and turns in ("any", "all"):
        return texts
    ends = np.cumsum(counts)
    starts = ends - counts
    position = ends - 1 if turns == "last" and turn is None else starts + (turn or 0)
    return texts.take(position[(position >= starts) & (position < ends)])


@dataclass(slots=True)
class _Codes:
    said: npt.NDArray[np.int16]
    """Which sentence each row gets."""
    deciding: Positions
    """The texts that hold the thing and stand for their row, in order."""


def _decided(outcomes: Outcomes, texts: MessageTexts, found: Found, *, negate: bool, all_texts: bool) -> _Codes:
    length = len(outcomes.status)
    hits = np.flatnonzero(found.hit)
    hit_rows = texts.rows[hits]
    held = np.zeros(length, bool)
    held[hit_rows] = True
    stopped = None if found.limits is None else found.limits != None  # noqa: E711 - element by element
    stopped_rows = np.zeros(length, bool)
    if stopped is not None:
        stopped_rows[texts.rows[stopped]] = True
    if all_texts:
        missed = ~found.hit if stopped is None else ~found.hit & ~stopped
        failed = np.zeros(length, bool)
        failed[texts.rows[missed]] = True
        open_rows = stopped_rows & ~failed
        held &= ~failed & ~open_rows
    else:
        open_rows = stopped_rows & ~held
    outcomes.decide(slice(None), held != negate)
    if stopped is not None and open_rows.any():
        _stopped(outcomes, texts, found, open_rows)
    first = np.ones(len(hits), bool)
    first[1:] = hit_rows[1:] != hit_rows[:-1]
    deciding = hits[first & held[hit_rows]]
    said = np.where(outcomes.undecidable, -1, outcomes.status).astype(np.int16)
    return _Codes(said, deciding)


def _stopped(outcomes: Outcomes, texts: MessageTexts, found: Found, open_rows: Mask) -> None:
    assert found.limits is not None
    for name in dict.fromkeys(name for name in found.limits if name is not None):
        rows = texts.rows[found.limits == name]
        rows = rows[open_rows[rows] & ~outcomes.undecidable[rows]]
        if len(rows):
            outcomes.fail(rows, limit_fault(name))


def _finished(
    batch: TrajectoryBatch,
    texts: MessageTexts,
    outcomes: Outcomes,
    codes: _Codes,
    sentences: list[str],
    places: Spans | None,
) -> GradeBatch:
    codes.said[outcomes.undecidable] = -1
    columns: dict[str, pa.Array] = {"explanation": coded(codes.said, sentences)}
    evidence = None if places is None else evidence_column(batch, texts, [places])
    return outcomes.finished(columns if evidence is None else {**columns, "evidence": evidence})
