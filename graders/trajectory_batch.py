"""Views of a block's trajectories that graders work on: whole Arrow columns, or one Python object a row."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graders.lowercase import lowered
from schemas.trajectory import NOT_OWN_WORDS, Trajectory
from schemas.trajectory_batch import from_record_batch, to_record_batch

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MessageTexts:
    """Texts taken from a batch (its outputs, or messages flattened), in order of row and message."""

    texts: pa.StringArray
    """No nulls."""
    rows: Rows
    """The row of the batch that each text belongs to; ascending."""
    message_indices: Rows
    """Its index in that row's `messages`; -1 for an output."""

    @cached_property
    def lowered(self) -> pa.StringArray:
        """The texts in lower case, made once for all graders of the batch that ignore case."""
        return lowered(self.texts)

    def take(self, indices: Rows) -> MessageTexts:
        """The texts at `indices`, which ascend."""
        return MessageTexts(self.texts.take(pa.array(indices)), self.rows[indices], self.message_indices[indices])


@dataclass(frozen=True, slots=True)
class MessagePlaces:
    """Some messages of a batch."""

    mask: pa.BooleanArray
    """Which of the messages, flattened."""
    rows: Rows
    """The row of the batch that each belongs to; ascending."""
    message_indices: Rows
    """Its index in that row's `messages`."""


class TrajectoryBatch:
    """A block of trajectories.

    Columns are Arrow (`schemas.trajectory_batch.TRAJECTORY_BATCH`); `rows` are made on demand.
    """

    def __init__(self, record_batch: pa.RecordBatch, rows: Sequence[Trajectory] | None = None) -> None:
        self.record_batch = record_batch
        self._rows = rows
        self.rows_us = 0
        """Microseconds that making `rows` took: they are made for all graders, and are no grader's own time."""

    @classmethod
    def from_trajectories(cls, trajectories: Sequence[Trajectory]) -> TrajectoryBatch:
        """A batch of the given trajectories, in order."""
        return cls(to_record_batch(trajectories), trajectories)

    def __len__(self) -> int:
        return int(self.record_batch.num_rows)

    def __reduce__(self) -> tuple[type[TrajectoryBatch], tuple[pa.RecordBatch]]:
        """Pickle the Arrow data alone; views are made again."""
        return (type(self), (self.record_batch,))

    def column(self, name: str) -> pa.Array:
        """One column of the batch."""
        return self.record_batch.column(name)

    @property
    def rows(self) -> Sequence[Trajectory]:
        """The trajectories as Python objects (slow: about 10 µs each; made once a batch)."""
        if self._rows is None:
            started = time.perf_counter_ns()
            self._rows = from_record_batch(self.record_batch)
            self.rows_us = (time.perf_counter_ns() - started) // 1_000
        return self._rows

    def take(self, rows: Rows) -> TrajectoryBatch:
        """The batch of the given rows, in the given order."""
        picked = None if self._rows is None else [self._rows[i] for i in rows.tolist()]
        return TrajectoryBatch(self.record_batch.take(pa.array(rows)), picked)

    @cached_property
    def outputs(self) -> MessageTexts:
        """The final outputs of the rows that have one."""
        output = self.column("output")
        rows = np.arange(len(self), dtype=np.int64)
        if output.null_count:
            rows = rows[output.is_valid().to_numpy(zero_copy_only=False)]
            output = output.drop_null()
        return MessageTexts(output, rows, np.full(len(rows), -1, dtype=np.int64))

    @cached_property
    def assistant_texts(self) -> MessageTexts:
        """The agent's own messages that bear text (see `schemas.trajectory.NOT_OWN_WORDS`)."""
        return self.texts_of_role("assistant")

    def texts_of_role(self, role: str) -> MessageTexts:
        """Texts of one role's own messages, without flagged ones (injected, demonstrations…) and ones without text."""
        places = self.places_of_role(role)
        flat = self.column("messages").flatten()
        texts = flat.field("text").filter(places.mask) if len(flat) else pa.array([], pa.string())
        return MessageTexts(texts, places.rows, places.message_indices)

    def places_of_role(self, role: str) -> MessagePlaces:
        """Where the texts of `texts_of_role` stand."""
        messages = self.column("messages")
        flat = messages.flatten()
        lengths = pc.fill_null(pc.list_value_length(messages), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        rows = np.repeat(np.arange(len(self), dtype=np.int64), lengths)
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(lengths) else np.zeros(0, np.int64)
        indices = np.arange(len(rows), dtype=np.int64) - np.repeat(starts, lengths)
        wanted = pc.and_(pc.fill_null(pc.equal(flat.field("role"), role), False), pc.is_valid(flat.field("text")))
        flags = flat.field("flags")
        if len(flags.flatten()):
            own = np.ones(len(flat), dtype=bool)
            foreign = pc.is_in(flags.flatten(), value_set=pa.array(sorted(NOT_OWN_WORDS)))
            flagged_message = np.asarray(pc.list_parent_indices(flags))[foreign.to_numpy(zero_copy_only=False)]
            own[flagged_message] = False
            wanted = pc.and_(wanted, pa.array(own))
        keep = wanted.to_numpy(zero_copy_only=False)
        return MessagePlaces(wanted, rows[keep], indices[keep])
