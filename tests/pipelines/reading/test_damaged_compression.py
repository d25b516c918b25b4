"""Compressed files that were cut or damaged: all that comes before is read, and a reject says so wherever the cut lies."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.reading.compression import decompressed
from tests.pipelines.reading.loading import load


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(data)


def zstd_stream(data: bytes) -> bytes:
    """As a writer does that does not know the size, with a block for every few lines."""
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    pieces = [
        packer.compress(data[at : at + 300]) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        for at in range(0, len(data), 300)
    ]
    return b"".join(pieces) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd, "zstd stream": zstd_stream,
}  # fmt: skip


def record(number: int) -> bytes:
    turns = [{"role": "user", "content": f"question {number}"}, {"role": "assistant", "content": f"answer {number}"}]
    return orjson.dumps({"id": str(number), "messages": turns}) + b"\n"


LINES = [record(number) for number in range(40)]


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("end", ["lines", "array"])
def test_wherever_it_is_cut_it_is_told(kind: str, end: str, tmp_path: Path) -> None:
    data = b"".join(LINES) if end == "lines" else b"[" + b",".join(LINES) + b"]"
    packed = PACKERS[kind](data)
    path = tmp_path / "log"
    path.write_bytes(packed)
    whole = load(path)
    assert (len(whole.trajectories), whole.reasons) == (len(LINES), [])
    for cut in sorted(
        {6, 20, len(packed) // 3, len(packed) // 2, len(packed) * 9 // 10, len(packed) - 5, len(packed) - 1}
    ):
        path.write_bytes(packed[:cut])
        loaded = load(path)
        assert "corrupt_file" in loaded.reasons
        assert [made.trajectory_id for made in loaded.trajectories] == [str(n) for n in range(len(loaded.trajectories))]
        assert loaded.records == len(loaded.trajectories) + len(loaded.rejects)


@pytest.mark.parametrize("kind", PACKERS)
def test_several_frames_or_members_are_one_file(kind: str, tmp_path: Path) -> None:
    pack = PACKERS[kind]
    (tmp_path / "log").write_bytes(pack(LINES[0]) + pack(b"") + pack(LINES[1]))
    loaded = load(tmp_path / "log")
    assert ([made.trajectory_id for made in loaded.trajectories], loaded.reasons) == (["0", "1"], [])


@settings(deadline=None, max_examples=60)
@given(
    st.binary(max_size=400) | st.builds(bytes, st.integers(0, 400_000)),
    st.booleans(), st.booleans(), st.integers(1, 3), st.binary(max_size=9), st.data(),
)  # fmt: skip
def test_zstd_frames_of_every_layout(
    data: bytes, checksum: bool, sized: bool, level: int, skipped: bytes, draw: st.DataObject
) -> None:
    packer = zstandard.ZstdCompressor(level=level, write_checksum=checksum, write_content_size=sized)
    skippable = b"\x50\x2a\x4d\x18" + len(skipped).to_bytes(4, "little") + skipped
    packed = packer.compress(data) + skippable + packer.compress(b"end")
    assert decompressed(io.BytesIO(packed), "zstd").read() == data + b"end"
    cut = draw.draw(st.integers(1, len(packed) - 1))
    frames = {len(packer.compress(data)), len(packer.compress(data)) + len(skippable)}
    if cut not in frames:
        with pytest.raises((EOFError, zstandard.ZstdError)):
            decompressed(io.BytesIO(packed[:cut]), "zstd").read()
