"""One file through the pipeline's own splitter and reader, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pipelines.formats.container import Container, SourceRecord, in_order, normalised_safely
from pipelines.reading.block import Block
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
    used: int | None = None
    """Records that went into trajectories, where that is told."""
    skipped: dict[str, int] = field(default_factory=dict)

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
    """Read a file as a run would; where its records are grouped by key, those of other files are not there."""
    config = config or InputConfig()
    reader = BlockReader(config, 0)
    result = Loaded()
    whole = told(path, config).block
    if whole.container is not None and whole.container.grouping == "key":
        return _grouped(reader, whole, whole.container)
    for block in split(InputFile(uri=str(path), size=path.stat().st_size, fingerprint=""), config):
        for loaded in reader.load(block):
            result.trajectories += loaded.batch.rows
            result.rejects += loaded.rejects
            result.records += loaded.records
            for rule, count in loaded.skipped.items():
                result.skipped[rule] = result.skipped.get(rule, 0) + count
    return result


def _grouped(reader: BlockReader, block: Block, container: Container) -> Loaded:
    result = Loaded()
    groups: dict[str | None, list[SourceRecord]] = {}
    for item in reader.records(block):
        if isinstance(item, Reject):
            result.rejects.append(item)
            result.records += 1
            continue
        for part in container.pieces(item):
            groups.setdefault(container.key(part), []).append(part)
            result.records += 1
    alone = [[record] for record in groups.pop(None, [])]
    for records in (*alone, *groups.values()):
        made = normalised_safely(container, in_order(records))
        result.trajectories += made.trajectories
        result.rejects += made.rejects
        result.used = (result.used or 0) + made.records_used
        for rule, count in made.skipped.items():
            result.skipped[rule] = result.skipped.get(rule, 0) + count
    return result
