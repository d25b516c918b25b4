import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.identity import trajectory_uid, trajectory_uids


@given(st.text(), st.integers(0, 2**62), st.integers(0, 1000))
def test_one_uid_is_that_of_the_column(uri: str, offset: int, ordinal: int) -> None:
    column = trajectory_uids(uri, np.array([offset], dtype=np.int64), ordinal)
    assert column.to_pylist() == [trajectory_uid(uri, offset, ordinal)]


def test_a_million_offsets_of_one_source_differ() -> None:
    offsets = np.arange(1_000_000, dtype=np.int64) * 3
    assert len(set(trajectory_uids("logs/a.jsonl", offsets).to_pylist())) == 1_000_000


def test_the_uid_of_a_record_is_the_same_for_ever() -> None:
    assert trajectory_uid("logs/a.jsonl", 0) == "9cd09ab79c7f0685edd52eda02ee1f3d"
    assert trajectory_uid("logs/a.jsonl", 0) != trajectory_uid("logs/b.jsonl", 0)
    assert trajectory_uid("logs/a.jsonl", 1) != trajectory_uid("logs/a.jsonl", 0, 1)
