"""One file through the pipeline's own splitter and reader, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pipelines.reading.reader import BlockReader
from pipelines.reading.splitting import FileFormat, file_format, split
from schemas.manifest import InputFile
from schemas.reject import Reject
from schemas.suite import InputConfig
from schemas.trajectory import Trajectory


@dataclass
class Loaded:
    """What became of a file."""

    trajectories: list[Trajectory] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    records: int = 0
    skipped: int = 0

    @property
    def outputs(self) -> list[str | None]:
        return [made.output for made in self.trajectories]

    @property
    def reasons(self) -> list[str]:
        return [each.reason.value for each in self.rejects]


def told(path: Path, config: InputConfig | None = None) -> FileFormat:
    """What the file is taken for."""
    return file_format(InputFile(uri=str(path), size=path.stat().st_size, fingerprint=""), config or InputConfig())


def load(path: Path, config: InputConfig | None = None) -> Loaded:
    """Read a file whose records are not grouped by key."""
    config = config or InputConfig()
    reader = BlockReader(config, 0)
    result = Loaded()
    for block in split(InputFile(uri=str(path), size=path.stat().st_size, fingerprint=""), config):
        for loaded in reader.load(block):
            result.trajectories += loaded.batch.rows
            result.rejects += loaded.rejects
            result.records += loaded.records
            result.skipped += sum(loaded.skipped.values())
    return result
