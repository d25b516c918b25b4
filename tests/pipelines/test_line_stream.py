from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from pipelines.line_stream import arriving_lines
from pipelines.reading.lines import OversizeLine


def _through_a_pipe(data: bytes, max_line: int = 1 << 20) -> tuple[list[tuple[int, bytes, bool]], list[OversizeLine]]:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    arrived = list(arriving_lines(reader, max_line))
    os.close(reader)
    return [line for each in arrived for line in each.lines], [line for each in arrived for line in each.oversize]


def test_lines_with_their_offsets() -> None:
    lines, oversize = _through_a_pipe(b"a\r\n\n  \nbc\nd")
    assert lines == [(0, b"a", False), (7, b"bc", False), (10, b"d", True)]
    assert oversize == []


def test_a_line_over_the_limit_keeps_its_head_and_size() -> None:
    lines, oversize = _through_a_pipe(b"ok\n" + b"x" * 5_000 + b"\nok\n" + b"y" * 200, max_line=100)
    assert lines == [(0, b"ok", False), (5_004, b"ok", False)]
    assert [(line.offset, line.size, line.head[:1]) for line in oversize] == [(3, 5_000, b"x"), (5_007, 200, b"y")]


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=8), st.booleans())
def test_no_line_is_lost_or_moved(parts: list[bytes], ended: bool) -> None:
    data = b"\n".join(parts) + (b"\n" if ended else b"")
    lines, oversize = _through_a_pipe(data)
    assert oversize == []
    assert [line for _, line, _ in lines] == [
        part.removesuffix(b"\r") for part in data.split(b"\n") if part.removesuffix(b"\r").strip()
    ]
    assert all(data[offset : offset + len(line)] == line for offset, line, _ in lines)
