"""Parquet files of one schema as one: their pages one behind the other under one footer, and nothing of them decoded."""

from __future__ import annotations

from pipelines.writing.parquet_footer import (
    BLOOM_FILTER_OFFSET,
    CHUNK_OFFSET,
    COLUMN_INDEX,
    COLUMNS,
    DATA_PAGE_OFFSET,
    DICTIONARY_OFFSET,
    FILE_ROWS,
    GROUP_OFFSET,
    INDEX_PAGE_OFFSET,
    MAGIC,
    META_DATA,
    OFFSET_INDEX,
    ORDINAL,
    ROW_GROUPS,
    SCHEMA,
    ending,
    parted,
)
from pipelines.writing.thrift_compact import I16, I64, LIST, STRUCT, Struct, encoded

#: Row groups are numbered in 16 bits, or not at all.
_MOST_NUMBERED = 2**15


class JoinedFile:
    """A Parquet file that grows by whole files, each of which keeps its row groups."""

    def __init__(self) -> None:
        self._body = bytearray(MAGIC)
        self._footer: Struct | None = None
        self._groups: list[bytes] = []
        self._rows = 0

    def add(self, file: memoryview) -> None:
        """Put a file behind the others.

        Raises:
            ValueError: its schema is not theirs.
        """
        pages, footer = parted(file)
        if self._footer is None:
            self._footer = footer
        elif footer[SCHEMA] != self._footer[SCHEMA]:
            raise ValueError("files of different schemas do not make one")
        shift = len(self._body) - len(MAGIC)
        for group in footer[ROW_GROUPS][1][1]:
            self._groups.append(encoded(_moved(group, shift, len(self._groups))))
        self._rows += footer[FILE_ROWS][1]
        self._body += pages[len(MAGIC) :]

    def finished(self) -> memoryview:
        """The file; at least one was added."""
        assert self._footer is not None
        groups = (LIST, (STRUCT, self._groups))
        self._body += ending({**self._footer, FILE_ROWS: (I64, self._rows), ROW_GROUPS: groups})
        return memoryview(self._body)


def _moved(group: Struct, shift: int, ordinal: int) -> Struct:
    kind, columns = group[COLUMNS][1]
    numbered = {ORDINAL: (I16, ordinal)} if ordinal < _MOST_NUMBERED else {}
    unnumbered = {number: field for number, field in group.items() if number != ORDINAL}
    moved = [_moved_chunk(column, shift) for column in columns]
    return {**_shifted(unnumbered, shift, GROUP_OFFSET), COLUMNS: (LIST, (kind, moved)), **numbered}


def _moved_chunk(chunk: Struct, shift: int) -> Struct:
    kind, meta = chunk[META_DATA]
    pages = _shifted(meta, shift, DATA_PAGE_OFFSET, INDEX_PAGE_OFFSET, DICTIONARY_OFFSET, BLOOM_FILTER_OFFSET)
    return {**_shifted(chunk, shift, CHUNK_OFFSET, OFFSET_INDEX, COLUMN_INDEX), META_DATA: (kind, pages)}


def _shifted(struct: Struct, shift: int, *offsets: int) -> Struct:
    """Some places in the file moved on; 0 is none."""
    moved = {number: struct[number] for number in offsets if number in struct}
    return {**struct, **{number: (kind, place and place + shift) for number, (kind, place) in moved.items()}}
