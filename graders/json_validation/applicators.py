"""Keywords that apply schemas: to the value itself, to its properties, to its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graders.json_validation.assertions import answered, needed_names
from graders.json_validation.outcome import PENDING, Check, Outcome, Violation
from graders.json_validation.run import Run

if TYPE_CHECKING:
    from graders.json_validation.compiling import Builder, Compiler, Path


def always(value: Any, run: Run) -> Outcome:
    """The schema `true`."""
    return None


def never(value: Any, run: Run) -> Outcome:
    """The schema `false`."""
    return Violation("false schema")


def all_of_here(checks: Sequence[Check]) -> Check:
    """All checks on one value: a violation outranks what is open."""
    if not checks:
        return always
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks

        def check_two(value: Any, run: Run) -> Outcome:
            outcome = first(value, run)
            if outcome is None:
                return second(value, run)
            if outcome.open:
                other = second(value, run)
                return outcome if other is None else other
            return outcome

        return check_two
    steps = tuple(checks)

    def check(value: Any, run: Run) -> Outcome:
        undecided = None
        for step in steps:
            outcome = step(value, run)
            if outcome is not None:
                if isinstance(outcome, Violation):
                    return outcome
                undecided = outcome
        return undecided

    return check


def all_of(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`allOf`."""
    return all_of_here(compiler.children(schema["allOf"], (*path, "allOf")))


