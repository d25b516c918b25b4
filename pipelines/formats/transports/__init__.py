"""Cutting files that are not JSON lines or Parquet into records. Pure: an open binary file in, an iterator of records out.

- `sniff_file(head, uri) -> Sniffed`: what a file is, from its first bytes (64 KiB are enough; decompress first where `compression` is set).
- `iter_documents(file, uri)`, `iter_array(file, uri)`: concatenated or pretty-printed JSON, and JSON arrays, value by value; memory holds one value.
- `iter_csv(file, uri)`: rows of CSV (comma, semicolon or tab) as objects of strings.
- `iter_zip(file, uri)`: members of a zip archive (method 93, zstd, included); an Inspect log's samples.
- `utf8_stream(file)`: UTF-16 bytes as UTF-8.

All iterators yield a `SourceRecord` or, for what can't be read, a `Reject`; they never raise for content. They take `max_record`: a record
of more bytes is a reject `too_large`, and is never held whole.
"""

from pipelines.formats.transports.archives import iter_zip
from pipelines.formats.transports.csv_rows import iter_csv
from pipelines.formats.transports.documents import iter_array, iter_documents
from pipelines.formats.transports.sniffing import Expected, Sniffed, Transport, sniff_file
from pipelines.formats.transports.utf16 import utf8_stream

__all__ = [
    "Expected",
    "Sniffed",
    "Transport",
    "iter_array",
    "iter_csv",
    "iter_documents",
    "iter_zip",
    "sniff_file",
    "utf8_stream",
]
