"""What spans look like on the wire: OTLP attribute values, ids in hex or base64, times, status codes."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from pipelines.formats.json_values import compact_json
from pipelines.formats.values import dict_of, id_text, integer, list_of, parse_time

_HEX = re.compile(r"[0-9a-fA-F]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_YEAR_10000 = 253_402_300_800 * 10**9
_ERROR = frozenset({2, "2", "ERROR", "STATUS_CODE_ERROR", "Error", "error", "StatusCode.ERROR"})
_OK = frozenset({1, "1", "OK", "STATUS_CODE_OK", "Ok", "ok", "StatusCode.OK"})


def plain_attributes(attributes: Any) -> dict[str, Any]:
    """OTLP's list of `{key, value}` (or a plain object) as an object of plain values; integers given as text are integers."""
    if type(attributes) is dict:
        return attributes
    plain = {}
    for entry in list_of(attributes):
        if type(entry) is not dict:
            continue
        key = entry.get("key")
        if type(key) is str:
            value = entry.get("value")
            # Nearly all values are text: spared the call.
            text = value.get("stringValue") if type(value) is dict and len(value) == 1 else None
            plain[key] = text if text is not None else plain_value(value)
    return plain


def plain_value(value: Any) -> Any:
    """The value inside an OTLP AnyValue."""
    if type(value) is not dict:
        return value
    for key, inner in value.items():
        if key in ("stringValue", "string_value", "boolValue", "bool_value", "doubleValue", "double_value"):
            return inner
        if key in ("intValue", "int_value"):
            return int(inner) if type(inner) is str and inner.lstrip("-").isdigit() else inner
        if key in ("arrayValue", "array_value"):
            return [plain_value(item) for item in list_of(dict_of(inner).get("values"))]
        if key in ("kvlistValue", "kvlist_value"):
            return plain_attributes(dict_of(inner).get("values"))
        if key in ("bytesValue", "bytes_value"):
            return inner
    return None if not value else compact_json(value)


def hex_id(value: Any) -> str | None:
    """A span's or trace's id in lower-case hex: given in hex, with `0x`, or in base64 of 8 or 16 bytes; all zeros are no id."""
    text = value if type(value) is str and value else id_text(value)
    return None if text is None else _hex_of_text(text)


@lru_cache(maxsize=4096)
def _hex_of_text(text: str) -> str | None:
    """Of the spans of a trace, which are read one after another, each repeats ids of others."""
    if len(text) in (16, 32) and text[0] != "0" and _HEX.fullmatch(text):
        return text.lower()
    if text.startswith("0x"):
        text = text[2:]
    if len(text) in (16, 32) and _HEX.fullmatch(text):
        lower = text.lower()
        return lower if lower.strip("0") else None
    if len(text) in (12, 24) and text.endswith("="):
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return text
        if len(raw) in (8, 16):
            return raw.hex() if any(raw) else None
    return text


def nanoseconds(value: Any) -> int | None:
    """A moment as nanoseconds since the epoch: `…UnixNano` text or number, ISO text, `[seconds, nanoseconds]`, epoch of any unit.

    None for what is no moment of the years 1970 to 9999.
    """
    if type(value) is str and len(value) == 19 and value.isascii() and value.isdigit():
        return int(value)  # below 10^19, which is the year 2286
    if type(value) is str and value[10:11] == "T" and value[-6:] == "+00:00" and value[:4].isdigit():
        try:
            since = datetime.fromisoformat(value) - _EPOCH
        except ValueError:
            pass
        else:
            return (
                ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
                if since.days >= 0
                else None
            )
    moment = _nanoseconds(value)
    return moment if moment is not None and 0 <= moment < _YEAR_10000 else None


def _nanoseconds(value: Any) -> int | None:
    if type(value) is str and value.isascii() and value.isdigit() and 18 <= len(value) <= 20:
        return int(value)
    if type(value) is int and value >= 10**17:
        return value
    if type(value) is list and len(value) == 2:
        seconds, rest = integer(value[0]), integer(value[1])
        return None if seconds is None else seconds * 1_000_000_000 + (rest or 0)
    moment, _ = parse_time(value)
    if moment is None:
        return None
    return (moment - _EPOCH) // _MICROSECOND * 1000


def status_of(status: Any) -> tuple[bool | None, str | None]:
    """(whether it failed: None where unset, its message) of a span's status in any shape."""
    if not status:
        return None, None
    if type(status) is not dict:
        return _failed(status), None
    message = status.get("message") or status.get("description")
    code = next((status[key] for key in ("code", "status_code", "statusCode") if key in status), None)
    return _failed(code), message if type(message) is str and message else None


def _failed(code: Any) -> bool | None:
    if not isinstance(code, (int, str)) or isinstance(code, bool):
        return None
    return True if code in _ERROR else False if code in _OK else None
