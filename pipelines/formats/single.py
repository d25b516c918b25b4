"""A base for formats in which one record is one trajectory: the loop, the rejects and the counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from pipelines.formats.container import Container, Normalised, SourceRecord, reject
from pipelines.formats.containers.unknown import unknown_detail
from schemas.reject import RejectReason
from schemas.trajectory import Trajectory


class OneTrajectoryARecord(Container):
    """One record, one trajectory (or several, or None where there is nothing in it)."""

    @abstractmethod
    def read(self, record: SourceRecord, value: Any) -> Trajectory | Sequence[Trajectory] | None:
        """The trajectories of a record that `detect` knows; None or an empty list becomes a reject `no_messages`."""

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        """Reads each record; a record that `detect` does not know is a reject `unknown_format`."""
        result = Normalised()
        for record in records:
            if self.detect(record.value) is None:
                value = record.value
                detail = unknown_detail(value) if type(value) is dict else "the record is no object"
                reason = RejectReason.UNKNOWN_FORMAT if type(value) is dict else RejectReason.NOT_AN_OBJECT
                result.rejects.append(reject(record, reason, detail, self.name))
                continue
            made = self.read(record, record.value)
            if not made:
                result.rejects.append(
                    reject(record, RejectReason.NO_MESSAGES, "there are no messages in it", self.name)
                )
                continue
            result.trajectories += [made] if isinstance(made, Trajectory) else made
            result.records_used += 1
        return result
