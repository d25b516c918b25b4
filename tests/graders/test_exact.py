from __future__ import annotations

import pytest

from graders import evaluate
from schemas.score import ErrorType
from schemas.trajectory import Trajectory
from tests.graders.records import grade, outputs, statuses


def pairs(*rows: tuple[str | None, str | None]) -> list[Trajectory]:
    return [Trajectory(output=output, reference=reference) for output, reference in rows]


def test_compares_with_each_rows_reference() -> None:
    rows = pairs(("a", "a"), ("a", "b"), ("", ""), ("é", "e\u0301"))
    assert statuses(rows, type="exact") == ["pass", "fail", "pass", "fail"]


def test_compares_with_a_fixed_value() -> None:
    assert statuses(pairs(("a", "b"), ("b", "b")), type="exact", value="a") == ["pass", "fail"]


@pytest.mark.parametrize(
    ("options", "output", "wanted"),
    [
        ({}, "billing\n", "fail"),
        ({"trim": True}, "\u00a0billing\r\n\u3000", "pass"),
        ({"trim": True}, "bil ling", "fail"),
        ({"trim": True}, "Billing", "fail"),
        ({"case_sensitive": False}, "BILLING", "pass"),
        ({"case_sensitive": False}, "BILLING\n", "fail"),
        ({"case_sensitive": False, "trim": True}, " BILLING\n", "pass"),
        ({"negate": True}, "billing", "fail"),
        ({"negate": True}, "other", "pass"),
    ],
)
def test_options(options: dict[str, object], output: str, wanted: str) -> None:
    assert statuses(outputs(output), type="exact", value="billing", **options) == [wanted]
    assert statuses(pairs((output, "billing")), type="exact", **options) == [wanted]


def test_lower_casing_is_no_folding() -> None:
    assert statuses(outputs("STRASSE", "ÄÖ", "ΟΔΟΣ"), type="exact", value="straße", case_sensitive=False)[0] == "fail"
    assert statuses(outputs("ÄÖ"), type="exact", value="äö", case_sensitive=False) == ["pass"]
    assert statuses(outputs("ΟΔΟΣ"), type="exact", value="οδος", case_sensitive=False) == ["pass"]


@pytest.mark.parametrize(("policy", "status"), [("error", "error"), ("fail", "fail"), ("skip", "skipped")])
def test_missing_reference(policy: str, status: str) -> None:
    scores = grade(pairs(("a", None), ("a", "a"), ("", None)), type="exact", on_missing_reference=policy)
    assert [score.status.value for score in scores] == [status, "pass", status]
    assert scores[0].error_type is (ErrorType.MISSING_REFERENCE if policy == "error" else None)
    assert scores[0].skip_reason == ("the trajectory has no reference" if policy == "skip" else None)


def test_missing_reference_is_skipped_by_default_and_negation_does_not_change_it() -> None:
    assert statuses(pairs(("a", None)), type="exact") == ["skipped"]
    assert statuses(pairs(("a", None)), type="exact", negate=True) == ["skipped"]


def test_sentences() -> None:
    assert evaluate({"type": "exact", "value": "a"}, {"output": "a"}).explanation == "✔ output equals 'a'"
    score = evaluate({"type": "exact"}, {"output": "a", "reference": "b"})
    assert score.explanation == "✘ output does not equal the reference"
