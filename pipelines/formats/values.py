"""Reading loosely typed log values: ids, times, numbers, JSON inside strings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

from pipelines.formats.json_values import compact_json, decode_text

TIME_WITHOUT_ZONE = "time_without_zone"
UNREADABLE_TIME = "unreadable_time"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FRACTION = re.compile(r"(\.\d{6})\d+")
_SHORT_FRACTION = re.compile(r"\.(\d{1,5})(?=[+-]|$)")
_NUMBER = re.compile(r"\d{9,20}(\.\d+)?")
_COUNT_LIMIT = 2**53
_COST_STEP = Decimal("1e-9")
_COST_LIMIT = Decimal("1e9")


def id_text(value: Any) -> str | None:
    """An id as text: a non-empty string as it is, an integer exactly; None for anything else."""
    if type(value) is str:
        return value or None
    if type(value) is int:
        return str(value)
    return None


def first_id(record: Mapping[str, Any], keys: Iterable[str]) -> tuple[str | None, str | None]:
    """(the first id among `keys`, its key), or (None, None)."""
    for key in keys:
        if key in record:
            text = id_text(record[key])
            if text is not None:
                return text, key
    return None, None


def scalar_text(value: Any) -> str | None:
    """A value as one string: text as it is, None as None, everything else as compact JSON."""
    if value is None or type(value) is str:
        return value
    return compact_json(value)


def dict_of(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if type(value) is dict else {}


def list_of(value: Any) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if type(value) is list else []


def string_of(value: Any) -> str | None:
    """`value` if it is a non-empty string, else None."""
    return value if type(value) is str and value else None


def integer(value: Any) -> int | None:
    """A count below 2^53: a non-negative integer, an integral float or a string of digits; None otherwise."""
    if type(value) is int:
        return value if 0 <= value < _COUNT_LIMIT else None
    if type(value) is float and value.is_integer() and 0 <= value < _COUNT_LIMIT:
        return int(value)
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return None


def number(value: Any) -> float | None:
    """A finite number or the text of one; None otherwise (booleans are no numbers)."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def cost(value: Any) -> Decimal | None:
    """An amount of money with nine decimals; None where there is none that fits decimal(18,9)."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        amount = Decimal(str(value))
        return amount.quantize(_COST_STEP) if 0 <= amount < _COST_LIMIT else None
    except InvalidOperation:
        return None


def milliseconds(seconds: Any) -> int | None:
    """Seconds as whole milliseconds."""
    value = number(seconds)
    return round(value * 1000) if value is not None and 0 <= value < 1e15 else None


def unwrapped(value: Any) -> Any:
    """The value inside JSON strings: decoded up to three times while it is a string that holds an object or array."""
    for _ in range(3):
        if type(value) is not str:
            return value
        inner = decode_text(value)
        if inner is None:
            return value
        value = inner
    return value


def parse_time(value: Any) -> tuple[datetime | None, str | None]:
    """(a moment in UTC, an issue word or None) of ISO text or an epoch number.

    Numbers by magnitude: below 1e11 seconds, 1e14 milliseconds, 1e17 microseconds, else nanoseconds. Text without a zone is UTC,
    with the issue `time_without_zone`.
    """
    if value is None or value == "" or isinstance(value, (bool, dict, list)):
        return None, None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.replace(tzinfo=timezone.utc), TIME_WITHOUT_ZONE
        return value.astimezone(timezone.utc), None
    if isinstance(value, (int, float)):
        return _from_epoch(value)
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        return _from_epoch(float(text) if "." in text else int(text))
    return _from_iso(text)


def _from_iso(text: str) -> tuple[datetime | None, str | None]:
    normal = text[:-1] + "+00:00" if text[-1:] in "zZ" else text
    if normal.endswith(" UTC"):
        normal = normal[:-4] + "+00:00"
    try:
        moment = datetime.fromisoformat(normal)
        if moment.tzinfo is timezone.utc:
            return moment, None
    except ValueError:
        pass
    if "." in normal:
        normal = _FRACTION.sub(r"\1", normal)
        normal = _SHORT_FRACTION.sub(lambda match: "." + match[1].ljust(6, "0"), normal)
    try:
        moment = datetime.fromisoformat(normal)
        if moment.tzinfo is None:
            if len(text) < 10:
                return None, UNREADABLE_TIME
            return moment.replace(tzinfo=timezone.utc), TIME_WITHOUT_ZONE
        return moment.astimezone(timezone.utc), None
    except (ValueError, OverflowError):
        return None, UNREADABLE_TIME


def _from_epoch(value: int | float) -> tuple[datetime | None, str | None]:
    if isinstance(value, float) and not math.isfinite(value):
        return None, UNREADABLE_TIME
    size = abs(value)
    if size < 1e11:
        microseconds = round(value * 1_000_000)
    elif size < 1e14:
        microseconds = round(value * 1000)
    elif size < 1e17:
        microseconds = round(value)
    else:
        microseconds = int(value) // 1000
    try:
        return _EPOCH + timedelta(microseconds=microseconds), None
    except OverflowError:
        return None, UNREADABLE_TIME
