"""JSON as graders need it: strict decoding, Markdown fences, and comparison that keeps types apart."""

from __future__ import annotations

import json
import math
import re
from enum import Enum
from typing import Any, Literal

import orjson

from schemas.nesting import has_brackets_for, is_nested_deeper

Fences = Literal["strip", "reject"]

_OPENING_FENCE = re.compile(r"\A```(?:json)?")
_CLOSING_FENCE = "```"


class Absent(Enum):
    """The value of a path that leads nowhere: not null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class NotJson(ValueError):
    """The text is not JSON. The message never quotes it."""


class JsonTooLarge(ValueError):
    """The text may be JSON, but is nested too deep or holds a number with too many digits to be read."""


class _Refused(Exception):
    """What the decoder met that JSON does not have."""


def decode_json(text: str, fences: Fences = "reject") -> Any:
    """The value of a JSON text (RFC 8259). Whole numbers are exact; NaN, Infinity and what no double holds are refused.

    Args:
        text: the document; blanks around it are allowed.
        fences: `strip` takes away one Markdown code fence around the document, `reject` leaves it (and so refuses it).

    Raises:
        NotJson: it is not JSON.
        JsonTooLarge: its depth or the length of a number is beyond what can be read.
    """
    if fences == "strip":
        text = strip_fence(text)
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except _Refused as refused:
        raise NotJson(f"{refused} is not JSON") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise JsonTooLarge("nested too deep") from None
    except ValueError:
        raise JsonTooLarge("a number has too many digits") from None
    if has_brackets_for(text) and is_nested_deeper(value):
        raise JsonTooLarge("nested too deep")
    return value


def strip_fence(text: str) -> str:
    """`text` without blanks around it and without one Markdown fence (three backticks, then `json` or nothing)."""
    stripped = text.strip()
    opening = _OPENING_FENCE.match(stripped)
    if opening is None:
        return stripped
    inner = stripped[opening.end() :]
    return inner.removesuffix(_CLOSING_FENCE).strip()


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, 1 is 1.0, whole numbers are exact, key order is irrelevant."""
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(key in right and same(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(right, (dict, list)):
        return False
    return bool(left == right)


def same_encoded(left: Any, right: Any) -> bool:
    """Equality as in Aludel: scalars as `same`, containers by re-encoded text, so that 1 and 1.0 differ inside."""
    if isinstance(left, (dict, list)) and isinstance(right, (dict, list)):
        return encode(left) == encode(right)
    return same(left, right)


def encode(value: Any) -> str:
    """Compact JSON with sorted keys: one text a value, where 1 and 1.0 are two values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def storable_json(value: Any) -> Any:
    """A JSON value as configurations store it: itself, or `{"json": text}` where a whole number exceeds 64 bits."""
    try:
        orjson.dumps(value)
    except TypeError:
        return {"json": encode(value)}
    return value


def key_of(value: Any) -> Any:
    """A hashable stand-in for a JSON value: equal where `same` says equal, and nowhere else."""
    if isinstance(value, dict):
        return ("object", frozenset((key, key_of(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(key_of, value)))
    if isinstance(value, bool):
        return ("boolean", value)
    return value


def is_subset(part: Any, whole: Any) -> bool:
    """Whether `whole` holds all of `part`: objects may have more keys at any depth; arrays and scalars are the same."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and is_subset(item, whole[key]) for key, item in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(is_subset, part, whole))
    return same(part, whole)


def _refuse(constant: str) -> Any:
    raise _Refused(constant)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Refused("a number beyond the range of a double")
    return value
