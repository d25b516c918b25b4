"""vally's grader objects: `{type, name?, config: {…}, weight?}`.

What differs from the canonical graders (everything else is passed on by the same name):

| vally | here |
|---|---|
| patterns are JavaScript's without `u`; a leading `(?ims)` sets flags | `dialect: ecma`, which reads that prefix |
| literal graders ignore case unless `case_sensitive` | `case_sensitive: false` |
| `value` is another name for `substring` | `substring` |
| `negate: true`, or the `-not-` form of a type | the `-not-` form, or `negate` |
| a negated transcript check fails where there is no assistant message | `on_empty: fail`, the default |

The other types' differences stand in the modules that translate them (`vally_*.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graders.errors import ConfigError, Problem, nearest
from graders.profiles import PASSED_ON, translate_type

_TOP = ("type", "config", *PASSED_ON)


def translate(entry: dict[str, Any]) -> dict[str, Any]:
    """A vally object as a canonical one.

    Raises:
        ConfigError: with paths into the vally object (`("config", "pattern")`).
    """
    config = entry.get("config", {})
    unknown = [
        Problem(
            (str(key),),
            "unknown field",
            "a grader's own fields stand under `config`" if not _close(key) else _close(key),
        )
        for key in entry
        if key not in _TOP
    ]
    if config is None:
        config = {}
    if not isinstance(config, Mapping):
        raise ConfigError([*unknown, Problem(("config",), "must be an object")])
    try:
        canonical = translate_type("vally", entry.get("type"), dict(config))
    except ConfigError as error:
        inside = [p if p.path[:1] == ("type",) else p.below("config") for p in error.problems]
        raise ConfigError([*unknown, *inside]) from None
    if unknown:
        raise ConfigError(unknown)
    return canonical | {key: entry[key] for key in PASSED_ON if key in entry}


def foreign_path(entry: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The place of a canonical field in the vally object."""
    config = entry.get("config")
    if path[0] == "substring" and isinstance(config, Mapping) and "substring" not in config and "value" in config:
        return ("config", "value", *path[1:])
    return ("config", *path)


def _close(key: Any) -> str | None:
    return nearest(str(key), _TOP)
