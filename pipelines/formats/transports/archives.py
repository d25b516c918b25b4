"""Zip archives: the members as records; in an Inspect log (`header.json` and `samples/`), the samples with their header.

Inspect compresses members with method 93 (zstd), which the standard library reads only from Python 3.14 on. Members are unpacked piece by
piece, twice: once to check them, once to read them, so that memory holds one record however large a member is.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

import zstandard

from pipelines.formats.container import SourceRecord
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.formats.transports.csv_rows import iter_csv
from pipelines.formats.transports.documents import iter_array, iter_documents, rejected
from pipelines.formats.transports.limits import UNLIMITED, too_large
from pipelines.formats.transports.sniffing import Expected, sniff_file
from pipelines.formats.transports.utf16 import utf8_stream
from schemas.reject import MAX_EXCERPT, Reject, RejectReason
from schemas.text import storable

_ZSTD = 93
_HEADERS = ("header.json", "_journal/start.json")
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_PIECE = 256 * 1024
_CORRUPT = (
    zipfile.BadZipFile,
    zlib.error,
    zstandard.ZstdError,
    OSError,
    EOFError,
    ValueError,
    struct.error,
    RuntimeError,
)


def iter_zip(
    file: BinaryIO, uri: str, max_record: int = UNLIMITED, expected: Expected | None = None
) -> Iterator[SourceRecord | Reject]:
    """The records of an archive; a record's offset is where its member begins, its ordinal its place in the member.

    An Inspect log gives `{"header": …, "sample": …}` a sample, or `{"header": …}` alone where it has none. A record over `max_record` bytes
    is a reject `too_large`.
    """
    try:
        archive = zipfile.ZipFile(file)
    except _CORRUPT as error:
        yield Reject(uri, 0, "", RejectReason.CORRUPT_FILE, f"the zip archive can't be read: {error}", "", 0)
        return
    reader = _ArchiveReader(file, archive, uri, max_record, expected or Expected())
    yield from reader.records()


class _ArchiveReader:
    def __init__(self, file: BinaryIO, archive: zipfile.ZipFile, uri: str, max_record: int, expected: Expected) -> None:
        self._file = file
        self._archive = archive
        self._uri = uri
        self._max_record = max_record
        self._expected = expected

    def records(self) -> Iterator[SourceRecord | Reject]:
        members = [member for member in self._archive.infolist() if not member.is_dir()]
        names = {member.filename for member in members}
        header_name = next((name for name in _HEADERS if name in names), None)
        if header_name is not None:
            yield from self._inspect(members, header_name)
            return
        if not members:
            sentence = f"{self._uri} is an empty zip archive"
            yield Reject(self._uri, 0, "", RejectReason.EMPTY_FILE, sentence, "", 0)
        for member in members:
            yield from self._member(member)

    def _inspect(self, members: list[zipfile.ZipInfo], header_name: str) -> Iterator[SourceRecord | Reject]:
        header_member = self._archive.getinfo(header_name)
        header: Any = {}
        for record in self._member(header_member):
            if isinstance(record, Reject):
                yield record
            else:
                header = record.value if type(record.value) is dict else {}
        samples = [member for member in members if member.filename.startswith("samples/")]
        if not samples:
            place = f"{self._uri}#{header_name}"
            offset, size = header_member.header_offset, header_member.file_size
            yield SourceRecord({"header": header}, self._uri, offset, size, place=place)
        for member in samples:
            for record in self._member(member):
                if isinstance(record, Reject):
                    yield record
                else:
                    value = {"header": header, "sample": record.value}
                    yield SourceRecord(
                        value, self._uri, record.offset, record.size, record.issues, record.ordinal, record.excerpt,
                        record.place,
                    )  # fmt: skip

    def _member(self, member: zipfile.ZipInfo) -> Iterator[SourceRecord | Reject]:
        try:
            _check(self._open(member), member)
        except _CORRUPT as error:
            detail = f"member {member.filename} can't be read: {error}"
            size = member.compress_size
            yield Reject(self._uri, member.header_offset, "", RejectReason.CORRUPT_FILE, detail, "", size)
            return
        for ordinal, record in enumerate(self._cut(member)):
            if isinstance(record, Reject):
                detail = f"{member.filename}: {record.detail}"
                yield Reject(
                    self._uri, member.header_offset, record.source_format, record.reason, detail, record.excerpt,
                    record.bytes, ordinal,
                )  # fmt: skip
            else:
                yield SourceRecord(
                    record.value, self._uri, member.header_offset, record.size, record.issues, ordinal, record.excerpt,
                    f"{self._uri}#{member.filename}" + (f":{ordinal}" if ordinal else ""),
                )  # fmt: skip

    def _cut(self, member: zipfile.ZipInfo) -> Iterator[SourceRecord | Reject]:
        head = self._open(member).read(_PIECE)
        sniffed = sniff_file(head, member.filename, len(head) < _PIECE, self._expected)
        stream = self._open(member)
        if sniffed.encoding == "utf-16":
            stream = utf8_stream(stream)
        if sniffed.error is not None:
            yield Reject(self._uri, 0, "", *sniffed.error, "", member.file_size)
        elif sniffed.transport in _CUTTERS:
            yield from _CUTTERS[sniffed.transport](stream, self._uri, self._max_record)
        else:
            detail = "a compressed or Parquet member inside a zip archive: unpack the archive and read the files"
            yield Reject(self._uri, 0, "", RejectReason.UNKNOWN_FORMAT, detail, "", member.file_size)

    def _open(self, member: zipfile.ZipInfo) -> BinaryIO:
        packed = cast(BinaryIO, io.BufferedReader(_Packed(self._file, member), _PIECE))
        if member.compress_type == zipfile.ZIP_STORED:
            return packed
        if member.compress_type == zipfile.ZIP_DEFLATED:
            return cast(BinaryIO, io.BufferedReader(_Inflated(packed), _PIECE))
        if member.compress_type == _ZSTD:
            plain = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, plain), _PIECE))
        raise zipfile.BadZipFile(f"compression method {member.compress_type} is not supported")


class _Packed(io.RawIOBase):
    """A member's bytes as they lie in the archive."""

    def __init__(self, file: BinaryIO, member: zipfile.ZipInfo) -> None:
        file.seek(member.header_offset)
        magic, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        if magic != b"PK\x03\x04":
            raise zipfile.BadZipFile("no local header where the directory says")
        if member.flag_bits & 1:
            raise zipfile.BadZipFile("it is encrypted")
        self._file = file
        self._place = member.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        self._left = member.compress_size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = min(len(buffer), self._left)
        self._file.seek(self._place)
        piece = self._file.read(count)
        if count and not piece:
            raise zipfile.BadZipFile("the archive is cut short")
        buffer[: len(piece)] = piece
        self._place += len(piece)
        self._left -= len(piece)
        return len(piece)