def any_of(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`anyOf`: one valid alternative is enough, whatever else is open."""
    steps = tuple(compiler.children(schema["anyOf"], (*path, "anyOf")))

    def check(value: Any, run: Run) -> Outcome:
        undecided: Outcome = None
        for step in steps:
            outcome = step(value, run)
            if outcome is None:
                return None
            if outcome.open:
                undecided = outcome
        return undecided or Violation("anyOf")

    return check


def one_of(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`oneOf`: two valid alternatives refuse it, whatever else is open."""
    steps = tuple(compiler.children(schema["oneOf"], (*path, "oneOf")))

    def check(value: Any, run: Run) -> Outcome:
        undecided: Outcome = None
        valid = 0
        for step in steps:
            outcome = step(value, run)
            if outcome is None:
                valid += 1
                if valid > 1:
                    return Violation("oneOf")
            elif outcome.open:
                undecided = outcome
        return undecided or (None if valid == 1 else Violation("oneOf"))

    return check


def negation(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`not`: what is open stays open."""
    inner = compiler.compile(schema["not"], (*path, "not"))

    def check(value: Any, run: Run) -> Outcome:
        outcome = inner(value, run)
        return Violation("not") if outcome is None else outcome if outcome.open else None

    return check


def condition(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check | None:
    """`if` with `then` and `else`; an open condition asks both."""
    if "then" not in schema and "else" not in schema:
        return None
    test = compiler.compile(schema["if"], (*path, "if"))
    then = compiler.compile(schema.get("then", True), (*path, "then"))
    otherwise = compiler.compile(schema.get("else", True), (*path, "else"))

    def check(value: Any, run: Run) -> Outcome:
        outcome = test(value, run)
        if outcome is None:
            return then(value, run)
        if isinstance(outcome, Violation):
            return otherwise(value, run)
        one, other = then(value, run), otherwise(value, run)
        both_refuse = one is not None and other is not None and not one.open and not other.open
        return one if both_refuse else None if one is None and other is None else outcome

    return check


def properties(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`properties`."""
    pairs = tuple(
        (name, check)
        for name, check in compiler.named_children(schema["properties"], (*path, "properties")).items()
        if check is not always
    )

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not dict:
            return None
        undecided = None
        for name, step in pairs:
            if name in value:
                outcome = step(value[name], run)
                if outcome is not None:
                    if isinstance(outcome, Violation):
                        outcome.path.append(name)
                        return outcome
                    undecided = outcome
        return undecided

    return check


def pattern_properties(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`patternProperties`: every property whose name a pattern is found in; names go through the bounded engine too."""
    place = (*path, "patternProperties")
    pairs = tuple(
        (compiler.pattern(source, (*place, source)), compiler.compile(child, (*place, source)))
        for source, child in schema["patternProperties"].items()
    )

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not dict:
            return None
        undecided: Outcome = None
        for number, step in pairs:
            for name, item in value.items():
                matches = answered(run, number, name)
                if matches is False:
                    continue
                outcome = step(item, run)
                if outcome is None:
                    continue
                if matches is True and isinstance(outcome, Violation):
                    outcome.path.append(name)
                    return outcome
                undecided = outcome if outcome.open else matches
        return undecided

    return check


def additional_properties(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`additionalProperties`: every property that neither `properties` nor `patternProperties` beside it speaks of."""
    step = compiler.compile(schema["additionalProperties"], (*path, "additionalProperties"))
    if step is always:
        return always
    named = frozenset(schema.get("properties", ()))
    numbers = tuple(
        compiler.pattern(source, (*path, "patternProperties", source)) for source in schema.get("patternProperties", ())
    )
    keyword = "additionalProperties" if step is never else None

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not dict or (not numbers and value.keys() <= named):
            return None
        undecided: Outcome = None
        for name in value:
            if name in named:
                continue
            spoken_of = _any_name_match(run, numbers, name)
            if spoken_of is True:
                continue
            outcome = step(value[name], run)
            if outcome is None:
                continue
            if spoken_of is False and isinstance(outcome, Violation):
                outcome.path.append(name)
                outcome.keyword = keyword or outcome.keyword
                return outcome
            undecided = outcome if outcome.open else spoken_of
        return undecided

    return check


def _any_name_match(run: Run, numbers: Sequence[int], name: str) -> Any:
    result: Any = False
    for number in numbers:
        answer = answered(run, number, name)
        if answer is True:
            return True
        if answer is not False:
            result = answer
    return result


def property_names(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`propertyNames`: every name, as a string."""
    step = compiler.compile(schema["propertyNames"], (*path, "propertyNames"))

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not dict:
            return None
        undecided = None
        for name in value:
            outcome = step(name, run)
            if outcome is not None:
                if isinstance(outcome, Violation):
                    return Violation("propertyNames")
                undecided = outcome
        return undecided

    return check


def dependencies(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`dependencies` of drafts 4 to 7: names or a schema."""
    given: Mapping[str, Any] = schema["dependencies"]
    names = {name: needs for name, needs in given.items() if isinstance(needs, list)}
    schemas = {name: child for name, child in given.items() if not isinstance(child, list)}
    checks = [needed_names("dependencies", names)] if names else []
    if schemas:
        checks.append(_dependent(compiler.named_children(schemas, (*path, "dependencies"))))
    return all_of_here(checks)


def dependent_schemas(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`dependentSchemas`: a property brings a schema for the whole object with it."""
    return _dependent(compiler.named_children(schema["dependentSchemas"], (*path, "dependentSchemas")))


def _dependent(children: Mapping[str, Check]) -> Check:
    pairs = tuple(children.items())

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not dict:
            return None
        undecided = None
        for name, step in pairs:
            if name in value:
                outcome = step(value, run)
                if outcome is not None:
                    if isinstance(outcome, Violation):
                        return outcome
                    undecided = outcome
        return undecided

    return check


def items(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`items`: for all items, after `prefixItems` for the rest of them.

    As a list (before 2020-12) item by item, with `additionalItems` for the rest.
    """
    child = schema["items"]
    if isinstance(child, list):
        rest = compiler.compile(schema.get("additionalItems", True), (*path, "additionalItems"))
        return _positional(compiler.children(child, (*path, "items")), rest)
    start = len(schema.get("prefixItems", ())) if compiler.draft.number >= 9 else 0
    return _each_from(compiler.compile(child, (*path, "items")), start)


def prefix_items(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`prefixItems`: item by item."""
    return _positional(compiler.children(schema["prefixItems"], (*path, "prefixItems")), always)


def _positional(steps: Sequence[Check], rest: Check) -> Check:
    after = _each_from(rest, len(steps))

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not list:
            return None
        undecided = None
        for position, (step, item) in enumerate(zip(steps, value)):  # noqa: B905 - the shorter one ends it
            outcome = step(item, run)
            if outcome is not None:
                if isinstance(outcome, Violation):
                    outcome.path.append(position)
                    return outcome
                undecided = outcome
        return after(value, run) or undecided

    return check


def _each_from(step: Check, start: int) -> Check:
    if step is always:
        return always

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not list:
            return None
        undecided = None
        for position in range(start, len(value)):
            outcome = step(value[position], run)
            if outcome is not None:
                if isinstance(outcome, Violation):
                    outcome.path.append(position)
                    return outcome
                undecided = outcome
        return undecided

    return check


def contains(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    """`contains`, from 2019-09 with `minContains` and `maxContains`."""
    step = compiler.compile(schema["contains"], (*path, "contains"))
    counted = compiler.draft.number >= 8
    least = schema.get("minContains", 1) if counted else 1
    most = schema.get("maxContains") if counted else None

    def check(value: Any, run: Run) -> Outcome:
        if type(value) is not list:
            return None
        valid = undecided = 0
        for item in value:
            outcome = step(item, run)
            if outcome is None:
                valid += 1
            elif outcome.open:
                undecided += 1
        if valid + undecided < least:
            return Violation("contains")
        if most is not None and valid > most:
            return Violation("maxContains")
        decided = valid >= least and (most is None or valid + undecided <= most)
        return None if decided else _open_item(step, value, run)

    return check


def _open_item(step: Check, value: list[Any], run: Run) -> Outcome:
    return next((outcome for item in value if (outcome := step(item, run)) is not None and outcome.open), PENDING)


BUILDERS: dict[str, Builder] = {
    "properties": properties,
    "patternProperties": pattern_properties,
    "additionalProperties": additional_properties,
    "propertyNames": property_names,
    "dependencies": dependencies,
    "dependentSchemas": dependent_schemas,
    "items": items,
    "prefixItems": prefix_items,
    "contains": contains,
    "allOf": all_of,
    "anyOf": any_of,
    "oneOf": one_of,
    "not": negation,
    "if": condition,
}
