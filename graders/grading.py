"""Grading a batch with one configured grader: conditions and samples first, faults kept to the grader they come from."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from graders.configured import Condition, ConfiguredGrader
from graders.grade_batch import STATUSES, GradeBatch, from_scores
from graders.grader import CompositeGrader, exception_score
from graders.trajectory_batch import Rows, TrajectoryBatch
from schemas.score import Status


def grade(
    configured: ConfiguredGrader, batch: TrajectoryBatch, outcomes: Mapping[str, GradeBatch]
) -> tuple[GradeBatch, int]:
    """The outcomes of one grader over a batch, and the wall microseconds that were its own (see `TrajectoryBatch.rows_us`).

    Args:
        configured: the grader.
        batch: a block's trajectories.
        outcomes: those of the graders graded before, by name; it holds all that `configured.depends_on` names.

    An exception of the grader becomes the error `grader_exception` on its rows; the other graders are not touched by it.
    """
    started = time.perf_counter_ns()
    rows = due_rows(configured, batch, outcomes)
    part = batch if rows is None else batch.take(rows)
    shared_us = part.rows_us
    try:
        if isinstance(configured.grader, CompositeGrader):
            children = {name: outcomes[name] for name in configured.grader.children}
            graded = configured.grader.combine(len(batch), children)
            graded = graded if rows is None else _picked(graded, rows)
        else:
            graded = configured.grader.grade_batch(part)
        if len(graded) != len(part):
            raise ValueError("a grader must give one outcome a row")
    except Exception as exception:  # a fault in one grader must not take the block with it
        graded = from_scores([exception_score(exception)] * len(part))
    if rows is not None:
        graded = graded.at_rows(rows)
    return graded, max((time.perf_counter_ns() - started) // 1_000 - (part.rows_us - shared_us), 0)


def due_rows(configured: ConfiguredGrader, batch: TrajectoryBatch, outcomes: Mapping[str, GradeBatch]) -> Rows | None:
    """Which rows its `sample:` and `when:` leave to be graded; None means all."""
    due: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
    if configured.common.sample is not None and configured.common.sample < 1:
        due = sampled(batch.column("trajectory_id"), configured.common.sample)
    if configured.common.when is not None:
        met = _condition_met(configured.common.when, batch, outcomes)
        due = met if due is None else due & met
    return None if due is None or due.all() else np.flatnonzero(due)


def sampled(trajectory_ids: pa.StringArray, share: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which trajectories a sample takes: by a hash of the id alone, so the same ones each day, and a small one inside a larger."""
    bound = int(share * 2**64)
    return np.fromiter(
        (
            int.from_bytes(hashlib.blake2b((text or "").encode(), digest_size=8).digest(), "big") < bound
            for text in trajectory_ids.to_pylist()
        ),
        dtype=bool,
        count=len(trajectory_ids),
    )


def _condition_met(
    when: Condition, batch: TrajectoryBatch, outcomes: Mapping[str, GradeBatch]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    met = np.ones(len(batch), dtype=bool)
    if when.grader is not None:
        codes = outcomes[when.grader].status_by_row(len(batch))
        met &= codes == STATUSES.index(Status(when.status)) if when.status is not None else codes >= 0
    if when.metadata:
        wanted = when.metadata.items()
        met &= np.fromiter(
            (wanted <= dict(pairs or ()).items() for pairs in batch.column("metadata").to_pylist()),
            dtype=bool,
            count=len(batch),
        )
    return met


def _picked(graded: GradeBatch, rows: Rows) -> GradeBatch:
    indices = pa.array(rows)
    return replace(
        graded,
        status=graded.status[rows],
        score=graded.score.take(indices),
        columns={name: column.take(indices) for name, column in graded.columns.items()},
    )
