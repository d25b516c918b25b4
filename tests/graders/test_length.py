from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders import ConfigError
from graders.configured import configure
from graders.whitespace import ASCII_SPACE, WIDE_SPACE, trimmed, word_counts
from tests.graders.records import grade, outputs, statuses

SPACES = ASCII_SPACE + WIDE_SPACE


def test_bounds_are_inclusive() -> None:
    rows = outputs("", "a", "ab", "abc", "abcd")
    assert statuses(rows, type="length", min=1, max=3) == ["fail", "pass", "pass", "pass", "fail"]
    assert statuses(rows, type="length", min=2) == ["fail", "fail", "pass", "pass", "pass"]
    assert statuses(rows, type="length", max=0) == ["pass", "fail", "fail", "fail", "fail"]


def test_characters_are_code_points() -> None:
    assert statuses(outputs("é", "e\u0301", "😀", "👩‍🚀"), type="length", max=1) == ["pass", "fail", "pass", "fail"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), (" \n ", 0), ("a", 1), ("  a\tb\n c ", 3), ("a\u00a0b\u3000c", 3), ("a\u200bb", 1), ("é ü", 2)],
)
def test_words_are_split_on_white_space(text: str, count: int) -> None:
    (score,) = grade(outputs(text), type="length", unit="words", min=0)
    assert score.details == {"words": count}


def test_measure_stands_in_the_sentence_and_the_details() -> None:
    (score,) = grade(outputs("abc"), type="length", max=2)
    assert (score.explanation, score.details) == ("✘ 3 characters, at most 2 wanted", {"characters": 3})
    (score,) = grade(outputs("a b"), type="length", min=1, max=2, unit="words")
    assert score.explanation == "✔ 2 words, 1 to 2 wanted"
    (score,) = grade(outputs("a b"), type="length", min=1)
    assert score.explanation == "✔ 3 characters, at least 1 wanted"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "without a bound every output passes"),
        ({"min": 10, "max": 5}, "no output can pass"),
        ({"min": -1}, "min: "),
        ({"max": 1.5}, "max: "),
        ({"max": True}, "max: "),
        ({"max": 3, "unit": "tokens"}, "unit: "),
    ],
)
def test_refuses_bounds_that_cannot_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configure({"type": "length", **fields})


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from(list("aé😀\u200b\x1c" + SPACES))) | st.none(), max_size=8), st.integers(0, 3))
def test_words_and_trimming_as_by_hand(texts: list[str | None], skip: int) -> None:
    array = pa.array(texts, pa.string()).slice(min(skip, len(texts)))
    kept = array.to_pylist()
    by_hand = [
        sum(1 for word in "".join(" " if c in SPACES else c for c in text or "").split(" ") if word) for text in kept
    ]
    assert word_counts(array).tolist() == by_hand
    assert trimmed(array).to_pylist() == [None if text is None else text.strip(SPACES) for text in kept]
