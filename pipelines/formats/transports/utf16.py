"""UTF-16 text as a stream of UTF-8 bytes."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, cast

_PIECE = 256 * 1024


class _Utf8Stream(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready and not self._ended:
            piece = self._file.read(_PIECE)
            self._ended = not piece
            self._ready = self._decoder.decode(piece, self._ended).encode("utf-8", "replace")
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def utf8_stream(file: BinaryIO) -> BinaryIO:
    """The text of a UTF-16 stream (its byte order mark tells which) in UTF-8; offsets in it count UTF-8 bytes."""
    return cast(BinaryIO, io.BufferedReader(_Utf8Stream(file), _PIECE))
