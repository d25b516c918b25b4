from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one


@pytest.mark.parametrize(
    ("options", "output", "label"),
    [
        ({}, "billing", "billing"),
        ({}, "Billing", None),
        ({}, "billing\n", None),
        ({"trim_whitespace": True}, " billing\n", "billing"),
        ({"ignore_case": True}, "BILLING", "billing"),
        ({"trim_punctuation": True}, '"billing".', "billing"),
        ({"trim_punctuation": True, "ignore_case": True}, "**Billing**", "billing"),
        ({"trim_punctuation": True}, "billing and shipping", None),
        ({}, "", None),
    ],
)
def test_labels(options: dict[str, Any], output: str, label: str | None) -> None:
    outcome = graded_one({"type": "one-of", "values": ["billing", "shipping"], **options}, Trajectory(output=output))
    assert (outcome.passed, outcome.label) == (label is not None, label)


@pytest.mark.parametrize("config", [{"values": []}, {"values": ["a", "A"], "ignore_case": True}, {"values": "a"}])
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "one-of", **config})
