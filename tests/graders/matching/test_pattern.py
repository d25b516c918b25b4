from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
import regex

import graders.matching as matching
from graders.matching import charset
from graders.matching.folding import every_character, same_as_in_regex
from tests.graders.matching.corpora import grading_patterns

_TEXTS = ["a1", None, "éa\n", "", "b\ra", "😀a", "a\n"]


@pytest.mark.parametrize("array_type", [pa.string(), pa.large_string()])
@pytest.mark.parametrize(
    ("pattern", "dialect"), [("a$", "python"), ("(?<!b)a$", "pcre"), (r"(?m)^a", "ecma"), (r"\ba", "python")]
)
def test_every_layout_of_the_same_texts_gets_the_same_answer(
    pattern: str, dialect: str, array_type: pa.DataType
) -> None:
    compiled = matching.compile(pattern, dialect)
    one_by_one = [None if text is None else compiled.match_text(text) for text in _TEXTS]
    array = pa.array(["x", *_TEXTS, "y"], array_type)[1:-1]
    for layout in (array, pa.chunked_array([array[:3], array[3:3], array[3:]])):
        judged = compiled.match_array(layout, spans=True)
        assert judged.starts is not None
        assert judged.ends is not None
        for row, expected in enumerate(one_by_one):
            matched = None if expected is None else expected.outcome is matching.Outcome.MATCHED
            assert judged.matched[row].as_py() == matched
            assert judged.starts[row].as_py() == (expected.start if expected else None)
            assert judged.ends[row].as_py() == (expected.end if expected else None)
        assert compiled.match_array(layout).matched == judged.matched


def test_spans_are_code_points() -> None:
    judged = matching.compile("b+").match_array(pa.array(["éébb", "abb", "😀b"]), spans=True)
    assert judged.starts is not None
    assert judged.ends is not None
    assert (judged.starts.to_pylist(), judged.ends.to_pylist()) == ([2, 1, 1], [4, 3, 2])


def test_no_texts_give_no_verdicts() -> None:
    compiled = matching.compile("a")
    for empty in (pa.array([], pa.string()), pa.chunked_array([], pa.string()), pa.array([None, None], pa.string())):
        judged = compiled.match_array(empty, spans=True)
        assert judged.matched.null_count == len(empty)
        assert judged.limit is None


def test_patterns_are_equal_hashed_and_pickled_by_what_they_were_made_of() -> None:
    pattern = matching.compile("(?<=a)b", "pcre", flags="i")
    copy = pickle.loads(pickle.dumps(pattern))
    assert copy == pattern
    assert hash(copy) == hash(pattern)
    assert copy != matching.compile("(?<=a)b", "ecma", flags="i")
    assert copy.match_text("AB").outcome is matching.Outcome.MATCHED


def test_lone_surrogates_count_as_the_replacement_character() -> None:
    assert matching.compile("\ufffd").match_text("a\ud800").start == 1


@pytest.mark.parametrize(
    ("pattern", "dialect", "position", "supported"),
    [
        ("ab(", "python", 3, True),
        ("x" * 5 + "a**", "python", 7, True),
        ("é(?P<n>a)", "ecma", 1, True),
        ("ab++", "ecma", 3, True),
        ("a(?i)b", "ecma", 1, True),
        ("(?ix)b", "ecma", 3, True),
        ("(?ii)b", "ecma", 3, True),
        ("a[b", "ecma", 1, True),
        ("a)", "pcre", 1, True),
        (r"ab\q", "pcre", 2, True),
        ("a(*ACCEPT)b", "pcre", 1, False),
        ("(*UTF)b", "pcre", 0, False),
        ("(?|a|b)", "pcre", 0, False),
        (r"(?i)(é)\1", "pcre", 7, False),
        (r"(?:(a)|b)*\1", "ecma", 10, False),
        ("(" * 150 + ")" * 150, "pcre", 100, False),
    ],
)
def test_an_invalid_pattern_says_where_and_whose_fault(
    pattern: str, dialect: str, position: int, supported: bool
) -> None:
    with pytest.raises(matching.InvalidPattern) as caught:
        matching.compile(pattern, dialect)
    assert (caught.value.position, caught.value.supported) == (position, supported)
    assert pickle.loads(pickle.dumps(caught.value)).reason == caught.value.reason


@pytest.mark.parametrize(
    ("flags", "dialect"), [("x", "ecma"), ("ii", "ecma"), ("u", "ecma"), ("y", "ecma"), ("g", "pcre")]
)
def test_flags_that_are_not_honoured_are_refused(flags: str, dialect: str) -> None:
    with pytest.raises(matching.InvalidPattern):
        matching.compile("a", dialect, flags=flags)


def test_flags_and_literals() -> None:
    assert matching.compile("^a.b$", "ecma", flags="gims").match_text("x\nA\nB").outcome is matching.Outcome.MATCHED
    literal = matching.compile("a.b(", "ecma", literal=True, flags="i")
    assert literal.match_text("xA.B(").start == 1
    assert literal.match_text("aXb(").outcome is matching.Outcome.NOT_MATCHED


def test_nine_of_ten_patterns_of_practice_are_linear_up_to_100_kb() -> None:
    sources = grading_patterns()
    assert len(set(sources)) == 100
    text = "".join(chr(33 + n % 94) if n % 7 else " " for n in range(100_000))
    never_needed_a_worker = 0
    for source in sources:
        pattern = matching.compile(source)
        program = pattern._program
        assert program is not None
        if program.forms is None:
            continue
        kinds = [kind for kind in program.forms.needs.kinds() if kind.ascii or not program.forms.needs.ascii]
        forms = [program.forms.forms.get(kind) for kind in kinds]
        never_needed_a_worker += all(form is not None and form.most_bytes >= len(text) for form in forms)
    assert never_needed_a_worker >= 90


@pytest.mark.parametrize("character", [chr(point) for point in range(128)])
def test_ascii_characters_fold_as_they_do_among_all_of_unicode(character: str) -> None:
    everything = regex.findall(f"(?i){regex.escape(character)}", every_character())
    assert same_as_in_regex(character) == charset.of(ord(character), *map(ord, everything))
