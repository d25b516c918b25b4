"""Telling files by their bytes, and cutting them into records."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats.container import SourceRecord
from pipelines.formats.transports import (
    documents,
    iter_array,
    iter_csv,
    iter_documents,
    iter_zip,
    sniff_file,
    utf8_stream,
)
from schemas.reject import Reject, RejectReason

OBJECTS = st.lists(
    st.dictionaries(
        st.text(max_size=5), st.text(max_size=8) | st.integers() | st.lists(st.text(max_size=3), max_size=3)
    ),
    min_size=1,
    max_size=5,
)


def values(parts: Iterable[SourceRecord | Reject]) -> list[object]:
    return [part.value if isinstance(part, SourceRecord) else part.reason for part in parts]


def offset_of(part: SourceRecord | Reject) -> int:
    return part.offset if isinstance(part, SourceRecord) else part.source_offset


@pytest.mark.parametrize(
    ("head", "transport"),
    [
        (b'{"a":1}\n{"a":2}\n', "lines"),
        (b'{"a":1}', "lines"),
        (b'{"a":1}{"a":2}\n', "lines"),
        (b'{"a":1}\n{"a":', "lines"),
        (b'{"a":\n{"a":2}\n{"a":3}\n', "lines"),
        (b'{\n  "a": 1\n}\n{\n  "a": 2\n}\n', "documents"),
        (b'[\n{"a":1},\n{"a":2}\n]\n', "array"),
        (b'[{"a":1},{"a":2}]', "array"),
        (b'[{"a":1}]\n', "array"),
        (b'["m",{"a":1}]\n["m",{"a":2}]\n', "lines"),
        (b"input,output,reference\na,b,c\n", "csv"),
        (b"input\toutput\na\tb\n", "csv"),
        (b"PAR1xxxx", "parquet"),
        (b"PK\x03\x04xxxx", "zip"),
        (b"null\n42\n", "lines"),
        (b"just some text\n", "lines"),
        (b'\n\n{"a":1}\n', "lines"),
    ],
)
def test_transports_by_content(head: bytes, transport: str) -> None:
    sniffed = sniff_file(head, "x", is_whole=True)
    assert (sniffed.transport, sniffed.error) == (transport, None)


@pytest.mark.parametrize(
    ("head", "compression"),
    [
        (gzip.compress(b"{}", mtime=0), "gzip"),
        (zstandard.compress(b"{}"), "zstd"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\x00", "xz"),
    ],
)
def test_compressions_by_content(head: bytes, compression: str) -> None:
    assert sniff_file(head, "x.jsonl").compression == compression


@pytest.mark.parametrize(
    ("head", "reason", "word"),
    [
        (b"", RejectReason.EMPTY_FILE, "empty"),
        (b"  \n\n", RejectReason.EMPTY_FILE, "blanks"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", RejectReason.GIT_LFS_POINTER, "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", RejectReason.HTML_PAGE, "error answer"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', RejectReason.HTML_PAGE, "error answer"),
        (b"SQLite format 3\x00", RejectReason.CORRUPT_FILE, "binary"),
    ],
)
def test_what_is_no_log_has_its_own_sentence(head: bytes, reason: RejectReason, word: str) -> None:
    error = sniff_file(head, "logs/x.jsonl", is_whole=True).error
    assert error is not None
    assert error[0] is reason
    assert word in error[1]
    assert "logs/x.jsonl" in error[1]


def test_utf16_is_told_and_read() -> None:
    data = '{"a":"é\u2028"}\n{"a":2}\n'.encode("utf-16")
    sniffed = sniff_file(data, "x")
    assert (sniffed.transport, sniffed.encoding) == ("lines", "utf-16")
    assert utf8_stream(io.BytesIO(data)).read() == '{"a":"é\u2028"}\n{"a":2}\n'.encode()


@settings(deadline=None)
@given(OBJECTS, st.sampled_from([None, 2]), st.sampled_from(["", "\n", " \n\n"]))
def test_documents_come_back(objects: list[dict[str, object]], indent: int | None, gap: str) -> None:
    text = gap.join(json.dumps(item, indent=indent) for item in objects).encode()
    parts = list(iter_documents(io.BytesIO(text), "u"))
    assert values(parts) == objects
    assert all(text[offset_of(part) : offset_of(part) + 1] == b"{" for part in parts)


@settings(deadline=None)
@given(OBJECTS, st.sampled_from([None, 2]))
def test_arrays_come_back(objects: list[dict[str, object]], indent: int | None) -> None:
    parts = list(iter_array(io.BytesIO(json.dumps(objects, indent=indent).encode()), "u"))
    assert values(parts) == objects
    assert len({offset_of(part) for part in parts}) == len(objects)


def test_array_elements_of_every_kind() -> None:
    parts = list(iter_array(io.BytesIO(b'[1, "a,]", null, [2], {"b": NaN}, true]'), "u"))
    assert values(parts) == [1, "a,]", None, [2], {"b": None}, True]


def test_a_cut_array_gives_its_whole_elements_and_a_truncated_tail() -> None:
    parts = list(iter_array(io.BytesIO(b'[{"a":1},{"a":2},{"a":'), "u"))
    assert values(parts) == [{"a": 1}, {"a": 2}, RejectReason.TRUNCATED_TAIL]


def test_after_a_document_that_never_ends_the_next_ones_are_read() -> None:
    parts = list(iter_documents(io.BytesIO(b'{\n "a": [1\n\n{\n "b": 2\n}\n{\n "c": 3\n}'), "u"))
    assert values(parts) == [RejectReason.INVALID_JSON, {"b": 2}, {"c": 3}]


@pytest.mark.parametrize(
    "cut",
    [
        b'{\n "a": "b',
        b'{\n "a": "b\n',
        b'{\n "a": [{"c": 1',
        b'{\n "a": 1,',
        b'{\n "a": 1,\n "b',
        b'{"a": {\n "b": "c"',
    ],
)
def test_only_the_document_that_was_cut_is_lost(cut: bytes) -> None:
    """However many are cut, and whatever follows: nothing is read to the end of the file for them."""
    text = (cut + b'\n{\n "b": ["x", {"y": "z\\"{"}]\n}\n') * 40
    parts = list(iter_documents(io.BytesIO(text), "u"))
    assert values(parts) == [RejectReason.INVALID_JSON, {"b": ["x", {"y": 'z"{'}]}] * 40


@settings(deadline=None)
@given(OBJECTS, st.integers(1, 60), st.sampled_from([None, 0, 1]))
def test_documents_come_back_whatever_the_pieces(
    objects: list[dict[str, object]], step: int, indent: int | None
) -> None:
    text = "\n".join(json.dumps([item, item], indent=indent) for item in objects).encode()

    class Pieces(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(step)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "_STEP", max(step // 2, 1))
        assert values(iter_documents(Pieces(text), "u")) == [[item, item] for item in objects]


def test_a_raw_line_end_in_a_string_is_repaired_also_before_a_brace() -> None:
    text = b'{\n "a": "code:\n{ }\n{"\n}\n{\n "b": 2\n}'
    assert values(iter_documents(io.BytesIO(text), "u")) == [{"a": "code:\n{ }\n{"}, {"b": 2}]


def test_values_larger_than_a_piece_are_read() -> None:
    big = {"a": 'x\\"' * 700_000}
    assert values(iter_documents(io.BytesIO(json.dumps([big]).encode() + b"\n" + json.dumps(big).encode()), "u")) == [
        [big],
        big,
    ]


def test_csv_rows() -> None:
    data = b'\xef\xbb\xbfinput,output,reference\r\n"a, ""b""",c,\r\n\r\nx,"two\nlines",z\r\nonly\r\n1,2,3,4\r\n'
    parts = list(iter_csv(io.BytesIO(data), "u"))
    assert values(parts) == [
        {"input": 'a, "b"', "output": "c"},
        {"input": "x", "output": "two\nlines", "reference": "z"},
        {"input": "only"},
        RejectReason.INVALID_JSON,
    ]
    assert [offset_of(part) for part in parts] == [0, 1, 2, 3]


