from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from tests.graders.run_grader import status_on_output


@pytest.mark.parametrize(
    ("options", "output", "status"),
    [
        ({"expected": 42}, "42", "pass"),
        ({"expected": 42}, " 42.0\n", "pass"),
        ({"expected": 42}, "42.1", "fail"),
        ({"expected": 42, "abs_tol": 0.1}, "42.1", "pass"),
        ({"expected": 0.1, "abs_tol": 0.2}, "0.3", "pass"),
        ({"expected": 100, "rel_tol": 0.01}, "101", "pass"),
        ({"expected": 100, "rel_tol": 0.01}, "101.0001", "fail"),
        ({"expected": -100, "rel_tol": 0.01}, "-99", "pass"),
        ({"expected": 9007199254740993}, "9007199254740992", "fail"),
        ({"expected": 1234.5}, "1,234.5", "pass"),
        ({"expected": 1234.5, "decimal": ","}, "1.234,5", "pass"),
        ({"expected": 1.5e3}, "1.5e3", "pass"),
        ({"expected": -5}, "−5", "pass"),
        ({"expected": 42}, "The answer is 42", "fail"),
        ({"expected": 42}, "NaN", "fail"),
        ({"expected": 42, "extract": "only"}, "The answer is 42.", "pass"),
        ({"expected": 42, "extract": "only"}, "6 × 7 = 42", "fail"),
        ({"expected": 42, "extract": "last"}, "6 × 7 = 42", "pass"),
        ({"expected": 6, "extract": "first"}, "6 × 7 = 42", "pass"),
        ({"expected": 1, "extract": "only"}, "version A-1 or v1", "fail"),
        ({"expected": 1, "extract": "only"}, "nothing", "fail"),
        ({"expected": 42}, "", "fail"),
        ({"expected": 42}, None, "error"),
    ],
)
def test_numbers(options: dict[str, Any], output: str | None, status: str) -> None:
    assert status_on_output({"type": "numeric-close", **options}, output) == status


@pytest.mark.parametrize(
    ("reference", "options", "status"),
    [
        ("42", {}, "pass"),
        (None, {}, "skipped"),
        (None, {"on_missing_reference": "fail"}, "fail"),
        ("forty-two", {}, "error"),
    ],
)
def test_references(reference: str | None, options: dict[str, Any], status: str) -> None:
    assert status_on_output({"type": "numeric-close", **options}, "42", reference) == status


@pytest.mark.parametrize(
    "options", [{"abs_tol": -1.0}, {"expected": float("inf")}, {"expected": float("nan")}, {"expected": "42"}]
)
def test_refuses_a_configuration(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "numeric-close", **options})
