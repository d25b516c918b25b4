"""Rows of a Parquet file as records, in bounded batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.formats.container import SourceRecord
from pipelines.formats.json_values import compact_json
from pipelines.formats.transports.limits import UNLIMITED, too_large
from schemas.reject import Reject

_BATCH_ROWS = 256
#: Rows are decoded so many bytes at a time (by the row group's average).
_BATCH_BYTES = 32 * 2**20
_EXCERPT = 512


def parquet_records(
    stream: BinaryIO, uri: str, first_group: int, end_group: int | None, max_record: int = UNLIMITED
) -> Iterator[SourceRecord | Reject]:
    """The rows of some row groups as records of plain values; a row over `max_record` bytes is a reject `too_large`.

    Absent struct fields, which Parquet fills with null, are left out; a map is an object; times are datetimes or ISO text; bytes are text
    where they are UTF-8. The offset is the row's number in the file.
    """
    file = pq.ParquetFile(stream)
    groups = file.num_row_groups if end_group is None else min(end_group, file.num_row_groups)
    first_row = sum(file.metadata.row_group(group).num_rows for group in range(first_group))
    for group in range(first_group, groups):
        row = 0
        bytes_per_row = max(
            file.metadata.row_group(group).total_byte_size // max(file.metadata.row_group(group).num_rows, 1), 1
        )
        batch_rows = min(max(_BATCH_BYTES // bytes_per_row, 1), _BATCH_ROWS)
        for batch in file.iter_batches(batch_size=batch_rows, row_groups=[group]):
            for value in _bounded_rows(batch, max_record):
                if isinstance(value, int):
                    yield too_large(uri, first_row + row, value, "", what="row")
                    row += 1
                    continue
                place = f"{uri}#{group}:{row}"
                excerpt = compact_json({key: value[key] for key in list(value)[:3]})[:_EXCERPT]
                yield SourceRecord(value, uri, first_row + row, bytes_per_row, (), 0, excerpt, place)
                row += 1
        first_row += row


def _bounded_rows(batch: pa.RecordBatch, max_record: int) -> Iterator[dict[str, Any] | int]:
    """The rows' values; of a row over the limit its size."""
    if batch.nbytes <= min(max_record, 2 * _BATCH_BYTES):
        yield from _plain_rows(batch)
        return
    for number in range(batch.num_rows):
        row = batch.slice(number, 1)
        if row.nbytes > max_record:
            yield row.nbytes
        else:
            yield from _plain_rows(row)


def _plain_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    names = batch.schema.names
    types = [field.type for field in batch.schema]
    columns = [column.to_pylist() for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield {
            name: _plain(value, arrow_type)
            for name, value, arrow_type in zip(names, values, types, strict=True)
            if value is not None
        }


def _plain(value: Any, arrow_type: pa.DataType) -> Any:
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if pa.types.is_map(arrow_type):
        return {str(key): _plain(item, arrow_type.item_type) for key, item in value}
    if isinstance(value, dict):
        return {key: _plain(item, arrow_type.field(key).type) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item, arrow_type.value_type) for item in value]
    if isinstance(value, datetime):
        return value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
