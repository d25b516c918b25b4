"""No pattern of the committed corpus takes an evaluation beyond its budget, or another text's verdict with it."""

from __future__ import annotations

import contextlib
import time

import pyarrow as pa
import pytest

import graders.matching as matching
from tests.graders.matching.corpora import ExplodingCase, exploding_cases
from tests.graders.matching.execution import measured

_CASES = exploding_cases()
_OWN_EXECUTION_MS = 120.0


def test_the_corpus_is_large_and_its_texts_reach_the_limit() -> None:
    assert len(_CASES) >= 60
    assert max(len(case.subject.encode()) for case in _CASES) == 1_048_576


@pytest.mark.parametrize("case", _CASES, ids=[f"{n}-{case.pattern[:20]}" for n, case in enumerate(_CASES)])
def test_an_evaluation_ends_within_its_execution_bound(case: ExplodingCase) -> None:
    pattern = matching.compile(case.pattern, case.dialect)
    execution = measured(pattern, case.subject)
    assert execution.cpu_ms <= _OWN_EXECUTION_MS
    assert execution.match.limit in (None, "timeout", "memory")


def test_texts_after_an_exploding_one_are_still_judged() -> None:
    pattern = matching.compile(r"^(?=.)(a|aa)+$")
    bomb = "a" * 5000 + "!"
    judged = pattern.match_array(pa.array(["aa", bomb, "b", None, bomb, "aaa"]))
    assert judged.matched.to_pylist() == [True, None, False, None, None, True]
    assert judged.limit is not None
    assert judged.limit.to_pylist() == [None, "timeout", None, None, "timeout", None]


def test_other_patterns_are_complete_while_one_explodes_on_every_text() -> None:
    texts = pa.array(["a" * 5000 + "!", "a" * 6000 + "?"] * 4)
    exploding = matching.compile(r"(?=.)(a|aa)+$", limits=matching.MatchLimits(timeouts_per_batch=3))
    others = [matching.compile("!"), matching.compile("a(?=!)"), matching.compile(r"(a)\1!", "ecma")]
    stopped = exploding.match_array(texts)
    assert stopped.limit is not None
    assert stopped.limit.to_pylist() == ["timeout"] * 3 + ["grader_budget"] * 5
    for pattern in others:
        judged = pattern.match_array(texts)
        assert judged.limit is None
        assert judged.matched.to_pylist() == [True, False] * 4


def test_a_pattern_that_eats_memory_is_a_limit() -> None:
    limits = matching.MatchLimits(memory_bytes=64 * 1024 * 1024)
    pattern = matching.compile(r"(?=a)(?:(a)|(b))*$(?<=c)", limits=limits)
    judged = pattern.match_array(pa.array(["ab" * 524_288, "ab"]))
    assert judged.limit is not None
    assert judged.limit.to_pylist() == ["memory", None]


@pytest.mark.parametrize(
    ("pattern", "dialect"),
    [("((a{1000}){1000}){1000}", "python"), (r"(?:\pL{1000}){1000}", "pcre"), ("(?:(?:x?){900}){900}(?!y)", "ecma")],
)
def test_a_pattern_that_explodes_when_compiled_is_a_limit_for_every_text(pattern: str, dialect: str) -> None:
    judged = matching.compile(pattern, dialect).match_array(pa.array(["é" * 10, "x", None]))
    if judged.limit is not None:
        assert set(judged.limit.to_pylist()) <= {None, "timeout", "memory"}
    assert judged.matched[2].as_py() is None


_COMPILE_BOMBS = [
    "".join(f"[{chr(0x100 + n)}-\uffff]" for n in range(550)),
    "(?i)" + "".join(f"[{chr(0x100 + n)}-\uffff]" for n in range(550)),
    "(?i)" + "".join(rf"[\W{chr(0x100 + n)}]" for n in range(600)),
    "(?i)[" + "".join(chr(0x100 + 2 * n) for n in range(1900)) + "]",
    "|".join(f"w{n}" for n in range(900)),
    "(?i)" + "|".join(f"k{n}s" for n in range(700)),
    "(?:" * 90 + "a" + "){1,9}" * 90,
    "(?:x{0,1000}){0,1000}" * 150,
    "(?:){999}" * 400,
    "(?:|){1000}" * 300,
    r"(?:\b|^|$|){30}" * 150,
    "(a?" * 90 + ")*" * 90,
    "[a-z]*" * 600,
    "(?<=" * 90 + "a" + ")" * 90,
    "[:[.[=" * 600,
    r"\p{L}" * 800,
]


@pytest.mark.parametrize("dialect", ["ecma", "pcre", "python"])
@pytest.mark.parametrize("bomb", range(len(_COMPILE_BOMBS)))
def test_compiling_is_bounded_too(bomb: int, dialect: str) -> None:
    matching.compile("(?i)K", dialect)
    began = time.thread_time()
    with contextlib.suppress(matching.InvalidPattern):
        matching.compile(_COMPILE_BOMBS[bomb], dialect)
    assert time.thread_time() - began < 3.0
