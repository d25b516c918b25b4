"""Times, ids, amounts and paths of loosely typed values."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.formats.paths import look_up, parse_path
from pipelines.formats.values import cost, id_text, integer, parse_time, unwrapped

MOMENT = datetime(2025, 4, 4, 12, 0, 0, 123456, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "value",
    [
        "2025-04-04T12:00:00.123456Z",
        "2025-04-04T12:00:00.123456+00:00",
        "2025-04-04T14:00:00.123456789+02:00",
        "2025-04-04 12:00:00.123456 UTC",
        1743768000.123456,
        "1743768000.123456",
        1743768000123456,
        1743768000123456000,
        "1743768000123456000",
    ],
)
def test_moments_of_every_shape(value: object) -> None:
    assert parse_time(value) == (MOMENT, None)


def test_milliseconds_and_seconds_by_magnitude() -> None:
    assert parse_time(1743768000123)[0] == MOMENT.replace(microsecond=123000)
    assert parse_time(1743768000)[0] == MOMENT.replace(microsecond=0)


def test_a_time_without_zone_is_utc_and_said_so() -> None:
    assert parse_time("2025-04-04 12:00:00.5") == (MOMENT.replace(microsecond=500000), "time_without_zone")


@pytest.mark.parametrize("value", ["soon", "<timestamp>", "99", 1e30, float("nan")])
def test_what_is_no_time(value: object) -> None:
    assert parse_time(value) == (None, "unreadable_time")


@pytest.mark.parametrize("value", [None, "", True, {}, []])
def test_no_time_at_all(value: object) -> None:
    assert parse_time(value) == (None, None)


@given(st.datetimes(min_value=datetime(1973, 3, 4), max_value=datetime(2200, 1, 1)))  # noqa: DTZ001
def test_iso_text_comes_back(moment: datetime) -> None:
    zoned = moment.replace(tzinfo=timezone.utc)
    assert parse_time(zoned.isoformat()) == (zoned, None)


def test_ids() -> None:
    values = ["a", "", 7, 12345678901234567890, 1.5, True, None, ["a"]]
    assert [id_text(value) for value in values] == ["a", None, "7", "12345678901234567890", None, None, None, None]


def test_amounts_have_nine_decimals() -> None:
    assert cost(1e-7) == Decimal("1.00E-7")
    assert cost("0.0001") == Decimal("0.000100000")
    assert [cost(value) for value in (True, None, "x", -1, 1e12, float("nan"), float("inf"))] == [None] * 7


def test_counts() -> None:
    assert [integer(value) for value in (3, 3.0, "3", -1, 2.5, True, None, "x")] == [
        3,
        3,
        3,
        None,
        None,
        None,
        None,
        None,
    ]


def test_json_in_json_in_json() -> None:
    assert unwrapped('"{\\"a\\": \\"[1]\\"}"') == {"a": "[1]"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [("$.a.b[0]", 1), ("a.b[-1]", 2), ("$['a b']", 3), ("$.text.inner", 4), ("dotted.key", 5), ("$.missing.x", None)],
)
def test_paths(path: str, expected: object) -> None:
    value = {"a": {"b": [1, 2]}, "a b": 3, "text": '{"inner": 4}', "dotted.key": 5}
    assert look_up(value, parse_path(path)) == expected


@pytest.mark.parametrize("path", ["", "$", "$.a[", "$..a", "$.a[*]"])
def test_bad_paths_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_path(path)
