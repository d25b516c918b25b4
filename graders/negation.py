"""Negation in configurations: one boolean, and types whose name says it already."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from graders.grader import GraderConfig


class Negatable(GraderConfig):
    """A check that can be turned round."""

    negate: bool = False
    """Turn pass into fail and fail into pass; errors and skips stay what they are."""


class AlwaysNegated(Negatable):
    """A check whose type name says that it is negated. Saying so once more changes nothing; denying it is refused."""

    negate: Literal[True] = True
    """Always true for this type."""

    @field_validator("negate", mode="before")
    @classmethod
    def _not_denied(cls, value: Any) -> Any:
        if value is False:
            raise ValueError("the type is negated by its name; use the type without `not` instead")
        return value
