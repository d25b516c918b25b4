"""From a suite's grader objects to configured graders: profiles translated, names given, every problem found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graders.errors import ConfigError, Problem, nearest
from graders.grader import CompositeGrader, Grader
from graders.profiles import foreign_path, translate
from graders.registry import grader_class
from schemas.nesting import is_nested_deeper

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,99}$"


class Condition(BaseModel):
    """`when:`: grade only where another grader came out so, or where metadata says so."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    grader: str | None = None
    status: Literal["pass", "fail", "scored", "error", "skipped"] | None = None
    metadata: dict[str, str] = Field(default_factory=dict)


class CommonFields(BaseModel):
    """What any grader object may say beside its own configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    name: str | None = Field(default=None, pattern=NAME_PATTERN)
    sample: float | None = Field(default=None, gt=0, le=1)
    when: Condition | None = None
    weight: float = Field(default=1.0, ge=0)
    required: bool = False


COMMON_FIELDS = frozenset(CommonFields.model_fields)


@dataclass(frozen=True)
class ConfiguredGrader:
    """A grader with its place in the suite."""

    name: str
    grader: Grader[Any]
    profile: str | None
    common: CommonFields
    config: Mapping[str, Any]
    """The normalised canonical configuration, without name and type."""
    grader_hash: str
    """16 hex digits over type, configuration and the version of the grader's code."""
    warnings: tuple[Problem, ...] = field(default=())
    place: int = 0
    """Its index in the suite's list."""

    @property
    def type(self) -> str:
        """The canonical type, also of a foreign object."""
        return self.grader.type

    @property
    def depends_on(self) -> frozenset[str]:
        """Names of graders whose outcomes it needs."""
        names = set(self.grader.children) if isinstance(self.grader, CompositeGrader) else set()
        if self.common.when is not None and self.common.when.grader is not None:
            names.add(self.common.when.grader)
        return frozenset(names)


def configure(
    entry: Mapping[str, Any], *, profile: str | None = None, plugins: tuple[str, ...] = ()
) -> ConfiguredGrader:
    """One grader object (canonical, or of the profile that it or the caller names) as a configured grader.

    Raises:
        ConfigError: with every problem of the object, paths from its own root.
    """
    if not isinstance(entry, Mapping):
        raise ConfigError(f"a grader is an object with a type, not {type(entry).__name__}")
    own = dict(entry)
    _refuse_lone_surrogates(own)
    used_profile = own.pop("profile", profile)
    if used_profile in (None, "gradebeam"):
        return _configured(own, used_profile, plugins)
    canonical = translate(own, used_profile)
    try:
        return _configured(canonical, used_profile, plugins)
    except ConfigError as error:
        raise ConfigError(replace(p, path=foreign_path(used_profile, own, p.path)) for p in error.problems) from None


def _configured(canonical: dict[str, Any], used_profile: str | None, plugins: tuple[str, ...]) -> ConfiguredGrader:
    type_name = canonical.pop("type", None)
    if not isinstance(type_name, str):
        raise ConfigError("a grader needs a type", ("type",))
    cls = grader_class(type_name, plugins)
    common_values = {key: canonical.pop(key) for key in sorted(COMMON_FIELDS & canonical.keys())}
    problems: list[Problem] = []
    common = _validated(CommonFields, common_values, problems, ())
    config = _validated(cls.config_model, canonical, problems, ())
    if problems or common is None or config is None:
        raise ConfigError(problems)
    grader = cls(config)
    normalised = config.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    digest = hashlib.sha256(orjson.dumps([cls.type, cls.version, normalised], option=orjson.OPT_SORT_KEYS)).hexdigest()
    name = common.name if isinstance(common, CommonFields) and common.name else f"{type_name}-{digest[:8]}"
    assert isinstance(common, CommonFields)
    return ConfiguredGrader(name, grader, used_profile, common, normalised, digest[:16], tuple(grader.warnings()))


