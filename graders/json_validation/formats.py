"""Formats that can be asserted. The patterns are fixed, anchored and linear."""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable

from graders.matching import InvalidPattern, compile

_UNSUPPORTED = (
    "duration",
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "relative-json-pointer",
    "uri-reference",
    "uri-template",
)
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]*")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LOCAL_PART = re.compile(r"[!#$%&'*+\-/0-9=?A-Z^_`a-z{|}~]+(\.[!#$%&'*+\-/0-9=?A-Z^_`a-z{|}~]+)*")
_POINTER = re.compile(r"(/([^~/]|~[01])*)*")


def _date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _date(text[:10]) and _TIME.fullmatch(text[11:]) is not None


def _hostname(text: str) -> bool:
    return len(text) <= 253 and all(_LABEL.fullmatch(label) for label in text.split("."))


def _email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    return bool(at) and len(local) <= 64 and _LOCAL_PART.fullmatch(local) is not None and _hostname(domain)


def _address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return holds


def _uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None and _BAD_PERCENT.search(text) is None


def _regex(text: str) -> bool:
    try:
        compile(text, "ecma")
    except InvalidPattern:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _date,
    "date-time": _date_time,
    "time": lambda text: _TIME.fullmatch(text) is not None,
    "email": _email,
    "hostname": _hostname,
    "ipv4": _address(ipaddress.IPv4Address),
    "ipv6": _address(ipaddress.IPv6Address),
    "json-pointer": lambda text: _POINTER.fullmatch(text) is not None,
    "regex": _regex,
    "uri": _uri,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
}
#: All formats that the drafts define.
STANDARD_FORMATS = frozenset({*FORMATS, *_UNSUPPORTED})
