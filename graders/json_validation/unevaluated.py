"""`unevaluatedProperties` and `unevaluatedItems` (from 2019-09): what no other keyword that applied has spoken of.

Beside the checks stands, for each schema, a function that gives the names or positions that it evaluates on a value it
accepts. Only subschemas that accept the value count, as the specification's annotations do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graders.json_validation.applicators import always
from graders.json_validation.assertions import answered
from graders.json_validation.outcome import Check, Open, Outcome, Violation
from graders.json_validation.run import Run

if TYPE_CHECKING:
    from graders.json_validation.compiling import Builder, Compiler, Path

Places = set[Any]
Evaluated = Callable[[Any, Run], "tuple[Places, Open | None]"]
"""The names or positions that were evaluated; and something open, if more might have been."""


def unevaluated_properties(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`unevaluatedProperties`."""
    step = compiler.compile(schema["unevaluatedProperties"], (*path, "unevaluatedProperties"))
    evaluated = Collector(compiler, "properties", "unevaluatedProperties").of(schema, path)
    return _check_rest("unevaluatedProperties", dict, step, evaluated)


def unevaluated_items(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`unevaluatedItems`."""
    step = compiler.compile(schema["unevaluatedItems"], (*path, "unevaluatedItems"))
    evaluated = Collector(compiler, "items", "unevaluatedItems").of(schema, path)
    return _check_rest("unevaluatedItems", list, step, evaluated)


def _check_rest(keyword: str, kind: type[Any], step: Check, evaluated: Evaluated) -> Check:
    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not kind:
            return None
        done, maybe_more = evaluated(value, run)
        undecided: Outcome = None
        for place in value if kind is dict else range(len(value)):
            if place in done:
                continue
            outcome = step(value[place], run)
            if outcome is None:
                continue
            if maybe_more is None and isinstance(outcome, Violation):
                outcome.path.append(place)
                outcome.keyword = keyword
                return outcome
            undecided = outcome if outcome.open else maybe_more
        return undecided

    return check


class Collector:
    """Compiles the functions that collect evaluated places, of properties or of items.

    `skip` is the keyword that asks.
    """

    def __init__(self, compiler: Compiler, what: str, skip: str) -> None:
        self._compiler = compiler
        self._what = what
        self._skip = skip

    def of(self, schema: Any, path: Path, *, top: bool = True) -> Evaluated:
        """What a schema evaluates on a value that it accepts."""
        if not isinstance(schema, dict):
            return _nothing
        own = self._properties(schema, path) if self._what == "properties" else self._items(schema, path)
        if not top and self._skip in schema:
            own.append(_everything)
        return _together([*own, *self._in_place(schema, path)])

    def _properties(self, schema: dict[str, Any], path: Path) -> list[Evaluated]:
        found: list[Evaluated] = []
        if "properties" in schema:
            found.append(_named(frozenset(schema["properties"])))
        for source in schema.get("patternProperties", ()):
            found.append(_matching(self._compiler.pattern(source, (*path, "patternProperties", source))))
        if "additionalProperties" in schema:
            found.append(_everything)
        return found

    def _items(self, schema: dict[str, Any], path: Path) -> list[Evaluated]:
        found: list[Evaluated] = []
        items, prefix = schema.get("items"), schema.get("prefixItems")
        if self._compiler.draft.number >= 9:
            if prefix is not None:
                found.append(_first(len(prefix)))
            if items is not None:
                found.append(_everything)
            if "contains" in schema:
                found.append(_accepted_items(self._compiler.compile(schema["contains"], (*path, "contains"))))
        elif isinstance(items, list):
            found.append(_everything if "additionalItems" in schema else _first(len(items)))
        elif items is not None:
            found.append(_everything)
        return found

    def _in_place(self, schema: dict[str, Any], path: Path) -> list[Evaluated]:
        found: list[Evaluated] = []
        for keyword in ("allOf", "anyOf", "oneOf"):
            for number, child in enumerate(schema.get(keyword, ())):
                found.append(self._where_valid(child, (*path, keyword, number)))
        for name, child in schema.get("dependentSchemas", {}).items():
            found.append(_where_present(name, self._where_valid(child, (*path, "dependentSchemas", name))))
        if "if" in schema:
            test = self._compiler.compile(schema["if"], (*path, "if"))
            places = self.of(schema["if"], (*path, "if"), top=False)
            then = self.of(schema.get("then", True), (*path, "then"), top=False)
            otherwise = self.of(schema.get("else", True), (*path, "else"), top=False)
            found.append(_conditional(test, _together([places, then]), otherwise))
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                found.append(self._compiler.evaluated_by_reference(self, schema[keyword], (*path, keyword)))
        return found

    def _where_valid(self, child: Any, path: Path) -> Evaluated:
        return _conditional(self._compiler.compile(child, path), self.of(child, path, top=False), _nothing)


def _nothing(value: Any, run: Run) -> tuple[Places, Open | None]:
    return set(), None


def _everything(value: Any, run: Run) -> tuple[Places, Open | None]:
    return set(value) if type(value) is dict else set(range(len(value))), None


def _together(parts: list[Evaluated]) -> Evaluated:
    needed = [part for part in parts if part is not _nothing]
    if not needed:
        return _nothing

    def evaluated(value: Any, run: Run) -> tuple[Places, Open | None]:
        places: Places = set()
        undecided: Open | None = None
        for part in needed:
            more, open_part = part(value, run)
            places |= more
            undecided = undecided or open_part
        return places, undecided

    return evaluated


def _named(names: frozenset[str]) -> Evaluated:
    return lambda value, run: ({name for name in value if name in names}, None)


def _first(count: int) -> Evaluated:
    return lambda value, run: (set(range(min(count, len(value)))), None)


def _matching(number: int) -> Evaluated:
    def evaluated(value: Any, run: Run) -> tuple[Places, Open | None]:
        answers = {name: answered(run, number, name) for name in value}
        undecided = next((answer for answer in answers.values() if answer is not True and answer is not False), None)
        return {name for name, answer in answers.items() if answer is True}, undecided

    return evaluated


def _accepted_items(step: Check) -> Evaluated:
    if step is always:
        return _everything

    def evaluated(value: Any, run: Run) -> tuple[Places, Open | None]:
        outcomes = [step(item, run) for item in value]
        undecided = next((outcome for outcome in outcomes if isinstance(outcome, Open)), None)
        return {place for place, outcome in enumerate(outcomes) if outcome is None}, undecided

    return evaluated


def _where_present(name: str, inner: Evaluated) -> Evaluated:
    return lambda value, run: inner(value, run) if name in value else (set(), None)


def _conditional(test: Check, where_valid: Evaluated, otherwise: Evaluated) -> Evaluated:
    if where_valid is _nothing and otherwise is _nothing:
        return _nothing

    def evaluated(value: Any, run: Run) -> tuple[Places, Open | None]:
        outcome = test(value, run)
        if outcome is None:
            return where_valid(value, run)
        if not outcome.open:
            return otherwise(value, run)
        assert isinstance(outcome, Open)
        return set(), outcome

    return evaluated


BUILDERS: dict[str, Builder] = {
    "unevaluatedItems": unevaluated_items,
    "unevaluatedProperties": unevaluated_properties,
}
