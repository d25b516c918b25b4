"""Options that the text graders share."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from graders.errors import ConfigError
from graders.grader import GraderConfig
from graders.matching import InvalidPattern, MatchLimits, Pattern, compile

OnMissing = Literal["error", "fail", "skip"]
DialectName = Literal["python", "ecma", "pcre"]


class TextConfig(GraderConfig):
    """Options of every text grader."""

    evidence: bool = True
    """Whether outcomes carry the places that were found; false saves the time to find them."""


class OutputConfig(TextConfig):
    """Options of every grader of the final output."""

    on_missing_output: OnMissing = "error"
    """The outcome where the trajectory has no output at all (an empty text is an output)."""


class LimitsConfig(GraderConfig):
    """Limits of one match; each may lower the system's and never raise it."""

    pattern_bytes: int | None = Field(default=None, ge=1)
    """Longest pattern, in UTF-8 bytes (4,096)."""
    subject_bytes: int | None = Field(default=None, ge=1)
    """Longest text, in UTF-8 bytes (1,048,576)."""
    cpu_ms: int | None = Field(default=None, ge=1)
    """Execution time of one match, in milliseconds (100)."""
    wall_ms: int | None = Field(default=None, ge=1)
    """Ceiling of one match by the clock, in milliseconds (none)."""
    timeouts_per_batch: int | None = Field(default=None, ge=1)
    """Stopped matches of one batch, after which its remaining backtracking rows are errors too (200)."""


class PatternConfig(GraderConfig):
    """A pattern and how it is read."""

    pattern: str
    """What to search for, anywhere in the text; anchor it with ^ and $ to require the whole."""
    dialect: DialectName = "python"
    """Whose regular expressions it is written in."""
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    """Lower limits than the system's."""


def compiled(config: PatternConfig, flags: str = "") -> Pattern:
    """The configuration's pattern, ready to match.

    Raises:
        ConfigError: the dialect does not have the pattern or a flag, or a limit is above the system's.
    """
    limits = match_limits(config.limits)
    try:
        compile("", config.dialect, limits, flags=flags)
    except InvalidPattern as problem:
        raise ConfigError(problem.reason, ("flags",)) from None
    try:
        return compile(config.pattern, config.dialect, limits, flags=flags)
    except InvalidPattern as problem:
        raise ConfigError(f"not a pattern of the {config.dialect} dialect: {problem}", ("pattern",)) from None


def match_limits(config: LimitsConfig) -> MatchLimits:
    """The system's limits, lowered.

    Raises:
        ConfigError: a limit is above the system's.
    """
    lower: dict[str, Any] = config.model_dump(exclude_none=True)
    limits = MatchLimits()
    for name, value in lower.items():
        try:
            limits = limits.lowered(**{name: value})
        except ValueError as problem:
            raise ConfigError(str(problem), ("limits", name)) from None
    return limits
