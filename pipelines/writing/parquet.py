"""Tables as Parquet bytes, with settings that every engine reads well."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_ROWS = 1_000_000
#: The Arrow schema is not stored: strings that were dictionaries in memory must read back as plain strings everywhere.
WRITER_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "version": "2.6",
    "data_page_version": "1.0",
    "store_schema": False,
    "write_statistics": True,
    "coerce_timestamps": "us",
}


def parquet_bytes(table: pa.Table) -> memoryview:
    """A table as one Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=ROW_GROUP_ROWS, **WRITER_OPTIONS)
    return memoryview(sink.getvalue())
