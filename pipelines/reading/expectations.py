"""What a suite says of its files beforehand, for telling what they are."""

from __future__ import annotations

from pipelines.formats.detection import CSV
from pipelines.formats.paths import parse_path
from pipelines.formats.transports import Expected
from schemas.suite import InputConfig


def expected_of(config: InputConfig) -> Expected:
    """What a suite's input says of its files before they are opened: CSV, or columns that its mapping reads."""
    columns: set[str] = set()
    for text in (config.fields or {}).values():
        path = parse_path(text)
        columns |= {str(path[0]), ".".join(map(str, path))}
    return Expected(frozenset(columns), config.format == CSV)
