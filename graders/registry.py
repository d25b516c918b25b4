"""Every grader type by name: those of this package, installed ones (entry points) and a suite's own (`plugins:`)."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import pkgutil
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import GenericAlias, MappingProxyType, ModuleType
from typing import Any

from graders.errors import ConfigError, Problem, nearest
from graders.grader import Grader

ENTRY_POINT_GROUP = "gradebeam.graders"
_TYPE_LINE = re.compile(r'^    type(?:: ClassVar\[str\])? = "([a-z0-9-]+)"', re.MULTILINE)
GraderTypes = MappingProxyType[str, type[Grader[Any]]]


@lru_cache(maxsize=8)
def grader_types(plugins: tuple[str, ...] = ()) -> GraderTypes:
    """Grader classes by type name. `plugins` are modules (`package.module`) whose grader classes join the others.

    Raises:
        ConfigError: a plugin can't be imported, or two classes claim one type name.
    """
    found: dict[str, type[Grader[Any]]] = {}
    for cls in [*_own(), *_installed(), *_named(plugins)]:
        known = found.setdefault(cls.type, cls)
        if known is not cls:
            both = " and ".join(f"{one.__module__}.{one.__name__}" for one in (known, cls))
            raise ConfigError(f'both {both} define the type "{cls.type}"')
    return MappingProxyType(found)


def grader_class(type_name: str, plugins: tuple[str, ...] = ()) -> type[Grader[Any]]:
    """The class of a type. Of this package's own modules only the type's is imported: a command should start at once.

    Raises:
        ConfigError: there is no such type; it suggests the nearest one.
    """
    if not plugins and not _installed_entries():
        module = _own_modules().get(type_name)
        if module is not None:
            for cls in _classes_in(importlib.import_module(module)):
                if cls.type == type_name:
                    return cls
    types = grader_types(plugins)
    try:
        return types[type_name]
    except KeyError:
        suggestion = _as_foreign(type_name) or nearest(type_name, types) or "`gradebeam graders` lists the types"
        raise ConfigError([Problem(("type",), f'unknown grader type "{type_name}"', suggestion)]) from None


def _as_foreign(type_name: str) -> str | None:
    profiles = importlib.import_module("graders.profiles")
    of = next((profile for profile in profiles.PROFILES if type_name in profiles.translations(profile)), None)
    return None if of is None else f"it is one of {of}'s types: give `profile: {of}`"


@lru_cache(maxsize=1)
def _own_modules() -> dict[str, str]:
    """Type name → module, told from the sources without importing them."""
    found: dict[str, str] = {}
    package = importlib.import_module("graders")
    for folder in package.__path__:
        for path in sorted(Path(folder).rglob("*.py")):
            module = ".".join(("graders", *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
            for name in _TYPE_LINE.findall(path.read_text(encoding="utf-8")):
                found.setdefault(name, module)
    return found


def _own() -> Iterable[type[Grader[Any]]]:
    package = importlib.import_module("graders")
    for info in pkgutil.walk_packages(package.__path__, "graders."):
        if not info.name.rsplit(".", 1)[-1].startswith("_"):
            yield from _classes_in(importlib.import_module(info.name))


def _installed() -> Iterable[type[Grader[Any]]]:
    for entry in _installed_entries():
        try:
            loaded = entry.load()
        except Exception as exception:
            raise ConfigError(
                f'the grader plugin "{entry.name}" ({entry.value}) can\'t be loaded: {exception}'
            ) from exception
        yield from _classes_in(loaded) if isinstance(loaded, ModuleType) else (loaded,)


@lru_cache(maxsize=1)
def _installed_entries() -> tuple[importlib.metadata.EntryPoint, ...]:
    return tuple(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP))


def _named(plugins: Iterable[str]) -> Iterable[type[Grader[Any]]]:
    for number, name in enumerate(plugins):
        try:
            module = importlib.import_module(name)
        except Exception as exception:
            raise ConfigError(
                f'the plugin "{name}" can\'t be imported: {exception}', ("plugins", number)
            ) from exception
        classes = list(_classes_in(module))
        if not classes:
            raise ConfigError(f'the plugin "{name}" defines no grader class', ("plugins", number))
        yield from classes


def _classes_in(module: ModuleType) -> Iterable[type[Grader[Any]]]:
    for value in vars(module).values():
        if (
            inspect.isclass(value)
            and not isinstance(value, GenericAlias)  # `type[X]` passes for a class in Python 3.10
            and issubclass(value, Grader)
            and value.__module__ == module.__name__
            and not inspect.isabstract(value)
            and "type" in vars(value)
        ):
            yield value