def test_a_quote_that_never_ends_takes_only_its_own_line() -> None:
    """The standard library's reader takes the rest of the file for one cell, without a word."""
    data = b'id,output\n1,a\n2,"b\n3,c\n4,d\n'
    parts = list(iter_csv(io.BytesIO(data), "u"))
    assert values(parts) == [
        {"id": "1", "output": "a"}, RejectReason.TRUNCATED_TAIL, {"id": "3", "output": "c"}, {"id": "4", "output": "d"},
    ]  # fmt: skip
    assert [offset_of(part) for part in parts] == [0, 1, 2, 3]


def test_a_quote_that_never_ends_in_the_last_line() -> None:
    for end in (b"", b"\n"):
        assert values(iter_csv(io.BytesIO(b'id,output\n1,a\n2,"b' + end), "u")) == [
            {"id": "1", "output": "a"}, RejectReason.TRUNCATED_TAIL,
        ]  # fmt: skip
    assert values(iter_csv(io.BytesIO(b'id,output\n1,a\n2,"b"'), "u")) == [
        {"id": "1", "output": "a"}, {"id": "2", "output": "b"},
    ]  # fmt: skip


def test_no_line_of_many_broken_rows_goes_uncounted() -> None:
    data = b"id,output\n" + b'1,"a\n' * 31
    parts = list(iter_csv(io.BytesIO(data), "u"))
    whole = [part for part in parts if isinstance(part, SourceRecord)]
    lost = sum(part.bytes for part in parts if isinstance(part, Reject))
    held = sum(len(str(part.value["output"]).split("\n")) for part in whole)
    assert held + lost // 5 == 31


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer


