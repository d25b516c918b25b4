"""The one error of this package: a pattern that its dialect does not have."""

from __future__ import annotations


class InvalidPattern(ValueError):
    """A pattern that cannot be used, found when the suite loads.

    Attributes:
        reason: what is wrong, in one sentence without the pattern's text.
        position: offset in code points into the pattern where it went wrong.
        supported: False when the dialect has the construct and this engine refuses it, rather than answer differently.
    """

    def __init__(self, reason: str, position: int, *, supported: bool = True) -> None:
        super().__init__(f"{reason} (at character {position} of the pattern)")
        self.reason = reason
        self.position = position
        self.supported = supported

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.reason, self.position, self.supported)


def _rebuild(reason: str, position: int, supported: bool) -> InvalidPattern:
    return InvalidPattern(reason, position, supported=supported)
