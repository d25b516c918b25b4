from __future__ import annotations

import pytest

from graders import ConfigError, evaluate
from pipelines import normalise


def test_a_record_of_a_log_can_be_graded() -> None:
    record = {
        "trace_id": "t",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
    }
    trajectory = normalise(record)
    assert (trajectory.trajectory_id, trajectory.output, trajectory.source_format) == ("t", "hello", "messages")
    assert evaluate({"type": "contains", "texts": ["hello"]}, trajectory).passed is True


def test_a_row_of_ones_own() -> None:
    trajectory = normalise({"a": {"b": "x"}, "n": 7}, fields={"output": "$.a.b", "id": "$.n"})
    assert (trajectory.trajectory_id, trajectory.output) == ("7", "x")


@pytest.mark.parametrize(
    ("record", "message"), [({"k": 1}, "unknown_format"), ({"messages": []}, "no_messages"), (3, "not_an_object")]
)
def test_what_is_no_trajectory_says_why(record: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        normalise(record)


def test_an_unknown_format() -> None:
    with pytest.raises(ConfigError, match="mesages"):
        normalise({}, format="mesages")
