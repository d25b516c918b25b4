"""The suite file: one grading run's input, graders, routes, output and allowances."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from schemas.routes import RouteConfig


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class InputConfig(_Part):
    """What is read and how."""

    paths: list[str] = Field(default_factory=list)
    """Globs or files, local (relative to the suite file), s3:// or gs://."""
    format: str = "auto"
    """A container's name; `auto`: told from the content of each file; or `csv`: text is CSV whatever its header, its rows are told."""
    fields: dict[str, str] | None = None
    """For rows of your own: canonical name → path (`{output: $.answer}`)."""
    duplicates: Literal["skip", "grade"] = "skip"
    """Byte-identical records after the first: not graded (parse_status `duplicate`), or graded like any other."""
    max_record_bytes: int = Field(default=256 * 2**20, ge=1)
    """A longer record (a line, a JSON value, a row, a session that fills a file) is a reject, `too_large`."""

    @field_validator("paths", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class OutputConfig(_Part):
    """Where the tables go."""

    path: str = "graded/"


class Allowance(_Part):
    """Shares of records and of grades beyond which a finished run exits with 12."""

    rejects: float = Field(default=0.01, ge=0, le=1)
    errors: float = Field(default=0.01, ge=0, le=1)


class LimitsConfig(_Part):
    """Bounds for the whole suite; they may lower the system's, never raise them."""

    max_cost_usd: float | None = Field(default=None, ge=0)
    max_calls: int | None = Field(default=None, ge=0)


class VerdictConfig(_Part):
    """How the graders of one trajectory make its overall verdict."""

    threshold: float | None = Field(default=None, ge=0, le=1)


class Suite(_Part):
    """One grading run's configuration. `graders` are raw objects; `graders.configured` checks them."""

    name: str = Field(default="suite", min_length=1, max_length=100)
    description: str | None = None
    profile: str | None = None
    input: InputConfig = Field(default_factory=InputConfig)
    graders: list[dict[str, Any]]
    routes: dict[str, RouteConfig] = Field(default_factory=dict)
    output: OutputConfig = Field(default_factory=OutputConfig)
    allow: Allowance = Field(default_factory=Allowance)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    verdict: VerdictConfig = Field(default_factory=VerdictConfig)
    plugins: list[str] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _refuse_later_keys(cls, values: Any) -> Any:
        if isinstance(values, dict) and "gates" in values:
            raise ValueError("gates: is not supported yet; query the tables and compare the rates yourself")
        return values
