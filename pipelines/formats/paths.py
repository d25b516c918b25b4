"""A small JSONPath: `$.a.b[0]`, `$['a b']`, `a.b`; one place in a value, looked up through JSON inside strings."""

from __future__ import annotations

import re
from typing import Any

from pipelines.formats.values import unwrapped

_STEP = re.compile(r"""\.?([^.\[\]'"$][^.\[\]]*)|\[(-?\d+)\]|\[(['"])(.*?)\3\]""")

Path = tuple[str | int, ...]


def parse_path(text: str) -> Path:
    """The steps of a path; ValueError says what is wrong with it. A plain column name is a path of one step."""
    rest = text.strip()
    if rest.startswith("$"):
        rest = rest[1:]
    steps: list[str | int] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            raise ValueError(f"can't read the path from {rest[position:]!r} on; write it like $.a.b[0] or $['a b']")
        name, index, _, quoted = match.groups()
        steps.append(int(index) if index is not None else quoted if quoted is not None else name)
        position = match.end()
    if not steps:
        raise ValueError("the path names nothing; write it like $.answer")
    return tuple(steps)


def look_up(value: Any, path: Path) -> Any:
    """What stands at `path`, or None."""
    for position, step in enumerate(path):
        if position:
            value = unwrapped(value)
        if isinstance(step, int):
            if type(value) is not list or not -len(value) <= step < len(value):
                return None
            value = value[step]
        elif type(value) is dict:
            if step not in value:
                dotted = ".".join(str(part) for part in path[position:])
                return value.get(dotted)
            value = value[step]
        else:
            return None
    return value
