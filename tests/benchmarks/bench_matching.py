"""Texts a second of the ways to match a pattern: `python -m tests.benchmarks.bench_matching`.

One process, one thread. Short texts are about 80 bytes, long ones about 10 kB; each cell is the best of a few passes.
"This engine" is measured through `Pattern.match_array`, Arrow array in and Arrow array out; the backtracking tier is
given the same patterns by calling its judge directly, isolation included.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import re2  # type: ignore[import-untyped]
import regex

import graders.matching as matching
from graders.matching import cost
from graders.matching.backtracking import judge
from graders.matching.text_array import TextArray

_PATTERNS = [
    r"(?i)i (?:can't|cannot|will not)",
    r"\b\d{3}-\d{2}-\d{4}\b",
    r"[\w.+-]+@[\w-]+\.[\w.-]+",
    r"```[a-z]*\n[\s\S]*?```",
    r'"status"\s*:\s*"(?:ok|success)"',
]
_WORDS = [
    *[
        "the",
        "agent",
        "called",
        "a",
        "tool",
        "and",
        "read",
        "42",
        "files",
        "in",
        "src/main.py",
        "but",
        "cannot",
        "finish:",
        "see",
    ],
    *["https://x.io", "[1]", "ok\n"],
]
_PASSES = 3


def _texts(count: int, words: int) -> list[str]:
    source = random.Random(7)
    return [" ".join(source.choices(_WORDS, k=words)) for _ in range(count)]


def _with_re(texts: list[str]) -> Callable[[str], object]:
    def run(source: str) -> object:
        search = re.compile(source).search
        return [search(text) is not None for text in texts]

    return run


def _with_regex(texts: list[str], timeout: float | None) -> Callable[[str], object]:
    def run(source: str) -> object:
        search = regex.compile(source).search
        if timeout is None:
            return [search(text) is not None for text in texts]
        return [search(text, timeout=timeout) is not None for text in texts]

    return run


def _with_re2(texts: list[str]) -> Callable[[str], object]:
    def run(source: str) -> object:
        search = re2.compile(source).search
        return [search(text) is not None for text in texts]

    return run


def _linear(array: pa.Array) -> Callable[[str], object]:
    return lambda source: matching.compile(source).match_array(array)


def _backtracking(array: pa.Array) -> Callable[[str], object]:
    def run(source: str) -> object:
        program = matching.compile(source)._program
        assert program is not None
        return judge(program.backtracking, TextArray(array).texts(np.arange(len(array))), spans=False)

    return run


def _texts_a_second(run: Callable[[str], object], count: int) -> float:
    best = float("inf")
    for _ in range(_PASSES):
        began = time.perf_counter()
        for source in _PATTERNS:
            run(source)
        best = min(best, time.perf_counter() - began)
    return count * len(_PATTERNS) / best


def measure(short_count: int = 30_000, long_count: int = 1_000) -> list[tuple[str, float, float]]:
    """Rows of the table: the way, and its short and long texts a second, averaged over the patterns."""
    rows: dict[str, list[float]] = {}
    for count, words in ((short_count, 14), (long_count, 1_750)):
        texts = _texts(count, words)
        array = pa.array(texts)
        ways = {
            "re (no bound)": _with_re(texts),
            "regex (no bound)": _with_regex(texts, None),
            "regex, timeout=0.1": _with_regex(texts, 0.1),
            "google-re2, one call a text": _with_re2(texts),
            "this engine, linear tier": _linear(array),
            "this engine, backtracking tier": _backtracking(array),
        }
        for name, run in ways.items():
            rows.setdefault(name, []).append(_texts_a_second(run, count))
    return [(name, short, long) for name, (short, long) in rows.items()]


def worst_nanoseconds_per_instruction() -> float:
    """What RE2 needs for an instruction and byte where nearly every byte makes a new state."""
    text = pa.array(["".join(random.Random(3).choices("ab", k=300_000))])
    worst = 0.0
    for repeats in (30, 100, 300):
        source = f"a[ab]{{{repeats}}}c"
        program = matching.compile(source)._program
        assert program is not None
        assert program.forms is not None
        form = next(iter(program.forms.forms.values()))
        size = 100_000_000 / cost.NANOSECONDS_PER_INSTRUCTION / form.most_bytes
        began = time.perf_counter()
        pc.match_substring_regex(text, form.pattern)
        worst = max(worst, (time.perf_counter() - began) * 1e9 / size / 300_000)
    return worst


def main() -> None:
    """Print the table."""
    rows = measure()
    by_name = {name: (short, long) for name, short, long in rows}
    bounded = by_name["regex, timeout=0.1"]
    print(f"{'way':32}{'short texts/s':>16}{'long texts/s':>16}{'x timeout= (short)':>20}")
    for name, short, long in rows:
        print(f"{name:32}{short:16,.0f}{long:16,.0f}{short / bounded[0]:20.2f}")
    print(
        f"RE2's worst case: {worst_nanoseconds_per_instruction():.1f} ns an instruction and byte "
        f"(the cost guard assumes {cost.NANOSECONDS_PER_INSTRUCTION:.0f})"
    )


if __name__ == "__main__":
    main()
