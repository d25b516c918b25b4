"""What a check of one value comes to: None (valid), a `Violation`, or `Open` (a pattern has no answer, or none yet).

The logic is Kleene's: an open part leaves the whole open only where its answer could change it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graders.json_validation.run import Run

MAX_REFERENCE_DEPTH = 100
MAX_REFERENCE_STEPS = 50_000


class Violation:
    """An invalid value: the keyword that refuses it, and the way to it, innermost step first."""

    __slots__ = ("keyword", "path")
    open: ClassVar[bool] = False

    def __init__(self, keyword: str) -> None:
        self.keyword = keyword
        self.path: list[str | int] = []

    @property
    def pointer(self) -> str:
        """JSON pointer (RFC 6901) of the refused value; empty for the whole document."""
        return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in reversed(self.path))


class Open:
    """A value of which nothing can be said: `limit` stopped a pattern, or (`PENDING`) it has not been matched yet."""

    __slots__ = ("limit",)
    open: ClassVar[bool] = True

    def __init__(self, limit: str | None) -> None:
        self.limit = limit


PENDING = Open(None)
Outcome = Violation | Open | None
Check = Callable[[Any, Run], "Violation | Open | None"]


class SchemaLimit(Exception):
    """References lead too deep or too often to be followed."""
