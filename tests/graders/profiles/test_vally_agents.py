from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from graders.evaluation import evaluate


def status(type_name: str, config: dict[str, Any], **record: Any) -> str:
    return evaluate({"type": type_name, "config": config}, record, profile="vally").status.value


@pytest.mark.parametrize(
    ("type_name", "config", "canonical"),
    [
        ("tool-calls", {"required": ["a"], "disallowed": ["b"]}, "tool-calls"),
        ("skill-invocation", {"required": ["a"]}, "skill-invocation"),
        ("system-event", {"disallowed": ["compaction"]}, "system-event"),
        ("assistant-contains-tool-output", {"tools": ["t"], "pattern": "(a)"}, "assistant-contains-tool-output"),
        ("token-budget", {"max": 5}, "token-budget"),
        ("tool-call-count", {"max": 5, "tools": ["^a"]}, "tool-call-count"),
        ("step-count", {"max": 5}, "step-count"),
        ("turn-count", {"max": 5}, "turn-count"),
        ("error-count", {"max": 5}, "error-count"),
        ("wall-time", {"max": "2m"}, "wall-time"),
        ("max-repeat", {"max": 2, "max_cycle_period": 10}, "max-repeat"),
        ("loop-outcome", {"max_acceptable_retries": 2, "match": "observation"}, "loop-outcome"),
        ("completed", {}, "completed"),
        ("exit-success", {}, "exit-success"),
        ("diff-contains", {"pattern": "a"}, "diff-contains"),
        ("diff-not-contains", {"value": "a", "turn": 1}, "diff-contains"),
        ("diff-empty", {}, "diff-empty"),
        ("custom-metrics", {"assertions": [{"metric": "a", "min": 1.0}]}, "custom-metrics"),
    ],
)
def test_every_type_has_a_canonical_one(type_name: str, config: dict[str, Any], canonical: str) -> None:
    assert configure({"type": type_name, "config": config}, profile="vally").type == canonical


@pytest.mark.parametrize(
    "type_name",
    [
        "file-exists",
        "file-not-exists",
        "file-contains",
        "file-not-contains",
        "file-matches",
        "file-not-matches",
        "run-command",
        "program",
        "pairwise",
    ],
)
def test_what_needs_a_workspace_is_refused_with_a_way_out(type_name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configure({"type": type_name, "config": {"path": "x"}}, profile="vally")
    (problem,) = caught.value.problems
    assert problem.path == ("type",)
    assert problem.suggestion


def test_patterns_are_javascripts() -> None:
    events = [{"type": "tool_call", "data": {"toolName": "٣"}}]
    assert status("tool-calls", {"required": [r"\d"]}, events=events) == "fail"
    assert (
        status("tool-calls", {"required": ["(?i)EDIT"]}, events=[{"type": "tool_call", "data": {"toolName": "edit"}}])
        == "pass"
    )


@pytest.mark.parametrize(
    ("assertion", "outcome"),
    [
        ({"metric": "m", "operator": ">=", "value": 5}, "pass"),
        ({"metric": "m", "operator": "lt", "expected": 5}, "fail"),
        ({"metric": "m", "operator": "==", "value": 5}, "pass"),
        ({"metric": "m", "equals": 6}, "fail"),
    ],
)
def test_custom_metrics_by_operator(assertion: dict[str, Any], outcome: str) -> None:
    assert status("custom-metrics", {"assertions": [assertion]}, custom_metrics={"m": 5}) == outcome


def test_negated_diffs() -> None:
    assert status("diff-not-contains", {"value": "TODO"}, diff="+ TODO") == "fail"
    assert status("diff-not-contains", {"value": "TODO"}, diff="+ done") == "pass"
    assert status("diff-contains", {"value": "TODO", "negate": True}, diff="+ done") == "pass"
    assert status("diff-not-contains", {"value": "TODO"}) == "error"


@pytest.mark.parametrize(
    ("type_name", "config"),
    [
        ("tool-calls", {}),
        ("tool-calls", {"require": ["a"]}),
        ("tool-calls", {"required": ["a"], "dialect": "pcre"}),
        ("tool-calls", {"required": [{"name": "a"}], "disallowed": [{"name": "a"}]}),
        ("tool-call-count", {}),
        ("token-budget", {"max": 5, "of": "input"}),
        ("wall-time", {"max": 5}),
        ("completed", {"meaning": "outcome"}),
        ("diff-contains", {}),
        ("diff-contains", {"value": "a", "pattern": "b"}),
        ("diff-not-contains", {"value": "a", "negate": True}),
        ("custom-metrics", {"assertions": [{"metric": "a", "operator": "~", "value": 1}]}),
        ("custom-metrics", {"assertions": [{"metric": "a", "operator": ">"}]}),
        ("custom-metrics", {"assertions": ["a"]}),
        ("custom-metrics", {"assertions": {}}),
        ("custom-metrics", {"assertions": [{"metric": "a", "min": 1.0}], "path": "../x.json"}),
    ],
)
def test_refuses_a_configuration(type_name: str, config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        configure({"type": type_name, "config": config}, profile="vally")
    assert all(problem.path[0] in ("config", "type") for problem in caught.value.problems if problem.path)
