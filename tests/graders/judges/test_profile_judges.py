"""The judges of the three foreign vocabularies, translated."""

from __future__ import annotations

from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.trajectory import Trajectory
from tests.graders.judges.examples import TRAJECTORY, judge_grader

PROVIDER = "00000000-0000-0000-0000-000000000001"


@pytest.mark.parametrize(
    ("config", "scale", "threshold", "whole"),
    [
        ({}, (1, 5), 3.0, False),
        ({"scoring": "scale_1_10", "threshold": 0.5}, (1, 10), 5.5, False),
        ({"scoring": "binary", "threshold": 1}, (0, 1), 1.0, True),
    ],
)
def test_vallys_scales(config: dict[str, Any], scale: tuple[int, int], threshold: float, whole: bool) -> None:
    grader = judge_grader({"type": "prompt", "config": {"model": "gpt", "prompt": "Be strict.", **config}}, "vally")
    assert (grader.type, grader.config.route) == ("rubric-judge", "gpt")
    assert (grader.config.scale_min, grader.config.scale_max) == scale
    assert (grader.config.threshold, grader.config.whole_numbers) == (threshold, whole)
    assert "Be strict." in grader.question
    shown = grader.requests(TRAJECTORY)[0].messages[1].content
    assert '"transcript":' in shown
    assert '"tool_calls":' in shown


def test_vallys_evidence_and_panel() -> None:
    grader = judge_grader({"type": "panel", "config": {"models": ["a", "b"], "evidence": ["diff"]}}, "vally")
    assert list(grader.routes) == ["a", "b"]
    diff = Trajectory(output="x", extra_json='{"diff": "+ a line"}')
    assert '{"diff":"+ a line"}' in grader.requests(diff)[0].messages[1].content
    for evidence in (["repo"], ["sky"], [], "diff"):
        with pytest.raises(ConfigError):
            configure({"type": "prompt", "config": {"evidence": evidence}}, profile="vally")
    with pytest.raises(ConfigError, match="extra_body"):
        configure({"type": "prompt", "config": {"reasoning_effort": "high"}}, profile="vally")


def test_aludels_judges() -> None:
    rubric = {"type": "rubric_judge", "template": "correctness", "provider_id": PROVIDER, "expected": "Monday"}
    grader = judge_grader(rubric, "aludel")
    assert (grader.config.route, grader.config.reference, grader.config.threshold) == (PROVIDER, "Monday", 80.0)
    assert (grader.config.temperature, grader.config.max_tokens, grader.config.extra_fields) == (0.0, 500, "ignore")
    noul = judge_grader({"type": "typed_judge", "kind": "noul", "question": "Polite?", "threshold": 0.9}, "aludel")
    assert (noul.config.kind, noul.threshold) == ("yes-probability", 90.0)
    for wrong in (
        {**rubric, "rubric": "x"},
        {"type": "rubric_judge", "provider_id": PROVIDER},
        {"type": "rubric_judge", "rubric": " ", "provider_id": PROVIDER},
        {"type": "rubric_judge", "rubric": "x" * 4_001, "provider_id": PROVIDER},
        {"type": "rubric_judge", "rubric": "x"},
        {"type": "typed_judge", "kind": "guess", "question": "x"},
        {"type": "typed_judge", "question": "x"},
        {"type": "typed_judge", "kind": "score", "question": "x", "levels": ["a", "b"]},
        {"type": "typed_judge", "kind": "choice", "question": "x", "choices": {"a": None, "b": None}},
    ):
        with pytest.raises(ConfigError):
            configure(wrong, profile="aludel")


def test_the_dashboards_judges() -> None:
    levels = [{"score": 1, "description": "bad"}, {"score": 5, "description": "good"}]
    called = {"modelRouteId": "r", "temperature": 0.2, "maxTokens": 90}
    entry = {"type": "llm_score", "criterion": "Kind?", "levels": levels, "threshold": 5, **called}
    grader = judge_grader(entry, "dashboard")
    assert (grader.type, grader.config.route, grader.config.threshold) == ("llm-score", "r", 5)
    request = grader.requests(TRAJECTORY)[0]
    assert (request.temperature, request.max_tokens) == (0.2, 90)
    checklist = judge_grader({"type": "llm_checklist", "items": ["a"], "match": "any", **called}, "dashboard")
    assert (checklist.type, checklist.config.match) == ("llm-checklist", "any")
    for missing in ("criterion", "levels", "threshold"):
        with pytest.raises(ConfigError):
            configure({key: value for key, value in entry.items() if key != missing}, profile="dashboard")
