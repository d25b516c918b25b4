"""Graders: checks of agents' trajectories. Pure: no files, no Beam.

>>> from graders import evaluate
>>> evaluate({"type": "contains", "texts": ["refund"]}, {"output": "Your refund is on its way."}).status.value
'pass'

`graders.roll_up` combines outcomes, `graders.testing.assert_grade` is for test suites. What is not used is not
imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graders.errors import ConfigError as ConfigError
    from graders.evaluation import evaluate as evaluate
    from schemas.score import Evidence as Evidence
    from schemas.score import Score as Score
    from schemas.score import Status as Status

_HOMES = {
    "ConfigError": "graders.errors",
    "evaluate": "graders.evaluation",
    "Evidence": "schemas.score",
    "Score": "schemas.score",
    "Status": "schemas.score",
}
_MODULES = ("roll_up", "testing")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"graders.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