class _Inflated(io.RawIOBase):
    """A deflated stream's plain bytes."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._inflater = zlib.decompressobj(-15)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._inflater.eof:
            piece = self._inflater.unconsumed_tail or self._packed.read(_PIECE)
            plain = self._inflater.decompress(piece, len(buffer))
            if plain or not piece:
                buffer[: len(plain)] = plain
                return len(plain)
        return 0


def _check(stream: BinaryIO, member: zipfile.ZipInfo) -> None:
    """Read a member to its end; raises one of `_CORRUPT` where it is not what the directory says."""
    checksum = 0
    while piece := stream.read(_PIECE):
        checksum = zlib.crc32(piece, checksum)
    if checksum != member.CRC:
        raise zipfile.BadZipFile("its checksum is wrong")


def _iter_lines(file: BinaryIO, uri: str, max_record: int) -> Iterator[SourceRecord | Reject]:
    offset = 0
    while line := file.readline(max_record + 2):
        size = len(line)
        if size > max_record and len(line.rstrip(b"\r\n")) > max_record:
            excerpt = _excerpt(line)
            while not line.endswith(b"\n") and (line := file.readline(_PIECE)):
                size += len(line)
            yield too_large(uri, offset, size, excerpt, what="line")
        else:
            excerpt = _excerpt(line)
            for part in decode_line(line, not line.endswith(b"\n")):
                if isinstance(part, Decoded):
                    yield SourceRecord(part.value, uri, offset, part.size, part.issues, part.ordinal, excerpt)
                else:
                    yield rejected(part, uri, offset, excerpt)
        offset += size


def _excerpt(line: bytes) -> str:
    return storable(line[: MAX_EXCERPT * 4].decode("utf-8", "replace"))[:MAX_EXCERPT].rstrip("\r\n")


_CUTTERS: dict[str | None, Callable[[BinaryIO, str, int], Iterator[SourceRecord | Reject]]] = {
    "csv": iter_csv,
    "array": iter_array,
    "documents": iter_documents,
    "lines": _iter_lines,
}
