"""Ranges that cover a file give every line exactly once, wherever they are cut."""

import io
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.reading import lines as reading
from pipelines.reading.lines import LineChunk, OversizeLine, lines_of_range, lines_of_stream

TEXTS = st.lists(st.text("ab\r é", max_size=12), max_size=25)


def expected(data: bytes) -> list[tuple[int, bytes]]:
    found, offset = [], 0
    for line in data.split(b"\n"):
        if line or offset < len(data):
            found.append((offset, line))
        offset += len(line) + 1
    return [item for item in found if item[0] < len(data)]


def taken(items: list[LineChunk | OversizeLine], max_line: int) -> list[tuple[int, bytes | int]]:
    found: list[tuple[int, bytes | int]] = []
    for item in items:
        if isinstance(item, OversizeLine):
            assert item.size > max_line
            found.append((item.offset, item.size))
            continue
        offset = item.offset
        for line in item.data.removesuffix(b"\n").split(b"\n"):
            found.append((offset, line))
            offset += len(line) + 1
    return found


@settings(max_examples=300, deadline=None)
@given(
    TEXTS,
    st.booleans(),
    st.lists(st.integers(0, 300), max_size=4),
    st.sampled_from([1, 3, 64]),
    st.sampled_from([4, 1000]),
)
def test_every_line_once(texts: list[str], newline: bool, cuts: list[int], piece: int, max_line: int) -> None:
    data = "\n".join(texts).encode() + (b"\n" if newline else b"")
    bounds = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    monkey = pytest.MonkeyPatch()
    monkey.setattr(reading, "_PIECE", piece)
    try:
        items = [
            item
            for start, end in itertools.pairwise(bounds)
            for item in lines_of_range(io.BytesIO(data), start, end, max_line)
        ]
    finally:
        monkey.undo()
    whole = dict(expected(data))
    got = taken(items, max_line)
    assert [offset for offset, _ in got] == sorted(whole)
    for offset, line in got:
        size = len(whole[offset]) + (offset + len(whole[offset]) < len(data))
        assert line == whole[offset] or line == size


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.integers(1, 40), st.sampled_from([1, 5, 64]))
def test_a_stream_in_chunks_is_the_stream(texts: list[str], chunk: int, piece: int) -> None:
    data = "\n".join(texts).encode()
    monkey = pytest.MonkeyPatch()
    monkey.setattr(reading, "_PIECE", piece)
    try:
        items = list(lines_of_stream(io.BytesIO(data), 0, None, 1000, chunk))
    finally:
        monkey.undo()
    assert b"".join(item.data for item in items if isinstance(item, LineChunk)) == data
    assert all(item.data.endswith(b"\n") for item in items[:-1] if isinstance(item, LineChunk))
    assert [item.reaches_end for item in items] == [False] * (len(items) - 1) + (
        [not data.endswith(b"\n")] if items else []
    )


def test_a_line_over_the_limit_is_told_and_its_neighbours_stay() -> None:
    data = b"one\n" + b"x" * 5000 + b"\nthree\n"
    cut = [
        item
        for start, end in ((0, 100), (100, 5006), (5006, len(data)))
        for item in lines_of_range(io.BytesIO(data), start, end, 100)
    ]
    assert [(type(item).__name__, item.offset) for item in cut] == [
        ("LineChunk", 0),
        ("OversizeLine", 4),
        ("LineChunk", 5005),
    ]
    assert cut[1].size == 5001  # type: ignore[union-attr]
