from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.matching.literal import contains_array, find_literal_span

_CHARACTERS = st.sampled_from("aAkKsSiIéÉſKßẞİıΣσς .\n😀")


@pytest.mark.parametrize(
    ("text", "needle", "folded", "lowered"),
    [
        ("STRASSE", "ß", False, False),
        ("ẞ", "ß", True, True),
        ("\u212a", "k", True, True),
        ("ſ", "s", True, False),
        ("ΟΔΟΣ", "ος", True, True),
        ("ΟΔΟΣ", "οσ", True, False),
        ("İ", "i", False, True),
        ("I", "ı", False, False),
        ("É", "é", True, True),
        ("abc", "", True, True),
    ],
)
def test_the_two_rules_of_ignoring_case(text: str, needle: str, folded: bool, lowered: bool) -> None:
    assert contains_array(pa.array([text]), needle, False).to_pylist() == [folded]
    assert contains_array(pa.array([text]), needle, False, rule="lower").to_pylist() == [lowered]
    assert (find_literal_span(text, needle, False) is not None) == folded
    assert (find_literal_span(text, needle, False, rule="lower") is not None) == lowered


def test_case_sensitive_search_keeps_nulls_chunks_and_slices() -> None:
    texts = pa.chunked_array([pa.array(["x", "ab", None])[1:], ["AB", "cab"]])
    assert contains_array(texts, "ab", True).to_pylist() == [True, None, False, True]
    assert contains_array(texts, "ab", False).to_pylist() == [True, None, True, True]


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.text(_CHARACTERS, max_size=6), max_size=6), needle=st.text(_CHARACTERS, max_size=3))
def test_arrays_agree_with_single_texts(texts: list[str], needle: str) -> None:
    array = pa.array(texts, pa.string())
    lowered = [needle.lower() in text.lower() for text in texts]
    assert contains_array(array, needle, False, rule="lower").to_pylist() == lowered
    folded = [find_literal_span(text, needle, False) is not None for text in texts]
    assert contains_array(array, needle, False).to_pylist() == folded


def test_every_character_lowers_as_in_python() -> None:
    characters = [chr(point) for point in range(0x20000) if not 0xD800 <= point <= 0xDFFF]
    for character in "iςσåⱥ":
        expected = [character in text.lower() for text in characters]
        assert contains_array(pa.array(characters), character, False, rule="lower").to_pylist() == expected
