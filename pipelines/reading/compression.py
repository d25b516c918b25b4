"""Compressed inputs as plain byte streams, told by their first bytes and never by their name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from typing import BinaryIO, Literal, cast

import zstandard

Compression = Literal["none", "gzip", "zstd", "bzip2", "xz"]

_MAGIC: tuple[tuple[bytes, Compression], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
)

#: What the decompressors raise for damaged or cut input.
CORRUPT = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, ValueError)


def compression_of(head: bytes) -> Compression:
    """The compression of a file that begins with `head` (6 bytes are enough)."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    return "none"


def decompressed(file: BinaryIO, compression: Compression) -> BinaryIO:
    """A stream of the plain bytes of `file`; several members or frames in a row read as one."""
    if compression == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
    if compression == "zstd":
        return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))
    if compression == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(file, "rb"))
    if compression == "xz":
        return cast(BinaryIO, lzma.LZMAFile(file, "rb"))
    return file
