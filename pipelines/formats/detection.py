"""Which container reads a file: told from its records, by vote over the first of them. Containers are found, not listed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import GenericAlias
from typing import Any

from graders.errors import ConfigError, Problem, nearest
from pipelines.formats import containers
from pipelines.formats.container import Container
from pipelines.formats.containers.mapped_rows import MappedRows
from pipelines.formats.containers.unknown import Unknown

#: What `input.format` says for text that is CSV whatever its header; which container reads the rows is told from them all the same.
CSV = "csv"
#: How many records of a file vote.
VOTERS = 50


@dataclass(frozen=True, slots=True)
class Detected:
    """The container of a file, and why."""

    container: Container
    why: str


@lru_cache(maxsize=1)
def container_classes() -> Mapping[str, type[Container]]:
    """Every container by name, in the order in which detection asks them."""
    found: dict[str, type[Container]] = {}
    for module in pkgutil.iter_modules(containers.__path__):
        loaded = importlib.import_module(f"{containers.__name__}.{module.name}")
        for _, item in inspect.getmembers(loaded, inspect.isclass):
            if isinstance(item, GenericAlias):  # `dict[str, Any]` passes for a class in Python 3.10
                continue
            if issubclass(item, Container) and not inspect.isabstract(item) and "name" in vars(item):
                if item.__module__ != loaded.__name__:
                    continue
                if found.setdefault(item.name, item) is not item:
                    raise RuntimeError(f"two containers are called {item.name}: {found[item.name]} and {item}")
    return dict(sorted(found.items(), key=lambda entry: (entry[1].order, entry[0])))


@lru_cache(maxsize=1)
def _askable() -> tuple[Container, ...]:
    return tuple(kind() for kind in container_classes().values() if kind not in (MappedRows, Unknown))


def detect(records: Sequence[Any], uri: str) -> Detected:
    """The container of most of a file's first records that any knows; `unknown` where none knows any.

    `records` are decoded values, of which the first 50 vote. Records that no container knows don't vote.
    """
    votes: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    askable = _askable()
    voters = records[:VOTERS]
    for value in voters:
        for candidate in askable:
            why = candidate.detect(value)
            if why is not None:
                votes[candidate.name] += 1
                reasons.setdefault(candidate.name, why)
                break
    if not votes:
        return Detected(Unknown(), f"no known format among the first {len(voters)} records of {uri}")
    name, count = votes.most_common(1)[0]
    others = ", ".join(f"{other}: {n}" for other, n in votes.items() if other != name)
    why = f"{reasons[name]} ({count} of the first {len(voters)} records{'; ' + others if others else ''})"
    return Detected(container_by_name(name), why)


def container_by_name(name: str, options: Mapping[str, Any] | None = None) -> Container:
    """The container that `input.format` names, with its options (`fields` of `mapped_rows`); ConfigError where there is none."""
    classes = container_classes()
    kind = classes.get(name)
    if kind is None or kind is Unknown:
        known = [*(other for other in classes if other != Unknown.name), CSV]
        raise ConfigError(
            [
                Problem(
                    ("input", "format"), f"no log format {name!r}; there are {', '.join(known)}", nearest(name, known)
                )
            ]
        )
    try:
        return kind(**(options or {}))
    except TypeError:
        given = ", ".join(sorted(options or {}))
        raise ConfigError([Problem(("input",), f"the log format {name!r} takes no options {given}")]) from None
