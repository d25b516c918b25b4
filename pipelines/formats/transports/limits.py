"""The bound of a record's size, the same in every transport."""

from __future__ import annotations

from schemas.reject import MAX_EXCERPT, Reject, RejectReason

#: No record is longer.
UNLIMITED = 2**62


def too_large(uri: str, offset: int, size: int, head: str, source_format: str = "", what: str = "record") -> Reject:
    """A record over `input.max_record_bytes` as a reject; `head` is how it begins, `what` the word for it."""
    detail = f"the {what} has {size:,} bytes, more than `input.max_record_bytes` allows"
    return Reject(uri, offset, source_format, RejectReason.TOO_LARGE, detail, head[:MAX_EXCERPT], size)
