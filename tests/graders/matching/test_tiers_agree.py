"""The two tiers never give different verdicts for one dialect.

`GRADEBEAM_FUZZ_PAIRS=200000 pytest tests/graders/matching/test_tiers_agree.py` is the long mode; `GRADEBEAM_FUZZ_SEED`
chooses other patterns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graders.matching as matching
from graders.matching import needles
from graders.matching.backtracking import judge
from graders.matching.text_array import TextArray
from tests.graders.matching.pattern_grammar import TEXT_CHARACTERS, PatternGrammar

_PAIRS = int(os.environ.get("GRADEBEAM_FUZZ_PAIRS", "6000"))
_SEED = int(os.environ.get("GRADEBEAM_FUZZ_SEED", "2026"))
_DIALECTS = ["ecma", "pcre", "python"]


@pytest.fixture(scope="module", autouse=True)
def needles_in_short_texts() -> Iterator[None]:
    """Needles are looked for in these short texts too, which in use would not pay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(needles, "_LEAST_BYTES", 0)
        patch.setattr(needles, "_DENSE", 0)
        patch.setattr(needles, "_SHORTEST", 2)
        yield


def _runs_in_re2(pattern: matching.Pattern) -> bool:
    """Whether RE2 has a say in some verdict: a pattern that backtracks may have a sieve."""
    forms = pattern._program.forms if pattern._program is not None else None
    return forms is not None and (bool(forms.forms) or forms.sieve is not None)


def _disagreements(pattern: matching.Pattern, texts: list[str]) -> list[str]:
    array = pa.array(texts, pa.string())
    linear = pattern.match_array(array, spans=True)
    program = pattern._program
    assert program is not None
    backtracked = judge(program.backtracking, TextArray(array).texts(np.arange(len(texts))), spans=True)
    assert backtracked.spans is not None
    assert linear.starts is not None
    assert linear.ends is not None
    found: list[str] = []
    for row, text in enumerate(texts):
        matched, hit = linear.matched[row].as_py(), bool(backtracked.matched[row])
        if backtracked.limit[row]:
            continue
        span = (linear.starts[row].as_py(), linear.ends[row].as_py())
        if matched != hit or (hit and span != tuple(backtracked.spans[row])):
            found.append(f"{pattern!r} on {text!r}: {matched} {span}, {hit} {backtracked.spans[row]}")
    return found


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_seeded_patterns(dialect: str) -> None:
    grammar = PatternGrammar(dialect, _SEED)
    pairs, wanted = 0, _PAIRS / len(_DIALECTS)
    while pairs < wanted:
        source = grammar.pattern()
        try:
            pattern = matching.compile(source, dialect)
        except matching.InvalidPattern:
            continue
        if _runs_in_re2(pattern):
            texts = ["", "a\n", *(grammar.text(source) for _ in range(8))]
            assert _disagreements(pattern, texts) == []
            pairs += len(texts)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    dialect=st.sampled_from(_DIALECTS),
    pieces=st.lists(
        st.sampled_from([*"aks.^$|*+?()é", "(?i)", r"\w", r"\b", r"\B", "[^a]", "(?:", "{2}", "\n"]), max_size=9
    ),
    texts=st.lists(st.text(st.sampled_from(TEXT_CHARACTERS), max_size=8), min_size=1, max_size=5),
)
def test_any_patterns(dialect: str, pieces: list[str], texts: list[str]) -> None:
    source = "".join(pieces)
    position = _position_if_invalid(source, dialect)
    if position is not None:
        assert 0 <= position <= len(source)
        return
    pattern = matching.compile(source, dialect)
    if _runs_in_re2(pattern):
        assert _disagreements(pattern, texts) == []


def _position_if_invalid(source: str, dialect: str) -> int | None:
    try:
        matching.compile(source, dialect)
    except matching.InvalidPattern as error:
        return error.position
    return None
