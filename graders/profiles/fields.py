"""Reading the fields of a foreign object: types checked, unknown fields refused, all problems told at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graders.errors import ConfigError, Problem, nearest

_ABSENT = object()
_WORDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


class Fields:
    """A foreign configuration being read. Call a reader for every field, then `done()`.

    >>> fields = Fields({"pattern": "a", "negat": True})
    >>> fields.text("pattern", required=True)
    'a'
    >>> fields.done("negate")
    Traceback (most recent call last):
    graders.errors.ConfigError: negat: unknown field (did you mean "negate"?)
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._read: dict[str, None] = {}
        self.problems: list[Problem] = []

    def text(self, name: str, *, required: bool = False, not_blank: bool = False) -> str | None:
        """A text; None where it is absent or refused."""
        value: str | None = self._of(name, str, required)
        if value is not None and not_blank and not value.strip():
            self.problem(name, "must not be blank")
            return None
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean."""
        value = self._of(name, bool, False)
        return default if value is None else bool(value)

    def whole(self, name: str, *, required: bool = False) -> int | None:
        """A whole number (a boolean is none)."""
        value: int | None = self._of(name, int, required)
        return value

    def number(self, name: str, *, low: float | None = None, high: float | None = None) -> float | None:
        """A number between the inclusive bounds (a boolean is none)."""
        value: float | None = self._of(name, float, False)
        if value is not None and not ((low is None or value >= low) and (high is None or value <= high)):
            self.problem(name, f"must be from {low} to {high}" if high is not None else f"must be at least {low}")
            return None
        return value

    def one_of(self, name: str, offered: Iterable[str], default: str) -> str:
        """One of a closed set of words."""
        words = tuple(offered)
        value = self._of(name, str, False)
        if value is None:
            return default
        if value not in words:
            self.problem(name, "must be one of " + ", ".join(words), nearest(value, words))
            return default
        return str(value)

    def anything(self, name: str, *, required: bool = False) -> Any:
        """Whatever stands there, unchecked; None where it is absent."""
        self._read[name] = None
        if name not in self._values and required:
            self.problem(name, "this field is required")
        return self._values.get(name)

    def has(self, name: str) -> bool:
        """Whether the field is there at all."""
        return name in self._values

    def problem(self, name: str, message: str, suggestion: str | None = None) -> None:
        """Note something wrong with a field."""
        self.problems.append(Problem((name,), message, suggestion))

    def done(self, *also_known: str) -> None:
        """Refuse fields that no reader asked for.

        Raises:
            ConfigError: with all problems found, where there is any.
        """
        known = [*self._read, *also_known]
        for name in self._values:
            if name not in known:
                self.problem(str(name), "unknown field", nearest(str(name), known))
        if self.problems:
            raise ConfigError(self.problems)

    def _of(self, name: str, wanted: type, required: bool) -> Any:
        self._read[name] = None
        value = self._values.get(name, _ABSENT)
        if value is _ABSENT:
            if required:
                self.problem(name, "this field is required")
            return None
        accepted = (int, float) if wanted is float else wanted
        if not isinstance(value, accepted) or (isinstance(value, bool) and wanted is not bool):
            self.problem(name, f"must be {_WORDS[wanted]}")
            return None
        return value
