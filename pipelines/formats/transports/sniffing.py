"""What a file is, told from its first bytes; its name is never trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipelines.formats.json_values import Decoded, decode_line
from pipelines.formats.transports.csv_rows import csv_header
from schemas.reject import RejectReason

Transport = Literal["lines", "documents", "array", "csv", "parquet", "zip"]
Compression = Literal["none", "gzip", "zstd", "bzip2", "xz"]

_COMPRESSIONS: tuple[tuple[bytes, Compression], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
)
_PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<head", b"<body", b"<!-- ", b"<error>")
_LFS = b"version https://git-lfs"
_BINARY = (b"\x7fELF", b"\x89PNG", b"SQLite format 3\x00", b"%PDF-", b"ORC", b"Obj\x01", b"ARROW1")


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What a file is and why we think so; or why it can't be read."""

    transport: Transport | None
    compression: Compression = "none"
    """Set: decompress, then sniff what comes out."""
    encoding: Literal["utf-8", "utf-16"] = "utf-8"
    error: tuple[RejectReason, str] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the suite says of the files beforehand."""

    columns: frozenset[str] = frozenset()
    """Names that its `input.fields` read: a line that has one of them as a column is a CSV header."""
    is_csv: bool = False
    """Whether it says `format: csv`: then text is CSV, whatever its header."""


_NOTHING = Expected()


def sniff_file(head: bytes, uri: str, is_whole: bool = False, expected: Expected = _NOTHING) -> Sniffed:
    """The transport of a file that begins with `head`.

    `is_whole` says that `head` is all there is. An error has the reason and a sentence that names the file and what to do.
    """
    if not head:
        return _refused(RejectReason.EMPTY_FILE, f"{uri} is empty: it has no bytes at all")
    for magic, compression in _COMPRESSIONS:
        if head.startswith(magic):
            return Sniffed(None, compression, why=f"begins with the magic bytes of {compression}")
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return Sniffed("zip", why="begins with the magic bytes of zip")
    if head.startswith(b"PAR1"):
        return Sniffed("parquet", why="begins with PAR1")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        inner = sniff_file(_decoded_utf16(head), uri, is_whole, expected)
        return Sniffed(
            inner.transport, "none", "utf-16", inner.error, f"begins with a UTF-16 byte order mark; {inner.why}"
        )
    return _sniff_text(head, uri, is_whole, expected)


def _sniff_text(head: bytes, uri: str, is_whole: bool, expected: Expected) -> Sniffed:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\x0b\x0c")
    if not text:
        if is_whole:
            return _refused(RejectReason.EMPTY_FILE, f"{uri} is empty: it holds only blanks")
        return Sniffed("lines", why="begins with blanks")
    if text.startswith(_LFS):
        sentence = f"{uri} is a Git LFS pointer, not the data: run `git lfs pull` and read the real file"
        return _refused(RejectReason.GIT_LFS_POINTER, sentence)
    if text[:200].lower().startswith(_PAGES):
        sentence = f"{uri} is an HTML or XML page, not a log: a server's error answer was probably saved in its place"
        return _refused(RejectReason.HTML_PAGE, sentence)
    if text.startswith(_BINARY) or b"\x00\x00\x00" in text[:512]:
        return _refused(
            RejectReason.CORRUPT_FILE, f"{uri} is a binary file that is neither Parquet, zip nor compressed text"
        )
    if expected.is_csv:
        return Sniffed("csv", why="the suite says `format: csv`")
    if text[:1] in b"[{":
        return _sniff_json(text, is_whole)
    columns = csv_header(text, expected.columns)
    if columns:
        return Sniffed("csv", why="its first line is a header: " + ", ".join(columns[:10]))
    return Sniffed("lines", why="neither JSON nor a known table by its first bytes: read line by line")


def _sniff_json(text: bytes, is_whole: bool) -> Sniffed:
    first, newline, rest = text.partition(b"\n")
    opens_array = text[:1] == b"["
    if not newline:
        return (
            Sniffed("array", why="one line that opens an array")
            if opens_array
            else Sniffed("lines", why="one JSON line")
        )
    if _is_complete(first):
        if opens_array and not rest.strip():
            return Sniffed("array", why="one line that is an array")
        return Sniffed("lines", why="its first line is a JSON value of its own")
    if opens_array:
        return Sniffed("array", why="begins with [ and goes on over several lines")
    lines = rest.split(b"\n")
    whole_lines = lines if is_whole else lines[:-1]
    if any(line[:1] == b"{" and _is_complete(line) for line in whole_lines[:200]):
        return Sniffed("lines", why="its first line is broken, but others are JSON values of their own")
    return Sniffed("documents", why="its first JSON value goes on over several lines")


def _is_complete(line: bytes) -> bool:
    parts = decode_line(line)
    return bool(parts) and all(isinstance(part, Decoded) for part in parts)


def _decoded_utf16(head: bytes) -> bytes:
    return head[: len(head) // 2 * 2].decode("utf-16", "replace").encode("utf-8", "replace")


def _refused(reason: RejectReason, sentence: str) -> Sniffed:
    return Sniffed(None, error=(reason, sentence), why=sentence)
