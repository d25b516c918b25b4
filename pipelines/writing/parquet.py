"""Tables as Parquet bytes, with settings that every engine reads well."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.writing.constant_columns import constant_columns, with_constant_columns

ROW_GROUP_ROWS = 1_000_000
#: The Arrow schema is not stored: strings that were dictionaries in memory must read back as plain strings everywhere.
WRITER_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "version": "2.6",
    "data_page_version": "1.0",
    "store_schema": False,
    "write_batch_size": 65_536,
    "coerce_timestamps": "us",
}

#: In a smaller table the constant columns take less time than putting them in without.
_LARGE_CELLS = 2_000_000

#: Columns that engines prune row groups by. Statistics of the others cost a fifth of the writing and help nobody.
_PRUNED_BY = frozenset(
    {
        "trajectory_id",
        "event_time",
        "event_date",
        "grader_name",
        "status",
        "score",
        "source_uri",
        "source_offset",
        "parse_status",
    }
)


def parquet_bytes(table: pa.Table) -> memoryview:
    """A table as one Parquet file. Its columns are nullable; those of a large one that say the same in every row cost next to nothing."""
    if len(table) * len(table.column_names) < _LARGE_CELLS:
        return _written(table)
    constants = constant_columns(table)
    others = [name for name in table.column_names if name not in constants]
    if not constants or not others:
        return _written(table)
    schema = pa.schema([pa.field(field.name, _plain_type(field.type)) for field in table.schema])
    file = _written(table.select(others))
    return memoryview(with_constant_columns(file, schema, constants, _PRUNED_BY, WRITER_OPTIONS))


def _written(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    pruned_by = [name for name in table.column_names if name in _PRUNED_BY]
    pq.write_table(table, sink, row_group_size=ROW_GROUP_ROWS, write_statistics=pruned_by, **WRITER_OPTIONS)
    return memoryview(sink.getvalue())


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
