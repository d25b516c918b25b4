"""The manifest: what a commit lists. Readers trust only what stands here."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MANIFEST_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class InputFile(_Part):
    """One input with what told its content apart when the run started."""

    uri: str
    size: int
    fingerprint: str
    format: str | None = None
    format_reason: str | None = None


class TableFile(_Part):
    """One committed Parquet file, path relative to the output folder."""

    path: str
    rows: int
    bytes: int
    sha256: str


class GraderCounts(_Part):
    """How one grader's outcomes fell."""

    counts: dict[str, int] = Field(default_factory=dict)
    """By status."""
    not_sampled_or_due: int = 0
    """Trajectories without a row, for `sample:` or `when:` left them out."""
    duration_us: int = 0


class Manifest(_Part):
    """A committed run."""

    manifest_version: int = MANIFEST_VERSION
    run_id: str
    suite_name: str
    suite_hash: str
    suite: dict[str, Any]
    code_version: str
    versions: dict[str, str]
    runner: str
    started_at: str
    finished_at: str
    wall_seconds: float
    inputs: list[InputFile]
    inputs_fingerprint: str
    tables: dict[str, list[TableFile]]
    records: int
    trajectories: int
    duplicates: int
    rejects: int
    rejects_by_reason: dict[str, int]
    skipped_by_rule: dict[str, int]
    formats: dict[str, int]
    """Trajectories by source format."""
    graders: dict[str, GraderCounts]
    judge_calls: int = 0
    cost_usd: Decimal = Decimal(0)
    notes: list[str] = Field(default_factory=list)
    """What a reader of the numbers should know (a fallback of the commit, an exhausted budget)."""
