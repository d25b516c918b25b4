"""Judging many values by one schema: the texts that meet a pattern are collected and matched in whole arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from graders.json_validation.compiling import CompiledSchema
from graders.json_validation.outcome import Open, Outcome, SchemaLimit
from graders.json_validation.run import Run
from graders.matching import MatchLimits, Pattern, compile
from graders.matching.limits import GRADER_BUDGET, PATTERN_SIZE, SUBJECT_SIZE, TIMEOUT
from schemas.text import storable

DEPTH_LIMIT = Open("schema_depth")
"""References were followed too deep or too often."""
_CHUNK = 2_000


def validate_all(schema: CompiledSchema, values: Sequence[Any]) -> Iterator[Outcome]:
    """The outcome of each value, in order: None, a `Violation`, or an `Open` that names the limit.

    After the first pattern that a limit stops on a value, no other one is tried on that value. All patterns together
    stop at most `limits.timeouts_per_batch` times; what then still needs to backtrack is open, `grader_budget`.
    """
    run = Run(len(schema.patterns))
    matcher = _Matcher(schema.patterns, run)
    for start in range(0, len(values), _CHUNK):
        yield from _chunk(schema, values[start : start + _CHUNK], run, matcher)


def _chunk(schema: CompiledSchema, values: Sequence[Any], run: Run, matcher: _Matcher) -> list[Outcome]:
    outcomes: list[Outcome] = [None] * len(values)
    waiting: Sequence[int] = range(len(values))
    while waiting:
        still: list[int] = []
        wanted: list[set[str]] = [set() for _ in schema.patterns]
        for place in waiting:
            run.start()
            outcome = _judged(schema, values[place], run)
            if isinstance(outcome, Open) and not run.stopped and any(run.wanted):
                still.append(place)
                for texts, more in zip(wanted, run.wanted, strict=True):
                    texts |= more
            elif isinstance(outcome, Open) and outcome.limit is None:
                outcomes[place] = matcher.stopped
            else:
                outcomes[place] = outcome
        matcher.answer(wanted)
        waiting = still
    return outcomes


def _judged(schema: CompiledSchema, value: Any, run: Run) -> Outcome:
    try:
        return schema.check(value, run)
    except (SchemaLimit, RecursionError):
        run.stopped = True
        return DEPTH_LIMIT


class _Matcher:
    """Finds the answers that are wanted, and keeps count of the evaluations that were stopped."""

    def __init__(self, patterns: Sequence[Pattern], run: Run) -> None:
        self._patterns = patterns
        self._run = run
        self._left = patterns[0].limits.timeouts_per_batch if patterns else 0
        self.stopped = Open(TIMEOUT)
        """What a value is that waits for answers after a limit stopped one of its own."""

    def answer(self, wanted: Sequence[set[str]]) -> None:
        """Match the wanted texts.

        A pattern that is stopped is not tried on the others before the values were judged again.
        """
        for pattern, texts, known in zip(self._patterns, wanted, self._run.answers, strict=True):
            if texts:
                self._match(pattern, list(texts), known)

    def _match(self, pattern: Pattern, texts: list[str], known: dict[str, Any]) -> None:
        once = compile(pattern.pattern, pattern.dialect, _stopping_once(pattern.limits))
        matches = once.match_array(pa.array([storable(text) for text in texts], pa.large_string()))
        limits = [None] * len(texts) if matches.limit is None else matches.limit.to_pylist()
        for text, matched, limit in zip(texts, matches.matched.to_pylist(), limits, strict=True):
            if limit is None:
                known[text] = matched
            elif limit != GRADER_BUDGET:
                known[text] = Open(limit)
                self._left -= limit not in (PATTERN_SIZE, SUBJECT_SIZE)
        if self._left <= 0:
            for text in texts:
                known.setdefault(text, Open(GRADER_BUDGET))


def _stopping_once(limits: MatchLimits) -> MatchLimits:
    return limits.lowered(timeouts_per_batch=1)
