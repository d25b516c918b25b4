"""The footer of a Parquet file: where it lies, and the numbers of its fields (parquet.thrift of Apache Parquet's format)."""

from __future__ import annotations

from pipelines.writing.thrift_compact import Struct, decoded, encoded

MAGIC = b"PAR1"

#: FileMetaData.
SCHEMA, FILE_ROWS, ROW_GROUPS = 2, 3, 4
#: RowGroup.
COLUMNS, GROUP_BYTES, GROUP_ROWS, GROUP_OFFSET, GROUP_COMPRESSED, ORDINAL = 1, 2, 3, 5, 6, 7
#: ColumnChunk.
CHUNK_OFFSET, META_DATA, OFFSET_INDEX, COLUMN_INDEX = 2, 3, 4, 6
#: ColumnMetaData.
TYPE, ENCODINGS, PATH, CODEC, VALUES, UNCOMPRESSED, COMPRESSED, DATA_PAGE_OFFSET = 1, 2, 3, 4, 5, 6, 7, 9
INDEX_PAGE_OFFSET, DICTIONARY_OFFSET, STATISTICS, BLOOM_FILTER_OFFSET = 10, 11, 12, 14


def parted(file: memoryview) -> tuple[memoryview, Struct]:
    """(a file's bytes up to its footer, the footer)."""
    end = len(file) - 8 - int.from_bytes(file[-8:-4], "little")
    return file[:end], decoded(bytes(file[end:-8]))


def ending(footer: Struct) -> bytes:
    """What a file ends with: its footer, the footer's length, the magic number."""
    data = encoded(footer)
    return b"".join([data, len(data).to_bytes(4, "little"), MAGIC])
