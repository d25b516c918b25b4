"""Texts that a wider pattern in RE2 keeps from backtracking."""

from __future__ import annotations

import pyarrow as pa
import pytest
import regex

import graders.matching as matching
from graders.matching import charset, worker_pool
from graders.matching.other_words import other_words

_PROSE = "It\u2019s \u201cdone\u201d \u2014 sorry\u2026 \U0001f600 0123 "


@pytest.mark.parametrize(
    ("pattern", "dialect", "text"),
    [
        (r"\bsorry\b", "python", _PROSE + "apologies"),
        (r"\b\d{4}\b", "python", _PROSE),
        (r"\w+ \w+ thanks", "python", _PROSE),
        (r"\bverzeihung\b", "python", "Pardon, c'est dommage \u00e0 l'\u00e9t\u00e9"),
        (r"(?<!not )guilty", "ecma", "an innocent text \u00e9"),
        (r"(?>guil)ty(?!\w)", "pcre", "an innocent text"),
        (r"(['\x22])secret\1", "ecma", "no such word"),
        ("x(?:a|aa)+$(?<!b)", "ecma", "a" * 5000 + "!"),
    ],
)
def test_no_worker_is_needed_where_nothing_could_match(
    pattern: str, dialect: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = matching.compile(pattern, dialect)

    def no_worker(*_: object) -> None:
        raise AssertionError("a worker was borrowed")

    monkeypatch.setattr(worker_pool.WorkerPool, "borrow", no_worker)
    assert compiled.match_array(pa.array([text])).limit is None


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\bsorry\b", "\u201csorry\u201d", True),
        (r"\bsorry\b", "\u00e9sorry", False),
        (r"\bsorry\b", "\u00e9 sorry\u2026", True),
        (r"\bsorry\b", "sorry\u0301", False),
        (r"\bsorry\b", "sorry\u200dx", False),
        (r"\bsorry\b", "\u0663sorry", False),
        (r"a\b.", "a\u2014", True),
        (r"\w\b\u20ac", "5\u20ac", True),
        (r"^\w+$", "caf\u00e9", True),
        (r"^\w+$", "caf\u2019", False),
        (r"\W\d", "\u2019\u0663", True),
    ],
)
def test_word_boundaries_beside_other_characters(pattern: str, text: str, expected: bool) -> None:
    match = matching.compile(pattern).match_text(text)
    assert match.outcome is (matching.Outcome.MATCHED if expected else matching.Outcome.NOT_MATCHED)


def test_what_regex_takes_for_a_word_at_a_boundary_is_its_own_w() -> None:
    beyond = [chr(point) for point in range(0x80, 0x110000) if not 0xD800 <= point <= 0xDFFF]
    text = "".join(f"a{character} " for character in beyond)
    bounded = {text[found.end()] for found in regex.finditer(r"a\b", text)}
    words = other_words()
    assert bounded == {character for character in beyond if not charset.contains(words, ord(character))}


def test_long_literals_and_their_alternatives_end_in_time() -> None:
    text = "a" * 1_000_000
    for dialect in ("ecma", "pcre", "python"):
        for pattern in ("a" * 3000, r"\x61" * 700, "(?:a{20}){50}", "a" * 1500 + "b|" + "a" * 1501):
            compiled = matching.compile(pattern, dialect)
            assert compiled.tier == "linear"
            assert compiled.match_text(text).start == 0
    preferred = matching.compile("x" * 300 + "|" + "x" * 301 + "|y")
    assert preferred.match_text("z" + "x" * 400 + "y").end == 301
