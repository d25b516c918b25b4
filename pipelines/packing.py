"""Inputs on their way through the job: packed, for a job's description should hardly grow with every file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson
import zstandard

from schemas.manifest import InputFile

#: Files in one packed element. Splitting starts after a shuffle of the unpacked files, so this bounds no parallelism.
FILES_A_PACK = 10_000


def packed(files: Sequence[InputFile]) -> list[bytes]:
    """Inputs as compressed elements; `unpacked` is the inverse. 100,000 files of dated folders take about 2.3 MB (measured)."""
    compress = zstandard.ZstdCompressor(level=9).compress
    return [
        compress(orjson.dumps([file.model_dump() for file in files[start : start + FILES_A_PACK]]))
        for start in range(0, len(files), FILES_A_PACK)
    ]


def unpacked(pack: bytes) -> Iterator[InputFile]:
    """The inputs of one element."""
    for values in orjson.loads(zstandard.decompress(pack)):
        yield InputFile(**values)
