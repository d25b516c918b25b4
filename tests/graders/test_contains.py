from __future__ import annotations

import pytest

from graders import ConfigError
from graders.configured import configure
from tests.graders.records import grade, outputs, statuses

ROWS = outputs("a and b", "only a", "neither", "")


@pytest.mark.parametrize(
    ("kind", "match", "wanted"),
    [
        ("contains", "all", ["pass", "fail", "fail", "fail"]),
        ("contains", "any", ["pass", "pass", "fail", "fail"]),
        ("not-contains", "all", ["fail", "fail", "pass", "pass"]),
        ("not-contains", "any", ["fail", "pass", "pass", "pass"]),
    ],
)
def test_all_and_any_of_presence_and_absence(kind: str, match: str, wanted: list[str]) -> None:
    rows = outputs("xx yy", "xx", "zz", "")
    assert statuses(rows, type=kind, texts=["xx", "yy"], match=match) == wanted


def test_one_text_may_stand_alone() -> None:
    assert statuses(ROWS, type="contains", texts="only") == ["fail", "pass", "fail", "fail"]
    one, other = (configure({"type": "contains", "texts": texts}) for texts in ("a", ["a"]))
    assert one.grader_hash == other.grader_hash


@pytest.mark.parametrize(
    ("config", "text", "sentence"),
    [
        ({"match": "all"}, "xx yy", "✔ all 2 texts found in output"),
        ({"match": "all"}, "xx", "✘ 'yy' NOT found in output"),
        ({"match": "any"}, "yy", "✔ 'yy' found in output"),
        ({"match": "any"}, "", "✘ none of 2 texts found in output"),
        ({"match": "all", "negate": True}, "", "✔ none of 2 texts found in output"),
        ({"match": "all", "negate": True}, "yy", "✘ 'yy' found in output"),
        ({"match": "any", "negate": True}, "xx", "✔ 'yy' NOT found in output"),
        ({"match": "any", "negate": True}, "xx yy", "✘ all 2 texts found in output"),
    ],
)
def test_sentence_names_the_deciding_text(config: dict[str, object], text: str, sentence: str) -> None:
    (score,) = grade(outputs(text), type="contains", texts=["xx", "yy"], **config)
    assert score.explanation == sentence


def test_evidence_has_a_place_for_each_text_found_at_most_five() -> None:
    (score, other) = grade(outputs("abcdefgh", "hz"), type="contains", texts=list("habcdefg"), match="any")
    assert [(place.start, place.quote) for place in score.evidence] == [
        (7, "h"),
        (0, "a"),
        (1, "b"),
        (2, "c"),
        (3, "d"),
    ]
    assert [(place.start, place.quote) for place in other.evidence] == [(0, "h")]


def test_warns_of_any_with_absence() -> None:
    assert configure({"type": "not-contains", "texts": ["a", "b"], "match": "any"}).warnings[0].path == ("match",)
    assert not configure({"type": "not-contains", "texts": ["a"], "match": "any"}).warnings
    assert not configure({"type": "contains", "texts": ["a", "b"], "match": "any"}).warnings


@pytest.mark.parametrize("texts", [[], [""], ["a", ""], "", None, [1]])
def test_refuses_texts_that_say_nothing(texts: object) -> None:
    with pytest.raises(ConfigError, match="texts"):
        configure({"type": "contains", "texts": texts})
