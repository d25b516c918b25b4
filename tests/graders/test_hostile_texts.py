"""Long texts made to be slow: every grader comes to an outcome, and in a time that quadratic work would not allow."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one

SIZE = 2**18
TEXTS = {
    "spaces in a fence": "```" + " " * SIZE + "`",
    "fences that never close": "~~~a\n" * (SIZE // 5),
    "tildes": "~" * SIZE + "`",
    "stops": "." * SIZE + "x",
    "paragraphs": "a.\n\n" * (SIZE // 4),
    "blanks": "\n" + " \t" * (SIZE // 2) + "x",
    "digits": "1" * SIZE + "x",
    "thousands": "111 " * (SIZE // 4),
    "commas": "1" + ",111" * (SIZE // 4),
    "addresses": "a@" * (SIZE // 2),
    "hyphens": "a-" * (SIZE // 2),
    "cards": "4111-" * (SIZE // 5),
    "keys": "sk-" * (SIZE // 3),
    "tokens": "eyJ" * (SIZE // 3),
    "brackets": "[" * SIZE,
    "quotes": '"' * SIZE,
    "backticks": "`a" * (SIZE // 2),
}
GRADERS: list[dict[str, Any]] = [
    {"type": "code-fence-valid", "untagged": "json"},
    {"type": "json-field", "path": "$..a", "expected": 1},
    {"type": "language", "expected": ["en"]},
    {"type": "numeric-close", "expected": 1, "extract": "last"},
    {"type": "numeric-close", "expected": 1, "extract": "last", "decimal": ","},
    {"type": "one-of", "values": ["a"], "trim_punctuation": True},
    {"type": "pii"},
    {"type": "readability", "maximum": 9.0},
    {"type": "secrets"},
    {"type": "similarity", "metric": "levenshtein", "reference": "a"},
    {"type": "similarity", "metric": "rouge-l", "reference": "a"},
    {"type": "similarity", "metric": "chrf", "reference": "a"},
]


@pytest.mark.parametrize("config", GRADERS, ids=[f"{number}-{one['type']}" for number, one in enumerate(GRADERS)])
@pytest.mark.parametrize("name", TEXTS)
def test_an_outcome_all_the_same(name: str, config: dict[str, Any]) -> None:
    outcome = graded_one(config, Trajectory(output=TEXTS[name]))
    assert outcome.error_type is None or outcome.error_type.value != "grader_exception"
