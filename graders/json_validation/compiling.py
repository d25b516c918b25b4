"""From a schema to one check: references resolved inside the document, everything unsupported refused by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from graders.errors import ConfigError, Problem, nearest
from graders.json_validation import applicators, assertions, unevaluated
from graders.json_validation.drafts import Draft, DraftName
from graders.json_validation.formats import FORMATS, STANDARD_FORMATS
from graders.json_validation.outcome import (
    MAX_REFERENCE_DEPTH,
    MAX_REFERENCE_STEPS,
    Check,
    Outcome,
    SchemaLimit,
)
from graders.json_validation.run import Run
from graders.matching import InvalidPattern, MatchLimits, Pattern, compile

Path = tuple[str | int, ...]
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


@dataclass(frozen=True)
class CompiledSchema:
    """A schema ready to judge values."""

    check: Check
    patterns: tuple[Pattern, ...]
    """Its distinct patterns; their numbers index `Run.answers`."""
    warnings: tuple[Problem, ...]


def compile_schema(
    schema: Any, draft: DraftName = "7", *, assert_formats: bool = False, limits: MatchLimits | None = None
) -> CompiledSchema:
    """A JSON Schema as a check.

    Args:
        schema: the schema as JSON values (an object or a boolean).
        draft: by whose rules it is read.
        assert_formats: make `format` an assertion; else it says nothing.
        limits: of each pattern match.

    Raises:
        ConfigError: the schema breaks its meta-schema, has a pattern that ECMAScript does not, a reference that leads
            out of the document or nowhere, or something that is not supported. Paths start at the schema.
    """
    compiler = Compiler(Draft(draft), assert_formats, limits or MatchLimits())
    try:
        _check_meta_schema(schema, compiler.draft)
        check = compiler.root(schema)
    except RecursionError:
        raise ConfigError("the schema is nested too deep") from None
    if compiler.problems:
        raise ConfigError(compiler.problems)
    return CompiledSchema(check, tuple(compiler.patterns), tuple(compiler.warnings))


def _check_meta_schema(schema: Any, draft: Draft) -> None:
    from jsonschema.exceptions import SchemaError, best_match

    cls = draft.validator_class
    errors = list(cls(cls.META_SCHEMA).iter_errors(schema))
    if errors:
        worst: SchemaError = best_match(iter(errors))
        path = tuple(worst.absolute_path)
        suggestion = nearest(str(worst.instance), assertions.TYPE_NAMES) if path[-1:] == ("type",) else None
        raise ConfigError([Problem(path, f"not a schema of draft {draft.name}: {worst.message[:200]}", suggestion)])


@dataclass
class Compiler:
    """Compiles one document; collects its patterns, problems and warnings."""

    draft: Draft
    assert_formats: bool
    limits: MatchLimits
    patterns: list[Pattern] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _targets: dict[int, list[Check]] = field(default_factory=dict)
    _evaluated: dict[tuple[int, int], list[unevaluated.Evaluated]] = field(default_factory=dict)
    _resolver: Any = None
    _resources: int = 0

    def root(self, schema: Any) -> Check:
        """The check of a whole document."""
        registry = importlib.import_module("jsonschema_specifications").REGISTRY

        resource = self.draft.specification.create_resource(schema)
        base = resource.id() or ""
        registry = registry.with_resource(base, resource)
        with suppress(AttributeError):  # `dependencies` that mix names and schemas; embedded ids are then not found
            registry = registry.crawl()
        self._resolver = registry.resolver(base)
        holder: list[Check] = [applicators.always]
        self._targets[id(schema)] = holder
        holder[0] = self.compile(schema, ())
        return holder[0]

    def compile(self, schema: Any, path: Path) -> Check:
        """The check of one schema. `path` leads to it from the document's root."""
        if schema is True or schema == {}:
            return applicators.always
        if schema is False:
            return applicators.never
        if not isinstance(schema, dict):
            self.problem(path, "a schema is an object or a boolean")
            return applicators.always
        outer = self._resolver
        if path and isinstance(self._id_of(schema), str):
            self._resources += 1
            self._resolver = outer.in_subresource(self.draft.specification.create_resource(schema))
        try:
            return self._compiled_here(schema, path)
        finally:
            self._resolver = outer

    def children(self, schemas: Sequence[Any], path: Path) -> list[Check]:
        """The checks of a list of schemas."""
        return [self.compile(child, (*path, number)) for number, child in enumerate(schemas)]

    def named_children(self, schemas: Mapping[str, Any], path: Path) -> dict[str, Check]:
        """The checks of an object of schemas."""
        return {name: self.compile(child, (*path, name)) for name, child in schemas.items()}

    def pattern(self, source: str, path: Path) -> int:
        """The number of a pattern."""
        if source not in self._numbers:
            try:
                compiled = compile(source, "ecma", self.limits)
            except InvalidPattern as problem:
                self.problem(path, f"not a pattern of the ecma dialect: {problem}")
                compiled = compile("", "ecma", self.limits)
            self._numbers[source] = len(self.patterns)
            self.patterns.append(compiled)
        return self._numbers[source]

    def problem(self, path: Path, message: str, suggestion: str | None = None) -> None:
        """Note something that makes the schema unusable."""
        self.problems.append(Problem(path, message, suggestion))

    def reference(self, target: str, path: Path) -> Check:
        """The check that `$ref` stands for; compiled once for each target, so that a schema may refer to itself."""
        from referencing.exceptions import Unresolvable

        try:
            resolved = self._resolver.lookup(target)
        except (Unresolvable, ValueError, TypeError, LookupError, AttributeError):
            remote = "://" in target
            message = f'"{target}" is not in the schema' + ("; nothing is fetched" if remote else "")
            self.problem(path, message, "copy it into the schema's own definitions" if remote else None)
            return applicators.always
        key = id(resolved.contents)
        if key not in self._targets:
            holder: list[Check] = [applicators.always]
            self._targets[key] = holder
            outer, self._resolver = self._resolver, resolved.resolver
            try:
                found = resolved.contents
                holder[0] = self._compiled_here(found, path) if isinstance(found, dict) else self.compile(found, path)
            finally:
                self._resolver = outer
        return _reference_check(self._targets[key])

    def _id_of(self, schema: Mapping[str, Any]) -> Any:
        if self.draft.ignores_siblings_of_ref and "$ref" in schema:
            return None
        return schema.get("id" if self.draft.number == 4 else "$id")

    def _compiled_here(self, schema: dict[str, Any], path: Path) -> Check:
        self._warn(schema, path)
        if self.draft.ignores_siblings_of_ref and isinstance(schema.get("$ref"), str):
            return self.reference(schema["$ref"], (*path, "$ref"))
        checks: list[Check] = []
        for keyword, build in _BUILDERS:
            if keyword in schema and keyword in self.draft.keywords:
                check = build(self, schema, path)
                if check is not None:
                    checks.append(check)
        return applicators.all_of_here(checks)

    def dynamic(self, keyword: str, schema: Mapping[str, Any], path: Path) -> Check:
        """A dynamic reference: in a document of one resource it is where a plain reference leads."""
        if self._resources or not str(schema[keyword]).startswith("#"):
            self.problem((*path, keyword), f"{keyword} across several schema resources is not supported", "use $ref")
            return applicators.always
        return self.reference(schema[keyword], (*path, keyword))

    def evaluated_by_reference(
        self, collector: unevaluated.Collector, target: str, path: Path
    ) -> unevaluated.Evaluated:
        """The places that the target of a reference evaluates; collected once for each target."""
        try:
            resolved = self._resolver.lookup(target)
        except Exception:  # told already, where the reference itself was compiled
            return collector.of(True, path)
        key = (id(resolved.contents), id(collector))
        if key not in self._evaluated:
            self._evaluated[key] = holder = [collector.of(True, path)]
            outer, self._resolver = self._resolver, resolved.resolver
            try:
                holder[0] = collector.of(resolved.contents, path, top=False)
            finally:
                self._resolver = outer
        found = self._evaluated[key]
        return lambda value, run: found[0](value, run)

    def format_check(self, name: str, path: Path) -> Check | None:
        """The check of a `format`, where formats are asserted."""
        if not self.assert_formats:
            return None
        if name in FORMATS:
            return assertions.format_check(FORMATS[name])
        if name in STANDARD_FORMATS:
            known = ", ".join(sorted(FORMATS))
            self.problem((*path, "format"), f'the format "{name}" can\'t be asserted here', f"assertable are {known}")
        else:
            self.warnings.append(
                Problem((*path, "format"), f'unknown format "{name}": it is not checked', warning=True)
            )
        return None

    def _warn(self, schema: Mapping[str, Any], path: Path) -> None:
        hidden = self.draft.ignores_siblings_of_ref and isinstance(schema.get("$ref"), str)
        for keyword in schema:
            if hidden and keyword != "$ref" and keyword in self.draft.keywords - _SILENT_BESIDE_REF:
                message = f"ignored beside $ref in draft {self.draft.name}"
            elif keyword not in self.draft.keywords and not hidden:
                message = f"unknown keyword of draft {self.draft.name}: it checks nothing"
            else:
                continue
            suggestion = nearest(str(keyword), self.draft.keywords) if not hidden else None
            self.warnings.append(Problem((*path, str(keyword)), message, suggestion, warning=True))


