"""Verdicts are computed from checked replies; everything else is an error of its own kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graders.errors import ConfigError
from schemas.score import ErrorType, Status
from tests.graders.judges.examples import (
    CHOICE,
    LEVELS,
    LLM_CHECKLIST,
    LLM_SCORE,
    ORDINAL,
    RUBRIC,
    TRAJECTORY,
    YES,
    judge_grader,
    judged,
)

R = {"reasoning": "because"}


@pytest.mark.parametrize(
    ("entry", "reply", "status", "score", "native"),
    [
        (LLM_SCORE, {**R, "level": 1}, "pass", 0.5, 1.0),
        (LLM_SCORE, {**R, "level": 0}, "fail", 0.0, 0.0),
        (LLM_SCORE, {**R, "level": 2.0}, "pass", 1.0, 2.0),
        (LLM_SCORE, {**R, "score": 2}, "pass", 1.0, 2.0),
        ({**LLM_SCORE, "threshold": None}, {**R, "level": 1}, "scored", 0.5, 1.0),
        (LLM_CHECKLIST, {**R, "items": [True, True, True]}, "pass", 1.0, 3.0),
        (
            LLM_CHECKLIST,
            {**R, "items": [{"item": 3, "met": True}, {"item": 1, "met": True}, {"item": 2, "met": False}]},
            "fail",
            2 / 3,
            2.0,
        ),
        ({**LLM_CHECKLIST, "match": "any"}, {**R, "items": [False, True, False]}, "pass", 1 / 3, 1.0),
        ({**LLM_CHECKLIST, "match": "any"}, {**R, "items": [False, False, False]}, "fail", 0.0, 0.0),
        (RUBRIC, {**R, "score": 80}, "pass", 0.8, 80.0),
        (RUBRIC, {**R, "score": 79.9}, "fail", 0.799, 79.9),
        ({**RUBRIC, "scale_min": 1, "scale_max": 5, "threshold": 3}, {**R, "score": 3}, "pass", 0.5, 3.0),
        (YES, {**R, "probability": 0.5}, "pass", 0.5, 50.0),
        ({**YES, "threshold": 0.9}, {**R, "probability": 0.89}, "fail", 0.89, 89.0),
        (CHOICE, {**R, "answer": "safe", "confidence": 0.7}, "pass", 0.7, 70.0),
        ({**CHOICE, "min_confidence": 0.75}, {**R, "answer": "safe", "confidence": 0.7}, "fail", 0.7, 70.0),
        (CHOICE, {**R, "answer": "pii", "confidence": 0.9}, "fail", 0.0, 0.0),
        ({**CHOICE, "expected": None}, {**R, "answer": "pii", "confidence": 0.9}, "scored", 0.9, 90.0),
        ({**ORDINAL, "maximum": "minor"}, {**R, "value": 1.2, "confidence": 1}, "fail", 0.4, 60.0),
        ({**ORDINAL, "maximum": "minor"}, {**R, "value": 1, "confidence": 0.5}, "pass", 0.25, 25.0),
        ({**ORDINAL, "minimum": "minor"}, {**R, "value": 2, "confidence": 1}, "pass", 1.0, 100.0),
        ({**ORDINAL, "expected": "minor"}, {**R, "value": 1.2, "confidence": 1}, "pass", 0.9, 60.0),
        ({**ORDINAL, "expected": "minor"}, {**R, "value": 1.5, "confidence": 1}, "fail", 0.75, 75.0),
        (ORDINAL, {**R, "value": 1, "confidence": 1}, "scored", 0.5, 50.0),
    ],
)
def test_the_verdict_follows_from_the_choice(
    entry: dict[str, Any], reply: dict[str, Any], status: str, score: float, native: float
) -> None:
    row = judged(entry, reply)
    assert (row.status.value, row.explanation, row.error_type) == (status, "because", None)
    assert row.score == pytest.approx(score)
    assert row.native_score == pytest.approx(native)
    assert row.attempts == 1


@pytest.mark.parametrize(
    ("entry", "reply", "kind"),
    [
        (LLM_SCORE, {**R, "level": 3}, "off_menu_level"),
        (LLM_SCORE, {**R, "level": 0.5}, "off_menu_level"),
        (LLM_SCORE, {**R, "level": "1"}, "number_as_text"),
        (LLM_SCORE, {**R, "level": True}, "wrong_type"),
        (LLM_SCORE, {**R, "level": 1, "score": 2}, "contradiction"),
        (LLM_SCORE, '{"reasoning": "a", "level": 1, "level": 2}', "contradiction"),
        (LLM_SCORE, {**R, "level": 0, "passed": True}, "unexpected_field"),
        (LLM_SCORE, {**R}, "missing_field"),
        (LLM_SCORE, {"level": 1}, "missing_field"),
        (LLM_SCORE, {"reasoning": " \n", "level": 1}, "blank_reasoning"),
        (LLM_SCORE, {"reasoning": 5, "level": 1}, "wrong_type"),
        (LLM_SCORE, '{"reasoning": "a", "level": NaN}', "not_a_number"),
        (LLM_SCORE, '{"reasoning": "a", "level": 1e999}', "not_a_number"),
        (LLM_SCORE, "I would say level 2.", "prose"),
        (LLM_SCORE, 'Sure: {"reasoning": "a", "level": 2}', "malformed_json"),
        (LLM_SCORE, '{"reasoning": "a", "level": 2} Done.', "malformed_json"),
        (LLM_SCORE, '{"reasoning": "a", "lev', "malformed_json"),
        (LLM_SCORE, "", "empty"),
        (LLM_SCORE, "  \n ", "empty"),
        (LLM_SCORE, "[1]", "not_an_object"),
        (LLM_SCORE, "[" * 50_000, "prose"),
        (LLM_SCORE, '```json\n```json\n{"reasoning": "a", "level": 2}\n```\n```', "malformed_json"),
        (LLM_CHECKLIST, {**R, "items": [True, True]}, "missing_item"),
        (LLM_CHECKLIST, {**R, "items": [True, True, True, False]}, "extra_item"),
        (LLM_CHECKLIST, {**R, "items": []}, "missing_item"),
        (LLM_CHECKLIST, {**R, "items": [True, True, "true"]}, "wrong_type"),
        (LLM_CHECKLIST, {**R, "items": "all"}, "wrong_type"),
        (LLM_CHECKLIST, {**R, "items": [{"item": 1, "met": True}, {"item": 2, "met": True}]}, "missing_item"),
        (LLM_CHECKLIST, {**R, "items": [{"item": 1, "met": True}, {"item": 1, "met": False}]}, "contradiction"),
        (LLM_CHECKLIST, {**R, "items": [{"item": 1, "met": True}, {"item": 1, "met": True}]}, "extra_item"),
        (LLM_CHECKLIST, {**R, "items": [{"item": 4, "met": True}]}, "extra_item"),
        (LLM_CHECKLIST, {**R, "items": [{"item": "1", "met": True}]}, "number_as_text"),
        (LLM_CHECKLIST, {**R, "items": [{"item": 1, "met": 1}]}, "wrong_type"),
        (RUBRIC, {**R, "score": 101}, "out_of_range"),
        (RUBRIC, {**R, "score": -1}, "out_of_range"),
        (RUBRIC, {**R, "score": "88"}, "number_as_text"),
        (RUBRIC, {**R, "score": None}, "wrong_type"),
        (RUBRIC, '{"reasoning": "a", "score": Infinity}', "not_a_number"),
        ({**RUBRIC, "whole_numbers": True}, {**R, "score": 81.5}, "off_menu_level"),
        (YES, {**R, "probability": 1.01}, "out_of_range"),
        (CHOICE, {**R, "answer": "other", "confidence": 0.9}, "off_menu_level"),
        (CHOICE, {**R, "answer": "Safe", "confidence": 0.9}, "off_menu_level"),
        (CHOICE, {**R, "answer": 0, "confidence": 0.9}, "wrong_type"),
        (CHOICE, {**R, "answer": "safe"}, "missing_field"),
        ({**ORDINAL, "maximum": "minor"}, {**R, "value": 2.5, "confidence": 1}, "out_of_range"),
    ],
)
def test_an_unusable_reply_is_an_error_after_two_repairs(entry: dict[str, Any], reply: Any, kind: str) -> None:
    row = judged(entry, reply)
    assert row.status is Status.ERROR
    assert row.error_type is ErrorType.JUDGE_INVALID_RESPONSE
    assert row.details is not None
    assert row.details["kind"] == kind
    assert (row.passed, row.score, row.native_score, row.attempts) == (None, None, None, 3)


def test_a_repair_shows_the_judge_its_mistake_and_can_succeed() -> None:
    replies = iter(['{"reasoning": "a", "level": 7}', "level 1", '{"reasoning": "a", "level": 1}'])
    asked = []

    def judge(request: Any) -> str:
        asked.append(request)
        return next(replies)

    row = judge_grader(LLM_SCORE).grade_row_with(TRAJECTORY, judge)
    assert (row.status, row.attempts, row.details) == (Status.PASS, 3, {"repairs": 2})
    assert [len(request.messages) for request in asked] == [2, 4, 6]
    assert "must be one of 0, 1, 2" in asked[1].messages[3].content
    assert asked[2].messages[:4] == asked[1].messages
    assert "is not JSON" in asked[2].messages[5].content


def test_one_surrounding_fence_is_forgiven() -> None:
    assert judged(RUBRIC, '```json\n{"reasoning": "a", "score": 88}\n```').status is Status.PASS
    assert judged(RUBRIC, '```\n{"reasoning": "a", "score": 8}\n```').status is Status.FAIL


@pytest.mark.parametrize(
    ("raised", "error_type"),
    [(TimeoutError("the output was: secret"), "judge_timeout"), (RuntimeError("secret"), "judge_unavailable")],
)
def test_a_call_that_raises_is_an_error_without_the_exceptions_text(raised: Exception, error_type: str) -> None:
    row = judged(LLM_SCORE, raised)
    assert row.error_type is not None
    assert row.error_type.value == error_type
    assert "secret" not in repr(row)
    assert row.attempts == 1


def test_missing_evidence_follows_its_policy() -> None:
    silent = replace(TRAJECTORY, output=None)
    assert judged(LLM_SCORE, {**R, "level": 1}, silent).error_type is ErrorType.MISSING_OUTPUT
    assert judged(LLM_SCORE, {**R, "level": 1}, silent, on_missing_output="fail").status is Status.FAIL
    assert judged(LLM_SCORE, {**R, "level": 1}, silent, on_missing_output="skip").status is Status.SKIPPED
    assert judged(LLM_SCORE, {**R, "level": 1}, silent, on_missing_output="ask").status is Status.PASS
    correctness = {"type": "rubric-judge", "template": "correctness"}
    no_reference = replace(TRAJECTORY, reference=None)
    assert judged(correctness, {**R, "score": 90}, no_reference).status is Status.SKIPPED
    assert judged(correctness, {**R, "score": 90}, no_reference, reference="Monday").status is Status.PASS
    faithfulness = {"type": "rubric-judge", "template": "faithfulness"}
    assert judged(faithfulness, {**R, "score": 90}).status is Status.SKIPPED
    retrieved = replace(TRAJECTORY, extra_json='{"documents": ["It arrives on Monday."]}')
    assert judged(faithfulness, {**R, "score": 90}, retrieved).status is Status.PASS


def test_templates_say_their_version() -> None:
    row = judged({"type": "rubric-judge", "template": "safety"}, {**R, "score": 90})
    assert row.details == {"template": "safety", "template_version": 1}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({**LLM_SCORE, "levels": LEVELS[:1]}, "levels"),
        ({**LLM_SCORE, "levels": [LEVELS[0], LEVELS[0]]}, "levels"),
        ({**LLM_SCORE, "threshold": 3}, ""),
        ({**LLM_CHECKLIST, "items": []}, "items"),
        ({**LLM_CHECKLIST, "items": ["a", "a"]}, "items"),
        ({**RUBRIC, "template": "safety"}, ""),
        ({"type": "rubric-judge"}, ""),
        ({**RUBRIC, "threshold": 101}, ""),
        ({**CHOICE, "expected": "other"}, ""),
        ({**CHOICE, "levels": ["a", "b"]}, ""),
        ({**ORDINAL, "minimum": "none", "maximum": "minor"}, ""),
        ({"type": "panel", "rubric": "x", "routes": []}, "routes"),
        ({"type": "panel", "rubric": "x", "routes": ["a"], "min_judges": 2}, ""),
        ({**LLM_SCORE, "max_tokens": 0}, "max_tokens"),
    ],
)
def test_a_wrong_configuration_is_refused(entry: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as refused:
        judge_grader(entry)
    assert str(refused.value.problems[0].path[0] if refused.value.problems[0].path else "") == path
