"""When one tool call is another: same tool, and arguments that agree exactly, in part, by name, or not at all."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from graders.json_values import is_subset, key_of
from schemas.trajectory import ToolCall

ArgumentsMode = Literal["exact", "subset", "ignore"]


@dataclass(frozen=True, slots=True)
class Called:
    """A call as it is compared. `malformed` arguments agree with none; `key` stands for arguments compared exactly."""

    name: str
    arguments: Any
    malformed: bool = False
    key: Any = None


def called_of(call: ToolCall) -> Called:
    """A trajectory's call, for comparison. Arguments that are a JSON text inside a JSON text count as what it holds."""
    arguments, problem = call.parsed
    if isinstance(arguments, str):
        arguments, problem = ToolCall(call.name, arguments).parsed
    return Called(call.name, arguments, malformed=problem is not None)


class CallComparison:
    """How arguments are compared, tool by tool.

    1 is 1.0, true is not 1, whole numbers are exact, key order counts for nothing and list order for everything.
    """

    def __init__(
        self,
        default: ArgumentsMode,
        by_tool: Mapping[str, ArgumentsMode | Sequence[str]],
        normalize_unicode: bool = False,
    ) -> None:
        self._default = default
        self._by_tool = dict(by_tool)
        self._normalize = normalize_unicode

    def prepared(self, call: Called) -> Called:
        """The call with what `fits` needs of it; do it once a call."""
        mode = self._by_tool.get(call.name, self._default)
        if mode == "ignore" or call.malformed:
            return call
        arguments = _composed(call.arguments) if self._normalize else call.arguments
        if not isinstance(mode, str):
            chosen = arguments if isinstance(arguments, dict) else {}
            arguments = {name: chosen[name] for name in mode if name in chosen}
        return Called(call.name, arguments, key=None if mode == "subset" else key_of(arguments))

    def fits(self, expected: Called, actual: Called) -> bool:
        """Whether `actual` is the call that `expected` asks for (both prepared)."""
        if expected.name != actual.name:
            return False
        mode = self._by_tool.get(expected.name, self._default)
        if mode == "ignore":
            return True
        if expected.malformed or actual.malformed:
            return False
        if mode == "subset":
            return is_subset(expected.arguments, actual.arguments)
        return bool(expected.key == actual.key)


def _composed(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [_composed(item) for item in value]
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", key): _composed(item) for key, item in value.items()}
    return value
