from __future__ import annotations

from typing import Any

import pytest

from graders.record import to_trajectory
from pipelines.formats.container import SourceRecord
from pipelines.formats.containers.plain_record import PlainRecord
from pipelines.formats.detection import detect
from schemas.reject import RejectReason

RECORDS: list[dict[str, Any]] = [
    {"output": "done"},
    {"output": None},
    {"output": "", "messages": [], "metadata": {"tenant": "a"}},
    {"metrics": {"totalTokens": 7}, "messages": [{"role": "assistant", "content": "hi"}]},
    {"events": [{"type": "assistant_message", "data": {"content": "hi"}}], "id": "e"},
]


@pytest.mark.parametrize("value", RECORDS)
def test_it_means_what_it_means_to_evaluate(value: dict[str, Any]) -> None:
    found = detect([value], "log.jsonl")
    assert found.container.name == "record"
    (trajectory,) = found.container.normalise([SourceRecord(value, "log.jsonl", 5, 9, ("bom",))]).trajectories
    plain = to_trajectory(value)
    for name in ("output", "messages", "events", "usage", "extra_json", "metadata", "reference", "tool_calls"):
        assert getattr(trajectory, name) == getattr(plain, name)
    assert trajectory.trajectory_id == value.get("id", "log.jsonl#5")
    assert (trajectory.source_uri, trajectory.source_offset, trajectory.bytes) == ("log.jsonl", 5, 9)
    assert trajectory.issues == ("bom",)
    assert len(trajectory.trajectory_uid) == 32


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"messages": [{"role": "assistant", "content": "hi"}], "output": "x"}, "messages"),
        ({"messages": [{"role": "assistant", "content": "hi"}], "metrics": {"loss": 0.5}}, "messages"),
        ({"output": "x", "reference": "y"}, "question_answer"),
        ({"output": "x", "score_of_mine": 1}, "unknown"),
        ({"metrics": 3}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_other_records_are_left_to_other_formats(value: dict[str, Any], name: str) -> None:
    assert detect([value], "log.jsonl").container.name == name


def test_a_shape_that_cannot_be_is_a_reject() -> None:
    value = {"metrics": {}, "messages": [{"content": "who?"}]}
    (reject,) = PlainRecord().normalise([SourceRecord(value, "log.jsonl", 5, 9)]).rejects
    assert (reject.reason, reject.source_offset) == (RejectReason.UNKNOWN_FORMAT, 5)
    assert "role" in reject.detail