def test_members_of_a_zip() -> None:
    buffer = zip_of({"a/x.jsonl": b'{"a":1}\n{"a":2}\n', "b.json": b'[{"a":3}]', "c.csv": b"input,output\nq,r\n"})
    parts = list(iter_zip(buffer, "u.zip"))
    assert values(parts) == [{"a": 1}, {"a": 2}, {"a": 3}, {"input": "q", "output": "r"}]
    places = [(part.place, part.offset, part.ordinal) for part in parts if isinstance(part, SourceRecord)]
    assert places[1][0] == "u.zip#a/x.jsonl:1"
    assert len({place[1:] for place in places}) == 4


def test_an_inspect_archive_gives_its_samples_with_the_header() -> None:
    members = {"header.json": b'{"eval":{}}', "samples/1_epoch_1.json": b'{"id":1}', "summaries.json": b"[]"}
    assert values(iter_zip(zip_of(members), "u.eval")) == [{"header": {"eval": {}}, "sample": {"id": 1}}]
    del members["samples/1_epoch_1.json"]
    assert values(iter_zip(zip_of(members), "u.eval")) == [{"header": {"eval": {}}}]


def test_damaged_archives_are_rejects() -> None:
    assert values(iter_zip(io.BytesIO(b"PK\x03\x04 nonsense"), "u")) == [RejectReason.CORRUPT_FILE]
    data = bytearray(zip_of({"x.jsonl": b'{"a":1}\n' * 50}, zipfile.ZIP_STORED).getvalue())
    data[60] ^= 0xFF
    assert values(iter_zip(io.BytesIO(bytes(data)), "u")) == [RejectReason.CORRUPT_FILE]


@given(st.binary(max_size=300))
def test_any_bytes_give_records_or_rejects(data: bytes) -> None:
    for part in (*iter_documents(io.BytesIO(data), "u"), *iter_array(io.BytesIO(data), "u"), *iter_csv(io.BytesIO(data), "u"),
                 *iter_zip(io.BytesIO(data), "u")):  # fmt: skip
        assert isinstance(part, (SourceRecord, Reject))
