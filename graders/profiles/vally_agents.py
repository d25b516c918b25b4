"""vally's graders of what an agent did: tool calls, skills, events, budgets, loops, health, diffs and metrics.

Most options have the same names here and are passed on, to be checked by the canonical grader. What differs:

| vally | here |
|---|---|
| patterns are JavaScript's | `dialect: ecma` |
| `tool-calls`, `skill-invocation`, `system-event`: `required`, `disallowed` | `require`, `forbid` |
| `error-count` counts error events | `of: events` |
| `completed`, `exit-success` | `meaning: documented`, the default |
| `diff-not-contains` | `diff-contains` with `negate` |
| `custom-metrics` reads a file of the workspace | what the log carries as `custom_metrics` |
| `file-*`, `run-command`, `program`, `pairwise` | refused: stored logs hold no workspace to look into |
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from graders.errors import ConfigError, Problem, nearest
from graders.profiles import Translation
from graders.profiles.fields import Fields

_OPERATORS: Mapping[str, str] = {
    "==": "equals", "=": "equals", "eq": "equals", "equals": "equals", "equal": "equals",
    "!=": "not_equals", "ne": "not_equals", "neq": "not_equals", "not_equals": "not_equals",
    ">=": "min", "gte": "min", "ge": "min", "min": "min", "at_least": "min",
    "<=": "max", "lte": "max", "le": "max", "max": "max", "at_most": "max",
    ">": "above", "gt": "above", "greater_than": "above",
    "<": "below", "lt": "below", "less_than": "below",
}  # fmt: skip
_CONDITIONS = ("equals", "not_equals", "min", "max", "above", "below")
_DEFAULT_METRICS_FILE = "custom_metrics.json"

_NO_WORKSPACE = "looks into the live workspace, which stored logs do not hold"
_REFUSED: Mapping[str, str] = {
    **{
        f"file-{negation}{kind}": "check the diff with `diff-contains`, or the call that wrote it with `tool-calls`"
        for kind in ("exists", "contains", "matches")
        for negation in ("", "not-")
    },
    "run-command": "check what the agent ran itself with `tool-calls` (`command`, `result`), or `custom-metrics`",
    "program": "write a grader of your own (`gradebeam new-grader NAME`): it gets the whole trajectory",
}


def passed_on(config: dict[str, Any], *, canonical_type: str, **fixed: Any) -> dict[str, Any]:
    """The same options under the same names, and what vally means without saying."""
    for name in ("type", *fixed):
        if name in config:
            raise ConfigError([Problem((name,), "unknown field", nearest(name, ("tools", "max")))])
    return {"type": canonical_type, **config, **fixed}


def lists(config: dict[str, Any], *, canonical_type: str, **fixed: Any) -> dict[str, Any]:
    """`required` and `disallowed` by our names."""
    for name in ("require", "forbid"):
        if name in config:
            raise ConfigError([Problem((name,), "unknown field", 'did you mean "required" or "disallowed"?')])
    renamed = {"required": "require", "disallowed": "forbid"}
    return passed_on(
        {renamed.get(key, key): value for key, value in config.items()}, canonical_type=canonical_type, **fixed
    )


def nothing(config: dict[str, Any], *, canonical_type: str) -> dict[str, Any]:
    """A grader without options."""
    Fields(config).done()
    return {"type": canonical_type}


def diff(config: dict[str, Any], *, canonical_type: str, negated: bool = False) -> dict[str, Any]:
    """`{pattern or value, turn, negate}`."""
    fields = Fields(config)
    canonical: dict[str, Any] = {"type": canonical_type}
    if canonical_type == "diff-contains":
        canonical["dialect"] = "ecma"
        for name in ("pattern", "value"):
            if fields.has(name):
                canonical[name] = fields.text(name)
    if fields.has("turn"):
        canonical["turn"] = fields.whole("turn")
    negate = fields.flag("negate")
    if negated and negate:
        fields.problem("negate", "the type is negated already", "leave one of the two negations out")
    canonical["negate"] = negate or negated
    fields.done()
    return canonical


def custom_metrics(config: dict[str, Any]) -> dict[str, Any]:
    """`{assertions: [{metric, equals | min | max … or operator and value}], path}`."""
    fields = Fields(config)
    path = fields.text("path")
    if path not in (None, _DEFAULT_METRICS_FILE):
        fields.problem("path", "stored logs carry one set of custom metrics, not files", "leave it out")
    assertions = fields.anything("assertions", required=True)
    fields.done()
    if not isinstance(assertions, list):
        raise ConfigError("must be a list", ("assertions",))
    return {
        "type": "custom-metrics",
        "assertions": [_assertion(assertion, place) for place, assertion in enumerate(assertions)],
    }


def _assertion(assertion: Any, place: int) -> dict[str, Any]:
    where = ("assertions", place)
    if not isinstance(assertion, Mapping):
        raise ConfigError("must be an object", where)
    if "operator" not in assertion:
        return dict(assertion)
    operator = assertion["operator"]
    if operator not in _OPERATORS:
        suggestion = nearest(str(operator), _OPERATORS) or "one of " + ", ".join(_CONDITIONS)
        raise ConfigError([Problem((*where, "operator"), f"unknown operator {operator!r}", suggestion)])
    expected = [key for key in ("value", "expected") if key in assertion]
    if len(expected) != 1:
        raise ConfigError("give the expected value as `value` or as `expected`", where)
    rest = {key: value for key, value in assertion.items() if key not in ("operator", expected[0])}
    return {**rest, _OPERATORS[operator]: assertion[expected[0]]}


def refused(config: dict[str, Any], *, foreign_type: str) -> dict[str, Any]:
    """A type that needs what logs do not hold.

    Raises:
        ConfigError: always, with what to use instead.
    """
    raise ConfigError([Problem(("type",), f"{foreign_type} {_NO_WORKSPACE}", _REFUSED[foreign_type])])


def pairwise(config: dict[str, Any]) -> dict[str, Any]:
    """Removed from vally's graders in 0.13.

    Raises:
        ConfigError: always.
    """
    message = "pairwise compares two trajectories, and a run grades each by itself"
    raise ConfigError([Problem(("type",), message, "grade both with the same suite and compare the runs")])


TRANSLATIONS: dict[str, Translation] = {
    "tool-calls": partial(lists, canonical_type="tool-calls", dialect="ecma"),
    "skill-invocation": partial(lists, canonical_type="skill-invocation"),
    "system-event": partial(lists, canonical_type="system-event"),
    "assistant-contains-tool-output": partial(
        passed_on, canonical_type="assistant-contains-tool-output", dialect="ecma"
    ),
    "token-budget": partial(passed_on, canonical_type="token-budget", of="total"),
    "wall-time": partial(passed_on, canonical_type="wall-time"),
    "tool-call-count": partial(passed_on, canonical_type="tool-call-count", dialect="ecma"),
    "step-count": partial(passed_on, canonical_type="step-count", dialect="ecma"),
    "turn-count": partial(passed_on, canonical_type="turn-count"),
    "error-count": partial(passed_on, canonical_type="error-count", of="events"),
    "max-repeat": partial(passed_on, canonical_type="max-repeat", dialect="ecma"),
    "loop-outcome": partial(passed_on, canonical_type="loop-outcome", dialect="ecma"),
    "completed": partial(nothing, canonical_type="completed"),
    "exit-success": partial(nothing, canonical_type="exit-success"),
    "diff-contains": partial(diff, canonical_type="diff-contains"),
    "diff-not-contains": partial(diff, canonical_type="diff-contains", negated=True),
    "diff-empty": partial(diff, canonical_type="diff-empty"),
    "custom-metrics": custom_metrics,
    "pairwise": pairwise,
    **{name: partial(refused, foreign_type=name) for name in _REFUSED},
}
