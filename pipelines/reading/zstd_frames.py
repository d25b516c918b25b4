"""Where zstd frames end: the decompressor itself takes a stream that was cut inside a frame for a whole one.

The layout of frames and blocks is that of RFC 8878, section 3.1.
"""

from __future__ import annotations

import io
from typing import BinaryIO

_FRAME = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_DICTIONARY_ID_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_RLE = 1


class WholeFrames(io.RawIOBase):
    """The bytes of a zstd stream as they are; at their end `EOFError` where that lies inside a frame."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._waiting = b""
        """The beginning of a header that the bytes so far hold a part of."""
        self._passing = 0
        """Bytes up to the next header."""
        self._is_inside = False
        """Whether a frame has begun and its last block has not been passed."""
        self._has_checksum = False
        self._is_known = True

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """As of any raw stream."""
        data = self._file.read(len(buffer))
        if not data and self._is_known and (self._is_inside or self._passing or self._waiting):
            raise EOFError("the zstd stream ends inside a frame")
        buffer[: len(data)] = data
        self._follow(data)
        return len(data)

    def _follow(self, data: bytes) -> None:
        position = 0
        while position < len(data) and self._is_known:
            passed = min(self._passing, len(data) - position)
            self._passing -= passed
            position += passed
            while position < len(data) and not self._passing:
                self._waiting += data[position : position + 1]
                position += 1
                if not self._is_known or self._take_header():
                    break

    def _take_header(self) -> bool:
        """Read the waiting bytes as a header; whether they are one."""
        header = self._waiting
        if self._is_inside:
            if len(header) < 3:
                return False
            block = int.from_bytes(header, "little")
            self._passing = 1 if (block >> 1) & 3 == _RLE else block >> 3
            if block & 1:
                self._passing += 4 if self._has_checksum else 0
                self._is_inside = False
        else:
            if len(header) < 5:
                return False
            magic = int.from_bytes(header[:4], "little")
            if magic in _SKIPPABLE:
                if len(header) < 8:
                    return False
                self._passing = int.from_bytes(header[4:], "little")
            elif magic == _FRAME:
                told = header[4]
                is_single, self._has_checksum = bool(told & 0x20), bool(told & 0x04)
                self._passing = _DICTIONARY_ID_BYTES[told & 3] + (_CONTENT_SIZE_BYTES[told >> 6] or int(is_single))
                self._passing += 0 if is_single else 1
                self._is_inside = True
            else:
                self._is_known = False
        self._waiting = b""
        return True
