"""`numeric-close`: a number in the text against an expected one, within a tolerance. Which number is never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, ClassVar, Literal

from pydantic import Field

from graders.errors import ConfigError
from graders.json_output import without_reference
from graders.scoped_text import PlacedText, ScopedTextConfig, ScopedTextGrader
from graders.taxonomy import Taxonomy
from schemas.score import ErrorType, Score, error, verdict
from schemas.trajectory import Trajectory

_NUMBER = {
    ".": re.compile(
        r"(?<![\w.,])(?<!\w-)[-+−]?(?:\d{1,3}(?:,\d{3}){1,9}|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,4})?(?![\w]|[.,]\d)"
    ),
    ",": re.compile(
        r"(?<![\w.,])(?<!\w-)[-+−]?(?:\d{1,3}(?:[.  ]\d{3}){1,9}|\d+)(?:,\d+)?(?:[eE][-+]?\d{1,4})?(?![\w]|[.,]\d)"
    ),
}


class NumericCloseConfig(ScopedTextConfig):
    """Which number, what it should be, and how close is close."""

    expected: int | float | None = None
    """Absent: the trajectory's reference, which has to be a number."""
    extract: Literal["whole", "only", "first", "last"] = "whole"
    """The whole text is the number; it holds just one; or the first or last of them counts."""
    rel_tol: float = Field(default=0.0, ge=0)
    """Relative to the expected value."""
    abs_tol: float = Field(default=0.0, ge=0)
    """The larger of the two tolerances holds."""
    decimal: Literal[".", ","] = "."
    """The decimal mark; the other one separates thousands."""
    on_missing_reference: Literal["error", "fail", "skip"] = "skip"


class NumericClose(ScopedTextGrader[NumericCloseConfig]):
    """Passes when |actual - expected| ≤ max(abs_tol, rel_tol × |expected|), in exact decimal arithmetic."""

    type = "numeric-close"
    config_model = NumericCloseConfig
    taxonomy = Taxonomy(reference="reference-based", native_min=-float("inf"), native_max=float("inf"))
    example: ClassVar[Mapping[str, Any]] = {"expected": 42.5, "extract": "last", "rel_tol": 0.01}

    def __init__(self, config: NumericCloseConfig) -> None:
        super().__init__(config)
        if config.expected is not None and config.expected - config.expected != 0:
            raise ConfigError("must be a finite number", ("expected",))

    def grade_text(self, placed: PlacedText, trajectory: Trajectory) -> Score:
        """Find the number and compare it."""
        if self.config.expected is not None:
            expected = Decimal(repr(self.config.expected))
        elif trajectory.reference is None:
            return without_reference(self.config.on_missing_reference)
        else:
            found = numbers(trajectory.reference.strip(), self.config.decimal, whole=True)
            if not found:
                return error(ErrorType.MISSING_REFERENCE, "the reference is not a number")
            expected = found[0]
        found = numbers(placed.text.strip(), self.config.decimal, whole=self.config.extract == "whole")
        if not found:
            return verdict(
                False, "the text is not a number" if self.config.extract == "whole" else "there is no number"
            )
        if self.config.extract == "only" and len(found) > 1:
            return verdict(False, f"the text holds {len(found)} numbers, not one")
        actual = found[-1 if self.config.extract == "last" else 0]
        tolerance = max(Decimal(repr(self.config.abs_tol)), Decimal(repr(self.config.rel_tol)) * abs(expected))
        passed = abs(actual - expected) <= tolerance
        near = "within" if passed else "not within"
        native = float(actual)
        text = f"{actual:.15g} is {near} {tolerance.normalize():.6g} of {expected:.15g}"
        return verdict(passed, text, native_score=native if isfinite(native) else None)


def numbers(text: str, decimal: Literal[".", ","], *, whole: bool) -> list[Decimal]:
    """The numbers in a text; with `whole` the one number that the text is, or none."""
    pattern = _NUMBER[decimal]
    if whole:
        matched = pattern.fullmatch(text)
        found = [matched.group()] if matched else []
    else:
        found = pattern.findall(text)
    return [number for item in found if (number := _number(item, decimal)) is not None]


def _number(text: str, decimal: str) -> Decimal | None:
    plain = text.replace("−", "-")
    plain = plain.replace(",", "") if decimal == "." else re.sub(r"[.  ]", "", plain).replace(",", ".")
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None
