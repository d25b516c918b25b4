"""Foreign vocabularies for graders: one file a system, each translating its objects into canonical ones.

A profile module has `translate(entry) -> dict`: a canonical grader object (`type` and fields). It raises `ConfigError`
with paths into the foreign object. The translations of single types live in modules named `<profile>_<subject>.py` of
this package, each with `TRANSLATIONS: dict[foreign type, function]`; they are found by their name.

Such a function takes the type's own configuration as a fresh dict (vally: the object under `config`; aludel and
dashboard: the object without `type` and the fields that any grader may have, `configured.COMMON_FIELDS`) and gives a
canonical object: `type` and fields. Paths of the `ConfigError` that it raises start at that configuration.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from graders.errors import ConfigError, Problem, nearest

PROFILES = ("vally", "aludel", "dashboard")
Translation = Callable[[dict[str, Any]], dict[str, Any]]

#: Fields that any foreign object may carry beside its system's own; the same as `configured.COMMON_FIELDS`.
PASSED_ON = ("name", "sample", "when", "weight", "required")


def translate(entry: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """A foreign grader object as a canonical one.

    Raises:
        ConfigError: the profile is unknown, or the object is not one of its system's.
    """
    translated: dict[str, Any] = _module(profile).translate(dict(entry))
    return translated


def foreign_path(profile: str, entry: Mapping[str, Any], path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Where in a foreign object the canonical field at `path` comes from; `path` itself where that is not known."""
    if not path or path[0] in ("type", *PASSED_ON):
        return path
    found: tuple[str | int, ...] = _module(profile).foreign_path(dict(entry), path)
    return found


@lru_cache(maxsize=len(PROFILES))
def translations(profile: str) -> Mapping[str, Translation]:
    """All translations of a profile by foreign type, from the modules `<profile>_*.py`.

    Raises:
        ValueError: two modules claim one type.
    """
    found: dict[str, Translation] = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith(f"{profile}_"):
            own = getattr(importlib.import_module(f"{__name__}.{info.name}"), "TRANSLATIONS", {})
            if twice := found.keys() & own.keys():
                raise ValueError(f"{info.name} translates {sorted(twice)} once more")
            found.update(own)
    return found


def translate_type(profile: str, foreign_type: Any, config: dict[str, Any]) -> dict[str, Any]:
    """The canonical object for one foreign type and its configuration.

    Raises:
        ConfigError: the type is missing or not one of the profile's, or its configuration is wrong (paths from
            `config`).
    """
    known = translations(profile)
    if not isinstance(foreign_type, str):
        raise ConfigError(f"a grader of {profile} needs a type (text)", ("type",))
    if foreign_type not in known:
        suggestion = nearest(foreign_type, known) or "its types here are " + ", ".join(sorted(known))
        raise ConfigError([Problem(("type",), f'{profile} has no grader type "{foreign_type}"', suggestion)])
    return known[foreign_type](config)


def _module(profile: str) -> Any:
    if profile not in PROFILES:
        suggestion = nearest(str(profile), PROFILES) or "one of " + ", ".join(PROFILES)
        raise ConfigError([Problem(("profile",), f'unknown profile "{profile}"', suggestion)])
    return importlib.import_module(f"{__name__}.{profile}")
