"""Zip archives: the members as records; in an Inspect log (`header.json` and `samples/`), the samples with their header.

Inspect compresses members with method 93 (zstd), which the standard library reads only from Python 3.14 on.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import zstandard

from pipelines.formats.container import SourceRecord
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.formats.transports.csv_rows import iter_csv
from pipelines.formats.transports.documents import iter_array, iter_documents, rejected
from pipelines.formats.transports.sniffing import sniff_file
from schemas.reject import MAX_EXCERPT, Reject, RejectReason
from schemas.text import storable

_ZSTD = 93
_HEADERS = ("header.json", "_journal/start.json")
_LOCAL_HEADER = struct.Struct("<4s22xHH")
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


def iter_zip(file: BinaryIO, uri: str) -> Iterator[SourceRecord | Reject]:
    """The records of an archive; a record's offset is where its member begins, its ordinal its place in the member.

    An Inspect log gives `{"header": …, "sample": …}` a sample, or `{"header": …}` alone where it has none.
    """
    try:
        archive = zipfile.ZipFile(file)
    except _CORRUPT as error:
        yield Reject(uri, 0, "", RejectReason.CORRUPT_FILE, f"the zip archive can't be read: {error}", "", 0)
        return
    members = [member for member in archive.infolist() if not member.is_dir()]
    names = {member.filename for member in members}
    header_name = next((name for name in _HEADERS if name in names), None)
    if header_name is not None:
        yield from _iter_inspect(file, archive, members, header_name, uri)
        return
    if not members:
        yield Reject(uri, 0, "", RejectReason.NO_MESSAGES, f"{uri} is an empty zip archive", "", 0)
    for member in members:
        yield from _iter_member(file, member, uri)


def _iter_inspect(
    file: BinaryIO, archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], header_name: str, uri: str
) -> Iterator[SourceRecord | Reject]:
    header_member = archive.getinfo(header_name)
    header: Any = {}
    for record in _iter_member(file, header_member, uri):
        if isinstance(record, Reject):
            yield record
        else:
            header = record.value if type(record.value) is dict else {}
    samples = [member for member in members if member.filename.startswith("samples/")]
    if not samples:
        place = f"{uri}#{header_name}"
        yield SourceRecord({"header": header}, uri, header_member.header_offset, header_member.file_size, place=place)
    for member in samples:
        for record in _iter_member(file, member, uri):
            if isinstance(record, Reject):
                yield record
            else:
                value = {"header": header, "sample": record.value}
                yield SourceRecord(
                    value, uri, record.offset, record.size, record.issues, record.ordinal, record.excerpt, record.place
                )


def _iter_member(file: BinaryIO, member: zipfile.ZipInfo, uri: str) -> Iterator[SourceRecord | Reject]:
    try:
        data = _read_member(file, member)
    except _CORRUPT as error:
        detail = f"member {member.filename} can't be read: {error}"
        yield Reject(uri, member.header_offset, "", RejectReason.CORRUPT_FILE, detail, "", member.compress_size)
        return
    for ordinal, record in enumerate(_iter_data(data, uri, member)):
        if isinstance(record, Reject):
            yield Reject(
                uri,
                member.header_offset,
                "",
                record.reason,
                f"{member.filename}: {record.detail}",
                record.excerpt,
                record.bytes,
            )
        else:
            yield SourceRecord(
                record.value, uri, member.header_offset, record.size, record.issues, ordinal, record.excerpt,
                f"{uri}#{member.filename}" + (f":{ordinal}" if ordinal else ""),
            )  # fmt: skip


def _iter_data(data: bytes, uri: str, member: zipfile.ZipInfo) -> Iterator[SourceRecord | Reject]:
    sniffed = sniff_file(data, member.filename, is_whole=True)
    if sniffed.error is not None:
        yield Reject(uri, 0, "", *sniffed.error, "", len(data))
    elif sniffed.transport == "csv":
        yield from iter_csv(io.BytesIO(data), uri)
    elif sniffed.transport == "array":
        yield from iter_array(io.BytesIO(data), uri)
    elif sniffed.transport == "documents":
        yield from iter_documents(io.BytesIO(data), uri)
    elif sniffed.transport == "lines":
        yield from _iter_lines(data, uri)
    else:
        detail = "a compressed or Parquet member inside a zip archive: unpack the archive and read the files"
        yield Reject(uri, 0, "", RejectReason.UNKNOWN_FORMAT, detail, "", len(data))


def _iter_lines(data: bytes, uri: str) -> Iterator[SourceRecord | Reject]:
    offset = 0
    for line in data.split(b"\n"):
        is_last = offset + len(line) >= len(data)
        excerpt = storable(line[: MAX_EXCERPT * 4].decode("utf-8", "replace"))[:MAX_EXCERPT]
        for part in decode_line(line, is_last):
            if isinstance(part, Decoded):
                yield SourceRecord(part.value, uri, offset, part.size, part.issues, part.ordinal, excerpt)
            else:
                yield rejected(part, uri, offset, excerpt)
        offset += len(line) + 1


def _read_member(file: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    """A member's bytes, whichever method packed them; checked against its CRC."""
    file.seek(member.header_offset)
    magic, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if magic != b"PK\x03\x04":
        raise zipfile.BadZipFile("no local header where the directory says")
    if member.flag_bits & 1:
        raise zipfile.BadZipFile("it is encrypted")
    file.seek(name_length + extra_length, io.SEEK_CUR)
    packed = file.read(member.compress_size)
    if len(packed) != member.compress_size:
        raise zipfile.BadZipFile("the archive is cut short")
    if member.compress_type == zipfile.ZIP_STORED:
        data = packed
    elif member.compress_type == zipfile.ZIP_DEFLATED:
        data = zlib.decompress(packed, -15)
    elif member.compress_type == _ZSTD:
        data = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(packed)
    else:
        raise zipfile.BadZipFile(f"compression method {member.compress_type} is not supported")
    if zlib.crc32(data) != member.CRC:
        raise zipfile.BadZipFile("its checksum is wrong")
    return data
