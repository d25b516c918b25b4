"""The committed lists: patterns that explode with the texts that make them, and patterns that people grade with."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class ExplodingCase:
    pattern: str
    dialect: str
    subject: str


def exploding_cases() -> list[ExplodingCase]:
    """Texts are written as runs of `[piece, times]`, or as a seeded random choice of characters."""
    cases = json.loads((_FOLDER / "exploding_patterns.json").read_text())
    return [ExplodingCase(_runs(case["pattern"]), case["dialect"], _subject(case)) for case in cases]


def grading_patterns() -> list[str]:
    return [entry["pattern"] for entry in json.loads((_FOLDER / "grading_patterns.json").read_text())]


def _subject(case: dict[str, Any]) -> str:
    if "random" in case:
        return "".join(random.Random(1).choices(case["random"], k=case["length"]))
    return _runs(case["subject"])


def _runs(runs: str | list[list[Any]]) -> str:
    return runs if isinstance(runs, str) else "".join(piece * times for piece, times in runs)
