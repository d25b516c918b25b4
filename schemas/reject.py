"""A reject: an input record that could not become a trajectory, with its place and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MAX_EXCERPT = 512


class RejectReason(str, Enum):
    """Why a record is no trajectory: a closed set."""

    INVALID_JSON = "invalid_json"
    TRUNCATED_TAIL = "truncated_tail"
    NOT_AN_OBJECT = "not_an_object"
    UNKNOWN_FORMAT = "unknown_format"
    NO_MESSAGES = "no_messages"
    MISSING_FIELD = "missing_field"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    GIT_LFS_POINTER = "git_lfs_pointer"
    HTML_PAGE = "html_page"
    EMPTY_FILE = "empty_file"
    CORRUPT_FILE = "corrupt_file"
    DUPLICATE_ID = "duplicate_id"
    ADAPTER_ERROR = "adapter_error"


@dataclass(frozen=True, slots=True)
class Reject:
    """One rejected record. `excerpt` is the head of the record, at most 512 characters."""

    source_uri: str
    source_offset: int
    source_format: str
    reason: RejectReason
    detail: str
    excerpt: str
    bytes: int
    ordinal: int = 0
    """Which of several rejects of one place it is."""
