import pytest

from graders.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("2m", 120_000),
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("1h 30m 5s", 5_405_000),
        ("1500ms", 1_500),
        ("1.5s", 1_500),
        ("0s", 0),
        (" 1d ", 86_400_000),
        ("1m500ms", 60_500),
    ],
)
def test_reads(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", " ", "90", "2 minutes", "1m1h", "1m2m", "-1s", "1s!", "ms", "1e3s"])
def test_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="a duration"):
        parse_duration(text)
