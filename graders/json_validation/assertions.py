"""Keywords that look at the value itself: its type, size, range, content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from graders.json_validation.outcome import PENDING, Check, Outcome, Violation
from graders.json_validation.run import Run
from graders.json_values import key_of

if TYPE_CHECKING:
    from graders.json_validation.compiling import Builder, Compiler, Path

_NUMBERS = frozenset({int, float})
_TYPES: Mapping[str, frozenset[type]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
    "number": _NUMBERS,
    "integer": frozenset({int}),
}

TYPE_NAMES = tuple(_TYPES)


def type_check(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`type`: a number with zero fraction is an integer from draft 6 on."""
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    allowed = frozenset[type]().union(*(_TYPES[name] for name in names))
    whole_floats = "integer" in names and "number" not in names and compiler.draft.number >= 6
    if len(allowed) == 1 and not whole_floats:
        (only,) = allowed

        def check_one(value: Any, run: Run) -> Outcome:
            return None if type(value) is only else Violation("type")

        return check_one

    def check(value: Any, run: Run) -> Outcome:
        if type(value) in allowed or (whole_floats and type(value) is float and value.is_integer()):
            return None
        return Violation("type")

    return check


def enum(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`enum`: equal to one of the values; true is not 1, and 1 is 1.0."""
    return _one_of("enum", schema["enum"])


def const(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`const`: equal to the value."""
    return _one_of("const", [schema["const"]])


def _one_of(keyword: str, values: list[Any]) -> Check:
    keys = frozenset(key_of(value) for value in values)
    if all(type(value) is str for value in values):

        def check_text(value: Any, run: Run) -> Outcome:
            return None if type(value) is str and value in keys else Violation(keyword)

        return check_text

    def check(value: Any, run: Run) -> Outcome:
        return None if key_of(value) in keys else Violation(keyword)

    return check


def minimum(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`minimum`, in draft 4 with a boolean `exclusiveMinimum`."""
    bound = schema["minimum"]
    if compiler.draft.number == 4 and schema.get("exclusiveMinimum") is True:
        return _number_check("minimum", lambda value: value > bound)
    return _number_check("minimum", lambda value: value >= bound)


def maximum(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`maximum`, in draft 4 with a boolean `exclusiveMaximum`."""
    bound = schema["maximum"]
    if compiler.draft.number == 4 and schema.get("exclusiveMaximum") is True:
        return _number_check("maximum", lambda value: value < bound)
    return _number_check("maximum", lambda value: value <= bound)


def exclusive_minimum(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check | None:
    """`exclusiveMinimum` as a number."""
    bound = schema["exclusiveMinimum"]
    return None if compiler.draft.number == 4 else _number_check("exclusiveMinimum", lambda value: value > bound)


def exclusive_maximum(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check | None:
    """`exclusiveMaximum` as a number."""
    bound = schema["exclusiveMaximum"]
    return None if compiler.draft.number == 4 else _number_check("exclusiveMaximum", lambda value: value < bound)


def multiple_of(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`multipleOf`, exact on the decimal digits as written: 19.99 is a multiple of 0.01."""
    divisor = schema["multipleOf"]
    if isinstance(divisor, int):
        exact = Fraction(divisor)
        return _number_check(
            "multipleOf",
            lambda value: value % divisor == 0 if type(value) is int else Fraction(repr(value)) % exact == 0,
        )
    exact = Fraction(repr(divisor))
    return _number_check("multipleOf", lambda value: Fraction(repr(value)) % exact == 0)


def _number_check(keyword: str, holds: Callable[[Any], bool]) -> Check:
    def check(value: Any, run: Run) -> Outcome:
        return None if type(value) not in _NUMBERS or holds(value) else Violation(keyword)

    return check


def _size_check(keyword: str, kind: type[Any], least: bool) -> Builder:
    def build(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
        bound = schema[keyword]

        def at_least(value: Any, run: Run) -> Outcome:
            return None if type(value) is not kind or len(value) >= bound else Violation(keyword)

        def at_most(value: Any, run: Run) -> Outcome:
            return None if type(value) is not kind or len(value) <= bound else Violation(keyword)

        return at_least if least else at_most

    return build


def unique_items(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check | None:
    """`uniqueItems`: no two items are equal."""
    if not schema["uniqueItems"]:
        return None

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not list or len({key_of(item) for item in value}) == len(value):
            return None
        return Violation("uniqueItems")

    return check


def required(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`required`: the object has all these properties."""
    names = frozenset(schema["required"])

    def check(value: Any, run: Run) -> Outcome:
        return None if type(value) is not dict or names <= value.keys() else Violation("required")

    return check


def dependent_required(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`dependentRequired`: a property brings others with it."""
    return needed_names("dependentRequired", schema["dependentRequired"])


def needed_names(keyword: str, needs: Mapping[str, list[str]]) -> Check:
    """Where a property of `needs` is there, those that it names are there too."""
    pairs = [(name, frozenset(others)) for name, others in needs.items()]

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is dict:
            for name, others in pairs:
                if name in value and not others <= value.keys():
                    return Violation(keyword)
        return None

    return check


def pattern(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`pattern`: found anywhere in the string, by ECMAScript's rules and within the engine's limits."""
    number = compiler.pattern(schema["pattern"], (*path, "pattern"))

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not str:
            return None
        answer = answered(run, number, value)
        return None if answer is True else Violation("pattern") if answer is False else answer

    return check


def answered(run: Run, number: int, text: str) -> Any:
    """Whether a pattern is found in a text: True, False, or an `Open`. An unknown answer is noted as wanted."""
    answer = run.answers[number].get(text)
    if answer is None:
        run.wanted[number].add(text)
        return PENDING
    if answer is not True and answer is not False:
        run.stopped = True
    return answer


def format_check(holds: Callable[[str], bool]) -> Check:
    """`format`, asserted."""

    def check(value: Any, run: Run) -> Outcome:
        return None if type(value) is not str or holds(value) else Violation("format")

    return check


BUILDERS: dict[str, Builder] = {
    "type": type_check,
    "required": required,
    "const": const,
    "enum": enum,
    "minimum": minimum,
    "maximum": maximum,
    "exclusiveMinimum": exclusive_minimum,
    "exclusiveMaximum": exclusive_maximum,
    "multipleOf": multiple_of,
    "minLength": _size_check("minLength", str, True),
    "maxLength": _size_check("maxLength", str, False),
    "minItems": _size_check("minItems", list, True),
    "maxItems": _size_check("maxItems", list, False),
    "minProperties": _size_check("minProperties", dict, True),
    "maxProperties": _size_check("maxProperties", dict, False),
    "pattern": pattern,
    "dependentRequired": dependent_required,
    "uniqueItems": unique_items,
}
