"""The long table: every outcome once, rows of a trajectory together, whatever the graders left out."""

from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.configured import ConfiguredGrader, configure_all
from graders.grade_batch import STATUSES, GradeBatch, from_scores
from graders.trajectory_batch import TrajectoryBatch
from pipelines.writing import parquet
from pipelines.writing.parquet import parquet_bytes
from pipelines.writing.score_table import score_table
from schemas.score import ErrorType, Evidence, Score, Status, error, skipped, verdict
from schemas.tables import SCORES
from schemas.trajectory import Trajectory

NOW = datetime(2026, 11, 30, 8, tzinfo=timezone.utc)
SCORE = st.one_of(
    st.builds(verdict, st.booleans(), st.sampled_from([None, "✔ yes", "✘ no"])),
    st.builds(
        lambda text: verdict(True, evidence=(Evidence(1, 2, 3, text),), details={"a": text}), st.text(max_size=4)
    ),
    st.just(error(ErrorType.MISSING_OUTPUT, "there is no output")),
    st.just(skipped("no reference")),
    st.builds(lambda value: Score(Status.SCORED, score=value, native_score=value * 5), st.floats(0, 1)),
)


def graders(count: int) -> list[ConfiguredGrader]:
    return configure_all([{"name": f"g{i}", "type": "contains", "texts": [str(i)]} for i in range(count)])


def batch(count: int) -> TrajectoryBatch:
    return TrajectoryBatch.from_trajectories(
        [
            Trajectory(
                f"u{i}",
                f"id{i}",
                "g" if i % 2 else None,
                None,
                "logs/a",
                i * 10,
                "messages",
                NOW if i % 3 else None,
                output="x",
            )
            for i in range(count)
        ]
    )


def read_back(table: pa.Table) -> pa.Table:
    """What a file of the table says, the same whoever wrote its columns."""
    by_the_writer = pq.read_table(pa.BufferReader(parquet_bytes(table)))
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(parquet, "_LARGE_CELLS", 1)
        made_here = pq.read_table(pa.BufferReader(bytes(parquet_bytes(table))))
    assert made_here.equals(by_the_writer)
    made_here.validate(full=True)
    return made_here


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[int, list[tuple[list[int], list[Score]]]]:
    count = draw(st.integers(0, 5))
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        rows = sorted(draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=count))) if count else []
        parts.append((rows, draw(st.lists(SCORE, min_size=len(rows), max_size=len(rows)))))
    return count, parts


@settings(max_examples=150, deadline=None)
@given(outcomes())
def test_every_outcome_has_its_row(given: tuple[int, list[tuple[list[int], list[Score]]]]) -> None:
    count, parts = given
    configured = graders(len(parts))
    by_name: dict[str, GradeBatch] = {}
    expected = []
    for number, (rows, scores) in enumerate(parts):
        graded = from_scores(scores)
        by_name[f"g{number}"] = graded if len(rows) == count else graded.at_rows(np.array(rows, dtype=np.int64))
        expected += [(row, number, score) for row, score in zip(rows, scores, strict=True)]
    found = read_back(score_table(batch(count), configured, by_name, "r_1", NOW))
    assert found.schema.equals(SCORES)
    read = found.to_pylist()
    assert len(read) == len(expected)
    for row, (place, number, score) in zip(read, sorted(expected, key=lambda item: item[:2]), strict=True):
        assert (row["trajectory_uid"], row["grader_name"], row["status"]) == (
            f"u{place}",
            f"g{number}",
            score.status.value,
        )
        assert (row["passed"], row["score"], row["native_score"]) == (score.passed, score.score, score.native_score)
        assert (row["explanation"], row["skip_reason"]) == (score.explanation, score.skip_reason)
        assert row["error_type"] == (score.error_type.value if score.error_type else None)
        assert [item["quote"] for item in row["evidence"] or ()] == [item.quote for item in score.evidence]
        assert row["group_id"] == ("g" if place % 2 else None)
        assert row["event_date"] == (NOW.date() if place % 3 else None)
        assert (row["attempts"], row["cached"], row["schema_version"], row["run_id"]) == (1, False, 1, "r_1")


def test_a_score_that_is_no_number_is_an_error_and_not_a_score() -> None:
    found = from_scores([verdict(True, score=float("nan")), verdict(True, native_score=float("inf")), verdict(True)])
    assert [STATUSES[code] for code in found.status] == [Status.ERROR, Status.ERROR, Status.PASS]
    assert found.score.to_pylist() == [None, None, 1.0]
    assert found.column("error_type").to_pylist() == ["non_finite_score", "non_finite_score", None]


def test_text_that_no_file_could_hold_is_mended() -> None:
    found = from_scores([verdict(True, "half \ud83d", details={"x": "\ud83d", "big": 2**80})])
    read = read_back(score_table(batch(1), graders(1), {"g0": found}, "r_1", NOW)).to_pylist()[0]
    assert read["explanation"] == "half \ufffd"
    assert str(2**80) in read["details_json"]
