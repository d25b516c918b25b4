"""The dashboard's evaluators: flat objects with `type` and camelCase fields.

What differs from the canonical graders:

| dashboard | here |
|---|---|
| `exact {trimWhitespace, ignoreCase}`, against the case's reference | `exact {trim, case_sensitive}` without `value` |
| `contains {texts, match, ignoreCase, forbidden: false}` | `contains {texts, match, case_sensitive}` |
| `contains {forbidden: true}`: absence text by text, then `match` | `not-contains`, the same |
| `regex {pattern, flags, shouldMatch}`: JavaScript's, 100 ms | `regex {pattern, flags, negate}`, `dialect: ecma` |
| `json_schema {schema}`: Draft 7 as a JSON text, no fences | `json-schema {schema, draft: 7, json_fences: reject}` |
| `length {min, max, unit}` | `length`, the same fields |

The judges' differences stand in the modules that translate them (`dashboard_*.py`).
"""

from __future__ import annotations

from typing import Any

from graders.profiles import PASSED_ON, translate_type

#: Canonical field → the dashboard's, where they differ.
_NAMES = {"trim": "trimWhitespace", "case_sensitive": "ignoreCase", "negate": "shouldMatch"}


def translate(entry: dict[str, Any]) -> dict[str, Any]:
    """A dashboard evaluator as a canonical grader object.

    Raises:
        ConfigError: with paths into the evaluator.
    """
    own = {key: value for key, value in entry.items() if key not in PASSED_ON and key != "type"}
    return translate_type("dashboard", entry.get("type"), own) | {key: entry[key] for key in PASSED_ON if key in entry}


def foreign_path(entry: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The place of a canonical field in the evaluator."""
    name = _NAMES.get(str(path[0]))
    return path if name is None or name not in entry else (name, *path[1:])
