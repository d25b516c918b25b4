"""What a grader type says of itself, printed by `gradebeam graders` and stored in the `graders` table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The five dimensions and the native scale of a grader type."""

    determinism: Literal["static", "complex-static", "slm", "llm"] = "static"
    cost: Literal["free", "low", "medium", "high"] = "free"
    reference: Literal["reference-free", "reference-based"] = "reference-free"
    temporal_scope: Literal["point-in-time", "trajectory-level", "cross-trajectory"] = "trajectory-level"
    score_kind: Literal["code", "llm"] = "code"
    native_min: float = 0.0
    native_max: float = 1.0
    higher_is_better: bool = True
