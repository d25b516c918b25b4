"""Limits of one evaluation, and the names by which a stopped evaluation is reported."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace

PATTERN_SIZE = "pattern_size"
SUBJECT_SIZE = "subject_size"
TIMEOUT = "timeout"
MEMORY = "memory"
GRADER_BUDGET = "grader_budget"
LIMIT_NAMES = (PATTERN_SIZE, SUBJECT_SIZE, TIMEOUT, MEMORY, GRADER_BUDGET)

RAISE_VARIABLE = "GRADEBEAM_MATCH_LIMITS_FACTOR"
"""Deployment-level setting, off by default: a number from 1 to 1000 by which every ceiling is multiplied."""

_MOST_FACTOR = 1000.0


@dataclass(frozen=True, slots=True)
class MatchLimits:
    """What one evaluation (one pattern on one text) may use. Defaults are the system's ceilings.

    Attributes:
        pattern_bytes: longest pattern, in UTF-8 bytes; a longer one is the limit `pattern_size` for every text.
        subject_bytes: longest text, in UTF-8 bytes; a longer one is `subject_size`. Nothing is ever cut.
        cpu_ms: CPU time of one evaluation, in milliseconds; beyond it is `timeout`.
        wall_ms: wall-clock ceiling in milliseconds, or None for the liveness guard alone.
        memory_bytes: address space of the worker process that backtracks; beyond it is `memory`.
        timeouts_per_batch: stopped evaluations in one `match_array` call after which its remaining backtracking
            rows are `grader_budget`.
    """

    pattern_bytes: int = 4096
    subject_bytes: int = 1_048_576
    cpu_ms: int = 100
    wall_ms: int | None = None
    memory_bytes: int = 256 * 1024 * 1024
    timeouts_per_batch: int = 200

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name == "wall_ms" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"limits.{name} must be a positive whole number, not {value!r}")
        if self.memory_bytes < _LEAST_MEMORY:
            raise ValueError(f"limits.memory_bytes must be at least {_LEAST_MEMORY}, a worker's own need")
        factor = raise_factor()
        for name, ceiling in _CEILINGS.items():
            if getattr(self, name) > ceiling * factor:
                raise ValueError(
                    f"limits.{name} may lower the system's {ceiling}, not raise it to {getattr(self, name)}"
                )

    def lowered(self, **lower: int | None) -> MatchLimits:
        """These limits with some of them lowered.

        Raises:
            ValueError: if a value is above this object's, below 1, or not the name of a limit.
        """
        for name, value in lower.items():
            if name not in self.__dataclass_fields__:
                raise ValueError(f"unknown limit {name!r}; there are {', '.join(self.__dataclass_fields__)}")
            current = getattr(self, name)
            if current is not None and (value is None or value > current):
                raise ValueError(f"limits.{name} may lower {current}, not raise it to {value}")
        return replace(self, **lower)  # type: ignore[arg-type]


_LEAST_MEMORY = 64 * 1024 * 1024
_CEILINGS = {
    "pattern_bytes": 4096,
    "subject_bytes": 1_048_576,
    "cpu_ms": 100,
    "memory_bytes": 256 * 1024 * 1024,
    "timeouts_per_batch": 200,
}


def raise_factor() -> float:
    """By how much the deployment raises the system's ceilings (1.0 when it does not).

    Raises:
        ValueError: if the environment variable holds anything but a number from 1 to 1000.
    """
    text = os.environ.get(RAISE_VARIABLE, "")
    if not text:
        return 1.0
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 1.0 <= factor <= _MOST_FACTOR:
        raise ValueError(f"{RAISE_VARIABLE} must be a number from 1 to {_MOST_FACTOR:.0f}, not {text!r}")
    return factor