def _refuse_lone_surrogates(entry: dict[str, Any]) -> None:
    if is_nested_deeper(entry):
        raise ConfigError("the object is nested too deep, or holds itself")
    try:
        json.dumps(entry, ensure_ascii=False, default=str, skipkeys=True).encode()
    except UnicodeEncodeError:
        raise ConfigError("a text holds half of a surrogate pair, which UTF-8 does not have") from None


def configure_all(
    entries: Sequence[Any], *, profile: str | None = None, plugins: tuple[str, ...] = ()
) -> list[ConfiguredGrader]:
    """All graders of a suite, each after those it depends on (else in the suite's order).

    Raises:
        ConfigError: with every problem of every grader, paths from the list (`(2, "pattern")`); duplicate names, names
            that differ by case alone, unknown or circular dependencies.
    """
    problems: list[Problem] = []
    configured: list[ConfiguredGrader] = []
    by_lower: dict[str, str] = {}
    places: dict[str, int] = {}
    for number, entry in enumerate(entries):
        try:
            one = configure(entry, profile=profile, plugins=plugins)
        except ConfigError as error:
            problems.extend(problem.below(number) for problem in error.problems)
            continue
        known = by_lower.setdefault(one.name.lower(), one.name)
        if one.name.lower() in (name.lower() for name in places):
            how = "is used twice" if known == one.name else f'differs from "{known}" by case alone'
            problems.append(Problem((number, "name"), f'the name "{one.name}" {how}', "give each grader its own name"))
            continue
        places[one.name] = number
        configured.append(replace(one, place=number))
    failed = len(problems) > 0
    for one in configured:
        for needed in sorted(one.depends_on - places.keys()):
            if failed:
                break
            problems.append(
                Problem((places[one.name],), f'"{one.name}" needs a grader "{needed}"', nearest(needed, places))
            )
    by_name = {one.name: one for one in configured}
    for one in configured:
        children = one.grader.children if isinstance(one.grader, CompositeGrader) else ()
        for child in children:
            if child in by_name and not by_name[child].grader.gives_verdict:
                message = f'"{one.name}" needs verdicts, and "{child}" gives a number without a threshold'
                problems.append(Problem((places[one.name],), message, f'give "{child}" a threshold'))
    if problems:
        raise ConfigError(problems)
    return _in_order(configured, places)


def _in_order(configured: Sequence[ConfiguredGrader], places: Mapping[str, int]) -> list[ConfiguredGrader]:
    ordered: list[ConfiguredGrader] = []
    done: set[str] = set()
    waiting = list(configured)
    while waiting:
        ready = [one for one in waiting if one.depends_on <= done]
        if not ready:
            names = ", ".join(f'"{one.name}"' for one in waiting)
            raise ConfigError(f"these graders wait for each other: {names}", (places[waiting[0].name],))
        ordered.extend(ready)
        done.update(one.name for one in ready)
        waiting = [one for one in waiting if one.name not in done]
    return ordered


def _validated(
    model: type[BaseModel], values: Mapping[str, Any], problems: list[Problem], path: tuple[str | int, ...]
) -> BaseModel | None:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems.extend(problems_of(error, model, path))
        return None


def problems_of(error: ValidationError, model: type[BaseModel], path: tuple[str | int, ...] = ()) -> list[Problem]:
    """A pydantic error as our problems: path, plain words, and the nearest field name for an unknown one."""
    found = []
    for item in error.errors(include_url=False, include_context=False):
        place = (*path, *item["loc"])
        if item["type"] == "extra_forbidden":
            known = (
                [*(f.alias or name for name, f in model.model_fields.items()), *COMMON_FIELDS]
                if len(item["loc"]) == 1
                else []
            )
            found.append(Problem(place, "unknown field", nearest(str(item["loc"][-1]), known)))
        elif item["type"] == "missing":
            found.append(Problem(place, "this field is required"))
        else:
            message = item["msg"].removeprefix("Value error, ")
            found.append(Problem(place, message[:1].lower() + message[1:]))
    return found
