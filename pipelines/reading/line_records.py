"""One line of JSON text: what its records become, or why it is rejected."""

from __future__ import annotations

from pipelines.formats.container import Container, Normalised, SourceRecord, normalised_safely, reject
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.reading.lines import OversizeLine
from schemas.reject import MAX_EXCERPT, Reject, RejectReason


def normalise_line(line: bytes, cut: bool, uri: str, offset: int, container: Container, into: Normalised) -> int:
    """Decode one line and add what its records became to `into`; how many records it held.

    Args:
        line: without its line end.
        cut: whether it is the last of its stream and has no line end.
        uri: the source.
        offset: where the line begins in the decompressed stream.
        container: what the records are.
        into: takes trajectories, rejects and skipped records.
    """
    decoded = decode_line(line, cut)
    excerpt = line[: MAX_EXCERPT * 4].decode("utf-8", "replace")[:MAX_EXCERPT]
    for item in decoded:
        value = item.value if isinstance(item, Decoded) else None
        issues = item.issues if isinstance(item, Decoded) else ()
        record = SourceRecord(value, uri, offset, item.size, issues, item.ordinal, excerpt)
        if isinstance(item, Decoded):
            into.add(normalised_safely(container, [record]))
        else:
            into.rejects.append(reject(record, item.reason, item.detail, container.name))
    return len(decoded)


def oversize_reject(uri: str, line: OversizeLine, container: Container | None) -> Reject:
    """A line over the limit as a reject."""
    detail = f"the line has {line.size:,} bytes, more than `input.max_record_bytes` allows"
    excerpt = line.head.decode("utf-8", "replace")[:MAX_EXCERPT]
    name = container.name if container is not None else ""
    return Reject(uri, line.offset, name, RejectReason.TOO_LARGE, detail, excerpt, line.size)
