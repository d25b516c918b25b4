"""Deeply nested values: refused by name from one depth on, whatever the Python; what is less deep is compared."""

from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from graders.evaluation import evaluate
from graders.json_values import JsonTooLarge, decode_json
from schemas.nesting import MOST_LEVELS, is_nested_deeper
from schemas.score import Status
from schemas.trajectory import ToolCall, Trajectory


def nested(levels: int, leaf: Any = True) -> Any:
    for number in range(levels):
        leaf = {"a": leaf} if number % 2 else [leaf]
    return leaf


def nested_text(levels: int, leaf: str = "true") -> str:
    for number in range(levels):
        leaf = f'{{"a":{leaf}}}' if number % 2 else f"[{leaf}]"
    return leaf


def test_levels_are_counted() -> None:
    assert not is_nested_deeper(True, 0)
    assert is_nested_deeper([], 0)
    assert not is_nested_deeper([1, {"a": 2}], 2)
    assert is_nested_deeper([1, {"a": []}], 2)


def test_a_value_that_holds_itself_or_repeats_itself_ends() -> None:
    itself: list[Any] = []
    itself += [itself, itself]
    assert is_nested_deeper(itself)
    repeated: Any = []
    for _ in range(MOST_LEVELS - 1):
        repeated = [repeated, repeated]
    assert not is_nested_deeper(repeated)


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, 900, 990, 3000, 100_000])
def test_texts_and_arguments_that_are_too_deep(levels: int) -> None:
    with pytest.raises(JsonTooLarge, match="nested too deep"):
        decode_json(nested_text(levels))
    value, problem = ToolCall("t", nested_text(levels)).parsed
    assert value is None
    assert problem is not None


@pytest.mark.parametrize("levels", [MOST_LEVELS, 900, 990, 3000, 100_000])
def test_configurations_that_are_too_deep(levels: int) -> None:
    for entry in (
        {"type": "json-schema", "schema": {"const": nested(levels)}},
        {"type": "json-schema", "schema": f'{{"const": {nested_text(levels)}}}'},
        {"type": "json-deep-compare", "expected": nested(levels + 1, 1)},
    ):
        with pytest.raises(ConfigError, match="nested too deep"):
            configure(entry)


def test_the_deepest_values_are_compared() -> None:
    text = nested_text(MOST_LEVELS)
    trajectory = Trajectory("u", "t", None, None, "log", 0, "messages", None, output=text, reference=text)
    assert decode_json(text) == nested(MOST_LEVELS)
    assert evaluate({"type": "json-deep-compare"}, trajectory).status is Status.PASS
