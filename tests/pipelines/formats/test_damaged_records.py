"""Records of every format with values missing, emptied or of the wrong type: nothing raises, nothing goes uncounted, all can be stored."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats.container import Container, Normalised, SourceRecord, normalised_safely
from pipelines.formats.detection import detect
from schemas.reject import RejectReason
from schemas.trajectory_batch import to_record_batch
from tests.pipelines.formats.reading_helper import records_of, run
from tests.shared_files import shared_file

_FOLDER = shared_file("samples")
_FILES = sorted(path for path in _FOLDER.rglob("*") if path.is_file() and path.name != "INDEX.tsv") if _FOLDER else []
_FOREIGN: list[Any] = [
    None, True, 0, -1, 1.5, "", "x", "[]", "{}", [], {}, [None], [1], ["x"], {"x": 1}, [{}], {"type": 5}, 10**30, [[]], {"role": []},
]  # fmt: skip


def damaged(value: Any, rng: random.Random, depth: int = 0) -> Any:
    """`value` with about one in sixteen of its parts replaced and one in thirty left out."""
    if depth > 9:
        return value
    if rng.random() < 0.06:
        return rng.choice(_FOREIGN)
    if isinstance(value, dict):
        return {key: damaged(item, rng, depth + 1) for key, item in value.items() if rng.random() > 0.03}
    if isinstance(value, list):
        return [damaged(item, rng, depth + 1) for item in value[:12] if rng.random() > 0.03]
    return value


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.name)
def test_no_damage_raises_or_goes_uncounted(path: Path) -> None:
    records, _ = records_of(path.read_bytes(), path.name)
    container = detect([record.value for record in records], path.name).container
    for seed in range(3):
        rng = random.Random(f"{path.name} {seed}")
        broken = [SourceRecord(damaged(r.value, rng), r.uri, r.offset, r.size, (), r.ordinal) for r in records[:6]]
        pieces, result = run(broken, container)
        assert len(pieces) == result.records_used + len(result.rejects) + sum(result.skipped.values())
        assert to_record_batch(result.trajectories).num_rows == len(result.trajectories)


class _Failing(Container):
    """Fails for every record that holds 1."""

    name = "failing"

    def detect(self, value: Any) -> str | None:
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        if any(record.value == 1 for record in records):
            raise KeyError("the record's own secret text")
        return Normalised(records_used=len(records))


def test_a_failing_reader_costs_only_the_record_at_fault() -> None:
    result = normalised_safely(_Failing(), [SourceRecord(value, "u", value, 1) for value in range(4)])
    assert result.records_used == 3
    assert [(entry.source_offset, entry.reason) for entry in result.rejects] == [(1, RejectReason.ADAPTER_ERROR)]
    assert "secret" not in result.rejects[0].detail
    assert "KeyError" in result.rejects[0].detail