_SILENT_BESIDE_REF = frozenset(
    {"title", "description", "definitions", "$defs", "$comment", "examples", "default", "$id", "id", "$schema"}
)


def _reference_check(target: list[Check]) -> Check:
    def check(value: Any, run: Run) -> Outcome:
        run.depth += 1
        run.steps += 1
        if run.depth > MAX_REFERENCE_DEPTH or run.steps > MAX_REFERENCE_STEPS:
            raise SchemaLimit
        outcome = target[0](value, run)
        run.depth -= 1
        return outcome

    return check


Builder = Callable[[Compiler, dict[str, Any], Path], Check | None]


def _dynamic(keyword: str) -> Builder:
    return lambda compiler, schema, path: compiler.dynamic(keyword, schema, path)


def _ref(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check:
    return compiler.reference(schema["$ref"], (*path, "$ref"))


def _format(compiler: Compiler, schema: dict[str, Any], path: Path) -> Check | None:
    return compiler.format_check(schema["format"], path) if isinstance(schema["format"], str) else None


#: In the order in which they are checked: cheap ones first, those that need annotations last.
_BUILDERS: tuple[tuple[str, Builder], ...] = (
    *assertions.BUILDERS.items(),
    ("format", _format),
    *applicators.BUILDERS.items(),
    ("$ref", _ref),
    *((keyword, _dynamic(keyword)) for keyword in _DYNAMIC),
    *unevaluated.BUILDERS.items(),
)
