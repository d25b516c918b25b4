"""A loaded block: its trajectories as a batch, its rejects, and the count of what became of every record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from graders.trajectory_batch import TrajectoryBatch
from schemas.reject import Reject

RecordHashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class LoadedBlock:
    """What reading a block, or a bounded piece of one, gave."""

    key: str
    """Names the piece in files; the same in every run over the same input."""
    uri: str
    offset: int
    batch: TrajectoryBatch
    rejects: Sequence[Reject] = ()
    records: int = 0
    """Records of the source that it accounts for: used, rejected or skipped."""
    bytes: int = 0
    record_hashes: RecordHashes | None = None
    """(rows, 2): a 128-bit hash of each trajectory's source record; None where records can't be told apart by their bytes."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Records left out by a documented rule, by rule."""
