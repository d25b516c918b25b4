"""Compressed inputs as plain byte streams. Which compression it is, `pipelines.formats.transports.sniffing` tells."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import tempfile
import zlib
from typing import BinaryIO, cast

import zstandard

from pipelines.formats.transports.sniffing import Compression
from pipelines.reading.zstd_frames import WholeFrames

#: What the decompressors raise for damaged or cut input.
CORRUPT = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, ValueError)


def is_damage(error: BaseException) -> bool:
    """Whether one of `CORRUPT` speaks of the data. An error of the system (no permission, a lost connection) has a number and does not."""
    return not (isinstance(error, OSError) and error.errno is not None)


def decompressed(file: BinaryIO, compression: Compression) -> BinaryIO:
    """A stream of the plain bytes of `file`; several members or frames in a row read as one."""
    if compression == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
    if compression == "zstd":
        frames = cast(BinaryIO, WholeFrames(file))
        return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(frames, read_across_frames=True))
    if compression == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(file, "rb"))
    if compression == "xz":
        return cast(BinaryIO, lzma.LZMAFile(file, "rb"))
    return file


def seekable(file: BinaryIO, compression: Compression) -> BinaryIO:
    """The plain bytes of `file` for readers that jump about (Parquet, zip); those of a compressed one lie in a temporary file."""
    if compression == "none":
        return file
    plain = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - its reader closes it
    shutil.copyfileobj(decompressed(file, compression), plain, 2**20)
    plain.seek(0)
    return plain
