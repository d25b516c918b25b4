"""How deeply JSON values may be nested, the same on every Python: interpreters differ in where their own recursion ends."""

from __future__ import annotations

from typing import Any

#: Deeper values are refused by name where they are compared. That takes two frames a level, of the thousand that Python has.
MOST_LEVELS = 300


def is_nested_deeper(value: Any, levels: int = MOST_LEVELS) -> bool:
    """Whether objects and arrays stand in each other on more than so many levels; in a value that holds itself they do."""
    level = {id(value): value} if isinstance(value, (dict, list)) else {}
    for _ in range(levels):
        level = {
            id(item): item
            for container in level.values()
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        }
        if not level:
            return False
    return bool(level)


def has_brackets_for(text: str, levels: int = MOST_LEVELS) -> bool:
    """Whether a JSON text can be nested deeper than so many levels at all; most have not the brackets, and need no look at their value."""
    return len(text) > 2 * levels and text.count("{") + text.count("[") > levels
