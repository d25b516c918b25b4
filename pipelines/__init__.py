"""The shell around the graders: logs in, tables out. `pipelines.normalise` makes a trajectory of one record of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.normalising import normalise as normalise


def __getattr__(name: str) -> Any:
    if name == "normalise":
        from pipelines.normalising import normalise

        return normalise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
