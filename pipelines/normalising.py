"""One record of a log as a trajectory, outside any run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.formats.container import SourceRecord, normalised_safely
from pipelines.formats.detection import CSV, container_by_name, detect
from schemas.trajectory import Trajectory

_URI = "record"


def normalise(record: Any, *, format: str = "auto", fields: Mapping[str, str] | None = None) -> Trajectory:
    """A decoded record (one JSON value of a log) as the trajectory that a run would make of it.

    Args:
        record: the JSON value; lists and objects as Python has them.
        format: as the suite's `input.format`.
        fields: as the suite's `input.fields`, for rows of your own.

    Raises:
        ConfigError: there is no such format or field.
        ValueError: the record is no trajectory (the message says why), or it holds several.
    """
    if fields is not None:
        container = container_by_name("mapped_rows", {"fields": dict(fields)})
    elif format not in ("auto", CSV):
        container = container_by_name(format)
    else:
        container = detect([record], _URI).container
    normalised = normalised_safely(container, [SourceRecord(record, _URI, 0, 0)])
    if normalised.rejects:
        reject = normalised.rejects[0]
        raise ValueError(f"{reject.reason.value}: {reject.detail}")
    if len(normalised.trajectories) != 1:
        raise ValueError(f"the record holds {len(normalised.trajectories)} trajectories of the format {container.name}")
    return normalised.trajectories[0]
