"""Literal and pattern searches against Python's own, on arrays of any texts."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.lowercase import lowered, places_before_lowering
from graders.matching import compile
from graders.text_positions import buffers, bytes_to_code_points, code_points_to_bytes, substrings
from graders.text_search import PatternSearch, SubstringSearch
from graders.trajectory_batch import MessageTexts

ALPHABET = st.text(st.sampled_from(list("abAB.*\\ \n\x00éÉßẞİıΣσςK😀\u0301")), max_size=12)


def texts_of(texts: list[str]) -> MessageTexts:
    places = np.arange(len(texts), dtype=np.int64)
    return MessageTexts(pa.array(["dropped", *texts], pa.string()).slice(1), places, places)


@settings(deadline=None)
@given(st.lists(ALPHABET, max_size=6), ALPHABET.filter(bool))
def test_literal_search_with_case(texts: list[str], needle: str) -> None:
    search, batch = SubstringSearch(needle, True), texts_of(texts)
    found = search.find(batch, spans_wanted=True)
    hit = found.hit
    assert hit.tolist() == [needle in text for text in texts]
    spans = search.spans(batch, found, np.flatnonzero(hit))
    assert spans.starts.tolist() == [text.index(needle) for text in texts if needle in text]
    quotes = substrings(batch.texts.take(pa.array(spans.indices)), spans.byte_starts, spans.byte_ends)
    assert quotes.to_pylist() == [needle] * len(spans.starts)


@settings(deadline=None)
@given(st.lists(ALPHABET, max_size=6), ALPHABET.filter(bool))
def test_literal_search_without_case(texts: list[str], needle: str) -> None:
    search, batch = SubstringSearch(needle, False), texts_of(texts)
    found = search.find(batch, spans_wanted=True)
    hit = found.hit
    assert hit.tolist() == [needle.lower() in text.lower() for text in texts]
    spans = search.spans(batch, found, np.flatnonzero(hit))
    for index, start, end in zip(spans.indices, spans.starts, spans.ends, strict=True):
        assert needle.lower() in texts[index][start:end].lower() or "Σ" in texts[index]
        assert 0 < end - start <= len(needle)


@settings(deadline=None)
@given(st.lists(ALPHABET, max_size=6))
def test_lower_casing_is_pythons(texts: list[str]) -> None:
    array = pa.array([*texts, None], pa.string())
    assert lowered(array).to_pylist() == [*(text.lower() for text in texts), None]


@settings(deadline=None)
@given(ALPHABET, st.data())
def test_places_before_lowering_hold_the_lowered_span(text: str, data: st.DataObject) -> None:
    length = len(text.lower())
    start = data.draw(st.integers(0, length))
    end = data.draw(st.integers(start, length))
    first, last = places_before_lowering(text, start, end)
    prefix = len("".join(c.lower() for c in text[:first]))
    assert prefix <= start
    if end > start:
        assert prefix + sum(len(c.lower()) for c in text[first:last]) >= end


@settings(deadline=None)
@given(st.lists(ALPHABET, max_size=6), st.sampled_from(["[aé]b?", "(?=[aé])a?", r"(a)\1?"]))
def test_pattern_search(texts: list[str], pattern: str) -> None:
    search, batch = PatternSearch(compile(pattern, "python")), texts_of(texts)
    by_re = [re.search(pattern, text) for text in texts]
    found = search.find(batch, spans_wanted=True)
    hit = found.hit
    assert hit.tolist() == [match is not None for match in by_re]
    spans = search.spans(batch, found, np.flatnonzero(hit))
    assert list(zip(spans.starts, spans.ends, strict=True)) == [match.span() for match in by_re if match]


@settings(deadline=None)
@given(st.lists(ALPHABET, min_size=1, max_size=6), st.data())
def test_code_points_to_bytes_and_back(texts: list[str], data: st.DataObject) -> None:
    array = texts_of(texts).texts
    points = np.array([data.draw(st.integers(0, len(text))) for text in texts], dtype=np.int64)
    (in_bytes,) = code_points_to_bytes(array, points)
    assert in_bytes.tolist() == [len(text[:point].encode()) for text, point in zip(texts, points, strict=True)]
    assert bytes_to_code_points(array, in_bytes)[0].tolist() == points.tolist()


def test_buffers_of_an_empty_array() -> None:
    offsets, data = buffers(pa.array([], pa.string()))
    assert (offsets.tolist(), len(data)) == ([0], 0)
