"""Aludel's assertions: flat objects with `type`; its scores are 0..100.

What differs from the canonical graders:

| Aludel | here |
|---|---|
| `regex {value}`: PCRE, 250 ms by the clock | `regex {pattern}`, `dialect: pcre`, `limits: {wall_ms: 250}` |
| pattern ≤ 4 KiB, output ≤ 1 MiB in bytes | the same, the system's own limits |
| `contains {value}`, `not_contains {value}`: case-sensitive | `contains`, `not-contains` with one text |
| `exact_match {value}`: raw comparison | `exact {value}` |
| an empty output satisfies `not_contains` | as ours: an empty text contains nothing |
| `json_*` strip one Markdown fence | `json_fences: strip` |
| score 100.0 or 0.0 | `score` 1.0 or 0.0; ×100 gives Aludel's |
| a limit: failed assertion, `evaluator.status` `error` | status `error`, `error_type` `regex_resource_limit` |
| PCRE's work and depth limits, which `(*LIMIT_MATCH=…)` can't raise | the budget of CPU time, which no verb can raise |

Its check at save time (value present and not blank, pattern compiles) is made here. The other types' differences stand
in the modules that translate them (`aludel_*.py`).
"""

from __future__ import annotations

from typing import Any

from graders.profiles import PASSED_ON, translate_type

#: Canonical field → Aludel's, where they differ.
_NAMES = {"pattern": "value", "texts": "value"}


def translate(entry: dict[str, Any]) -> dict[str, Any]:
    """An Aludel assertion as a canonical grader object.

    Raises:
        ConfigError: with paths into the assertion.
    """
    own = {key: value for key, value in entry.items() if key not in PASSED_ON and key != "type"}
    return translate_type("aludel", entry.get("type"), own) | {key: entry[key] for key in PASSED_ON if key in entry}


def foreign_path(entry: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The place of a canonical field in the assertion."""
    name = _NAMES.get(str(path[0]))
    if name is None or name not in entry:
        return path
    return (name,) if path[0] == "texts" else (name, *path[1:])
