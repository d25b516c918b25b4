"""Configuration errors: every problem found, each with the path of the bad field and a suggestion."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration."""

    path: tuple[str | int, ...]
    """From the root of what was checked to the bad field, e.g. `("graders", 2, "pattern")`."""
    message: str
    suggestion: str | None = None
    warning: bool = False
    """A warning is reported by `check` and refuses nothing."""

    def below(self, *prefix: str | int) -> Problem:
        """The same problem seen from further up."""
        return replace(self, path=(*prefix, *self.path))

    def __str__(self) -> str:
        """`graders[2].pattern: message (suggestion)`."""
        place = ""
        for part in self.path:
            place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.suggestion})" if self.suggestion else text


class ConfigError(ValueError):
    """A configuration that can't be run. `problems` holds every problem found, not just the first."""

    def __init__(self, problems: Iterable[Problem] | str, path: tuple[str | int, ...] = ()) -> None:
        self.problems = (Problem(path, problems),) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[Problem, ...]]]:
        """Keep the problems when the error crosses a process."""
        return (type(self), (self.problems,))


def nearest(word: str, offered: Iterable[str]) -> str | None:
    """`did you mean "x"?` for the closest offered word, None where nothing is close."""
    close = difflib.get_close_matches(word.lower(), {name.lower(): name for name in offered}, n=1, cutoff=0.6)
    by_lower = {name.lower(): name for name in offered}
    return f'did you mean "{by_lower[close[0]]}"?' if close else None
