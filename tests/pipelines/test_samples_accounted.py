"""Every file of the shared samples through the pipeline's own splitter and reader: nothing raises, and every record is accounted for."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from pipelines.formats.json_values import decode_line
from tests.pipelines.reading.loading import load, told
from tests.shared_files import shared_file

_FOLDER = shared_file("samples")
_FILES = sorted(path for path in _FOLDER.rglob("*") if path.is_file() and path.name != "INDEX.tsv") if _FOLDER else []
_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.relative_to(_FOLDER).as_posix())
def test_every_record_is_used_rejected_or_skipped_by_a_documented_rule(path: Path, tmp_path: Path) -> None:
    loaded = load(path)
    skipped = sum(loaded.skipped.values())
    assert loaded.records > 0
    if loaded.used is not None:
        assert loaded.records == loaded.used + len(loaded.rejects) + skipped
    assert loaded.trajectories or loaded.rejects or skipped
    assert all(f"`{rule}`" in _README for rule in loaded.skipped)
    assert not {"adapter_error", "corrupt_file"} & set(loaded.reasons)
    assert all(re.search(r"\w{3}", each.detail) and each.source_uri == str(path) for each in loaded.rejects)
    if path.read_bytes()[:2] == b"\x1f\x8b":
        return
    (tmp_path / "x.jsonl").write_bytes(gzip.compress(path.read_bytes()))
    again = load(tmp_path / "x.jsonl")
    assert told(tmp_path / "x.jsonl").name == told(path).name
    assert (again.records, again.outputs, again.reasons, again.skipped) == (
        loaded.records, loaded.outputs, loaded.reasons, loaded.skipped,
    )  # fmt: skip


@pytest.mark.parametrize("path", [path for path in _FILES if path.suffix == ".jsonl"], ids=lambda path: path.name)
def test_no_line_is_lost(path: Path) -> None:
    """Lines are counted here apart from the reader; a piece of a line counts as a record, so there may be more records."""
    data = path.read_bytes()
    if told(path).block.kind != "lines" or told(path).block.compression != "none" or data[:2] == b"\xff\xfe":
        return
    assert load(path).records >= sum(len(decode_line(line)) for line in data.split(b"\n"))


def test_every_skip_rule_in_the_sources_is_documented() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (_ROOT / "pipelines" / "formats").rglob("*.py"))
    named = set(re.findall(r"\.skip\((?:\"(\w+)\"|(\w+))", sources))
    rules = {literal or re.findall(rf'^{constant} = "(\w+)"', sources, re.MULTILINE)[0]
             for literal, constant in named if literal or constant.isupper() or constant.startswith("_")}  # fmt: skip
    assert len(rules) > 12
    assert [rule for rule in sorted(rules) if f"`{rule}`" not in _README] == []
