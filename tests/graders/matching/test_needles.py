"""What every match must hold, and where it is found."""

from __future__ import annotations

import pyarrow as pa
import pytest

import graders.matching as matching
from graders.matching import needles
from graders.matching.needles import Needle, candidates
from graders.matching.text_array import TextArray


def _needles(pattern: str) -> list[tuple[str, bool]]:
    program = matching.compile(pattern)._program
    assert program is not None
    assert program.forms is not None
    form = next(iter(program.forms.forms.values()))
    return [(needle.data.decode(), any(needle.any_case)) for needle in form.needles]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(?i)sorry|apolog", [("sorry", True), ("apolog", True)]),
        (r"[0-9]+\.[0-9]{2} (USD|EUR)", [("USD", False), ("EUR", False)]),
        (r"\w+@example\.com", [("@example.com", False)]),
        (r"\bsecret\b", [("secret", False)]),
        ("[ab](?:caf\u00e9)+", [("caf", False)]),
        ("(?:abcd)*x?", []),
        ("abc|[0-9]+", []),
        ("abc[0-9]", []),
        ("^abc", []),
        ("[0-9]abc$", []),
        ("[0-9](?:ab|cd|ef|gh)", []),
        ("[xy]q", []),
    ],
)
def test_the_needles_of_a_pattern(pattern: str, expected: list[tuple[str, bool]]) -> None:
    assert _needles(pattern) == expected


def test_a_letter_with_a_third_case_beyond_ascii_is_no_needle_there() -> None:
    program = matching.compile("(?i)[0-9]sorry")._program
    assert program is not None
    assert program.forms is not None
    found = {kind.ascii: form.needles for kind, form in program.forms.forms.items()}
    assert [needle.data for needle in found[True]] == [b"sorry"]
    assert [needle.data for needle in found[False]] == [b"orry"]
    texts = ["7\u017forry " + "x" * 40, "y" * 40, "8SORRY", "9 sorry"] * 500
    assert (
        matching.compile("(?i)[0-9]sorry").match_array(pa.array(texts)).matched.to_pylist()
        == [
            True,
            False,
            True,
            False,
        ]
        * 500
    )


def test_candidates_are_whole_needles_in_chunks_slices_and_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needles, "_LEAST_BYTES", 0)
    monkeypatch.setattr(needles, "_DENSE", 0)
    monkeypatch.setattr(needles, "_CHUNK", 64)
    wanted = (Needle(b"needle", (True,) * 6),)
    texts = ["hay" * 7 + ("NEEdle" if n % 9 == 4 else "needl") + "hay" * (n % 5) for n in range(200)]
    found = candidates(wanted, TextArray(pa.array(texts)[3:]))
    assert found is not None
    assert found.tolist() == [n - 3 for n in range(3, 200) if n % 9 == 4]


def test_a_needle_that_is_everywhere_is_not_looked_for() -> None:
    wanted = (Needle(b"aa", (False, False)),)
    assert candidates(wanted, TextArray(pa.array(["a" * 1000] * 100))) is None


def test_nulls_stay_null_where_needles_are_looked_for() -> None:
    texts = pa.array([None, "1.50 USD", "x" * 100, None] * 400)
    matched = matching.compile(r"[0-9]+\.[0-9]{2} (USD|EUR)").match_array(texts).matched
    assert matched.to_pylist() == [None, True, False, None] * 400
