from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders import ConfigError, Status, roll_up
from graders.attempts import reduce_attempts, status_of
from schemas.score import Score, verdict


def rolled(config: dict[str, Any], **given_: Any) -> str:
    return roll_up.roll_up(config, given_).status.value


class TestScoring:
    SCORES: ClassVar[dict[str, float]] = {"file-exists": 1.0, "output-contains": 0.0}

    def test_is_a_weighted_mean_against_an_inclusive_threshold(self) -> None:
        weights = {"file-exists": 1.0, "output-contains": 0.5}
        result = roll_up.roll_up({"scoring": {"weights": weights, "threshold": 0.7}}, {"grader_scores": self.SCORES})
        assert result.status is Status.FAIL
        assert result.score == pytest.approx(2 / 3)
        assert rolled({"scoring": {"threshold": 0.5}}, grader_scores=self.SCORES) == "pass"

    def test_a_threshold_replaces_the_verdicts(self) -> None:
        assert rolled({"scoring": {"threshold": 0.8}}, grade={"passed": False, "score": 0.9}) == "pass"
        assert rolled({"scoring": {"threshold": 1}}, grade={"passed": True, "score": 0.9}) == "fail"

    def test_without_one_every_grader_must_pass(self) -> None:
        grades = [verdict(True), {"status": "pass", "score": 1.0}, {"passed": False, "score": 0.9}]
        assert rolled({"scoring": {}}, grades=grades) == "fail"
        assert rolled({"scoring": {}}, grades=grades[:2]) == "pass"

    def test_an_error_is_no_zero(self) -> None:
        grade = {"status": "error", "passed": False, "score": 0}
        assert rolled({"scoring": {"threshold": 0.0}}, grade=grade) == "error"
        assert rolled({"scoring": {"threshold": 0.0}}, grades=[grade, verdict(True)]) == "error"

    def test_weights_go_by_the_type_of_a_grade(self) -> None:
        grades = [Score(Status.PASS, score=1.0, grader_type="a"), {"graderType": "b", "passed": False, "score": 0.0}]
        scoring = {"weights": {"a": 3, "b": 1}, "threshold": 0.75}
        assert rolled({"scoring": scoring}, grades=grades) == "pass"

    @pytest.mark.parametrize("scoring", [{"threshold": 2}, {"weights": {"a": -1}}, {"treshold": 1}, {"weights": 5}])
    def test_mistakes(self, scoring: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="scoring"):
            rolled({"scoring": scoring}, grader_scores={})


class TestSampling:
    @pytest.mark.parametrize(
        ("reducer", "attempts", "wanted"),
        [
            ("all", [True, True], "pass"),
            ("all", [True, False], "fail"),
            ("any", [False, True], "pass"),
            ("any", [False, False], "fail"),
            ("majority", [True, True, False], "pass"),
            ("majority", [True, True, False, False], "fail"),
            ("all", [True, None], "error"),
            ("all", [False, None], "fail"),
            ("any", [True, None], "pass"),
            ("any", [False, None], "error"),
            ("majority", [True, True, None], "pass"),
            ("majority", [True, False, None], "error"),
            ("majority", [False, False, None], "fail"),
        ],
    )
    def test_reducers(self, reducer: str, attempts: list[bool | None], wanted: str) -> None:
        assert rolled({"sampling": {"samples": len(attempts), "reducer": reducer}}, attempts=attempts) == wanted

    def test_minimum_pass_rate_is_inclusive(self) -> None:
        sampling = {"samples": 4, "reducer": "minimum_pass_rate", "minimum_pass_rate": 0.5}
        assert rolled({"sampling": sampling}, attempts=[True, True, False, False]) == "pass"
        assert rolled({"sampling": sampling}, attempts=[True, False, False, False]) == "fail"

    def test_missing_attempts_are_errors(self) -> None:
        result = roll_up.roll_up({"sampling": {"samples": 3, "reducer": "majority"}}, {"attempts": [True]})
        assert result.status is Status.ERROR
        assert result.details == {
            "samples": 3,
            "passed": 1,
            "failed": 0,
            "errors": 2,
            "pass_rate": 1.0,
            "representative": 0,
        }

    def test_scores_are_averaged_and_the_latest_agreeing_attempt_stands_for_all(self) -> None:
        attempts = [verdict(True), verdict(False, score=0.5), verdict(True), verdict(False)]
        result = roll_up.roll_up({"sampling": {"samples": 4, "reducer": "any"}}, {"attempts": attempts})
        assert (result.status, result.score, result.details["representative"]) == (Status.PASS, 0.625, 2)

    @pytest.mark.parametrize(
        "sampling",
        [
            {"samples": 0},
            {"samples": 21},
            {"reducer": "most"},
            {"reducer": "minimum_pass_rate"},
            {"minimum_pass_rate": 0.5},
        ],
    )
    def test_mistakes(self, sampling: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="sampling"):
            rolled({"sampling": sampling}, attempts=[])

    def test_too_many_attempts(self) -> None:
        with pytest.raises(ValueError, match="2 attempts of 1 samples"):
            rolled({"sampling": {}}, attempts=[True, True])


class TestMetric:
    @pytest.mark.parametrize(
        ("config", "score", "wanted"),
        [
            ({"metric": "pass@k", "n": 5, "c": 3, "k": 3}, 1.0, "pass"),
            ({"metric": "pass@k", "n": 5, "c": 1, "k": 1, "threshold": 0.2}, 0.2, "pass"),
            ({"metric": "pass@k", "n": 5, "c": 1, "k": 1}, 0.2, "fail"),
            ({"metric": "pass^k", "n": 4, "c": 2, "k": 2, "threshold": 0.25}, 0.25, "pass"),
        ],
    )
    def test_estimates(self, config: dict[str, Any], score: float, wanted: str) -> None:
        result = roll_up.roll_up(config, {})
        assert result.status.value == wanted
        assert result.score == pytest.approx(score)

    @pytest.mark.parametrize(
        "change", [{"c": 6}, {"k": 0}, {"n": 0}, {"k": 6}, {"metric": "pass"}, {"threshold": 2}, {"x": 1}]
    )
    def test_mistakes(self, change: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            roll_up.roll_up({"metric": "pass@k", "n": 5, "c": 3, "k": 3, **change}, {})


class TestSuite:
    def test_an_empty_run_is_failed(self) -> None:
        assert rolled({"suite": {"cases": []}}, results=[]) == "fail"

    def test_all_results_must_pass(self) -> None:
        for results, wanted in (
            (["pass", "passed"], "pass"),
            (["pass", "fail"], "fail"),
            (["pass", "error"], "error"),
            (["fail", "error"], "fail"),
            (["pass", "skipped"], "pass"),
            (["skipped", "skipped"], "fail"),
        ):
            assert rolled({"suite": {"cases": [1, 2]}}, results=results) == wanted

    def test_a_case_without_result_is_an_error(self) -> None:
        assert rolled({"suite": {"cases": ["a", "b"]}}, results=[True]) == "error"


class TestPolicy:
    RESULTS: ClassVar[list[dict[str, Any]]] = [
        {
            "passed": True,
            "metadata": {"priority": "high"},
            "scores": {"tone": 0.9},
            "cost_usd": 0.25,
            "latency_ms": 100,
        },
        {"passed": False, "metadata": {"priority": "low"}, "scores": {"tone": 0.5}, "cost_usd": 0.5, "latency_ms": 300},
    ]

    def policy(self, *rules: dict[str, Any], results: Any = None, **more: Any) -> str:
        numbered = [{"id": f"r{number}", **rule} for number, rule in enumerate(rules)]
        given_ = {"results": self.RESULTS if results is None else results, **more}
        return rolled({"policy": {"schema_version": 1, "rules": numbered}}, **given_)

    @pytest.mark.parametrize(
        ("rule", "wanted"),
        [
            ({"type": "overall_pass_rate", "minimum": 0.5}, "pass"),
            ({"type": "overall_pass_rate", "minimum": 0.51}, "fail"),
            ({"type": "metadata_pass_rate", "metadata": {"priority": "high"}, "minimum": 1}, "pass"),
            ({"type": "metadata_pass_rate", "metadata": {"priority": "low"}, "minimum": 0.1}, "fail"),
            ({"type": "metadata_pass_rate", "metadata": {"priority": "none"}, "minimum": 0}, "error"),
            ({"type": "evaluator_score", "metric": "tone", "minimum": 70}, "pass"),
            ({"type": "evaluator_score", "metric": "tone", "minimum": 70.1}, "fail"),
            ({"type": "evaluator_score", "metric": "other", "minimum": 0}, "error"),
            ({"type": "total_cost_usd", "maximum": 0.75}, "pass"),
            ({"type": "total_cost_usd", "maximum": 0.74}, "fail"),
            ({"type": "average_latency_ms", "maximum": 200}, "pass"),
            ({"type": "average_latency_ms", "maximum": 199}, "fail"),
        ],
    )
    def test_rules(self, rule: dict[str, Any], wanted: str) -> None:
        assert self.policy(rule) == wanted

    def test_missing_evidence_outranks_a_failed_rule(self) -> None:
        failed = {"type": "overall_pass_rate", "minimum": 1}
        unknown = {"type": "evaluator_score", "metric": "other", "minimum": 0}
        assert self.policy(failed, unknown) == "error"
        assert self.policy(failed, {"type": "overall_pass_rate", "minimum": 0}) == "fail"

    def test_no_results_are_no_evidence(self) -> None:
        assert self.policy({"type": "overall_pass_rate", "minimum": 0}, results=[]) == "error"

    def test_an_error_counts_as_neither(self) -> None:
        results = [{"status": "pass"}, {"status": "error"}]
        assert self.policy({"type": "overall_pass_rate", "minimum": 0.5}, results=results) == "pass"
        assert self.policy({"type": "overall_pass_rate", "minimum": 0.6}, results=results) == "error"
        assert (
            self.policy({"type": "overall_pass_rate", "minimum": 0.6}, results=[*results, {"status": "fail"}] * 2)
            == "error"
        )
        assert (
            self.policy({"type": "overall_pass_rate", "minimum": 0.7}, results=[*results, {"status": "fail"}]) == "fail"
        )

    def test_a_sum_with_a_part_missing_is_no_sum(self) -> None:
        rule = {"type": "total_cost_usd", "maximum": 10}
        assert self.policy(rule, results=[{"passed": True, "cost_usd": 1}, {"passed": True}]) == "error"
        assert self.policy(rule, results=[{"passed": True}], summary={"total_cost_usd": 3}) == "pass"

    def test_only_completed_evaluations_of_aludels_results_count(self) -> None:
        evaluations = [
            {"type": "rubric_judge", "score": 90, "evaluator": {"status": "completed"}},
            {"type": "rubric_judge", "score": 0.0, "evaluator": {"status": "error"}},
            {"type": "contains", "score": 0.0},
        ]
        rule = {"type": "evaluator_score", "metric": "rubric_judge", "minimum": 90}
        assert self.policy(rule, results=[{"passed": False, "assertion_results": evaluations}]) == "pass"
        attempts = [{"assertion_results": evaluations}, {"assertion_results": [{"type": "rubric_judge", "score": 80}]}]
        assert self.policy(rule, results=[{"passed": False, "attempts": attempts}]) == "fail"

    @pytest.mark.parametrize(
        "rules",
        [
            [],
            [{"id": "a", "type": "overall_pass_rate"}],
            [{"id": "a", "type": "overall_pass_rate", "minimum": 1.5}],
            [{"id": "a", "type": "overall_pass_rate", "minimum": 1, "maximum": 2}],
            [{"id": " ", "type": "overall_pass_rate", "minimum": 1}],
            [{"id": "a", "type": "metadata_pass_rate", "metadata": {}, "minimum": 1}],
            [{"id": "a", "type": "evaluator_score", "metric": "x", "minimum": 101}],
            [{"id": "a", "type": "total_cost_usd", "maximum": -1}],
            [{"id": "a", "type": "mean", "minimum": 1}],
            [{"id": "a", "type": "total_cost_usd", "maximum": 1}] * 2,
            [{"id": str(i), "type": "total_cost_usd", "maximum": 1} for i in range(51)],
        ],
    )
    def test_mistakes(self, rules: list[dict[str, Any]]) -> None:
        with pytest.raises(ConfigError, match="policy"):
            rolled({"policy": {"schema_version": 1, "rules": rules}}, results=[])

    def test_other_versions_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="schema_version"):
            rolled({"policy": {"schema_version": 2, "rules": [{"id": "a", "type": "total_cost_usd", "maximum": 1}]}})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "exactly one of"),
        ({"scoring": {}, "suite": {"cases": []}}, "exactly one of"),
        ({"scorin": {}}, 'did you mean "scoring"'),
        (5, "an object"),
    ],
)
def test_what_is_no_roll_up(config: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        roll_up.roll_up(config, {})


def test_outcomes_in_any_form() -> None:
    assert [status_of(one) for one in (True, False, None, "passed", "unavailable", Status.SKIPPED)] == [
        Status.PASS,
        Status.FAIL,
        Status.ERROR,
        Status.PASS,
        Status.ERROR,
        Status.SKIPPED,
    ]
    assert status_of({"status": None, "passed": True}) is Status.PASS
    wrongs: list[Any] = [5, "maybe", []]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="an outcome is"):
            status_of(wrong)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([Status.PASS, Status.FAIL, Status.ERROR]), min_size=1, max_size=6),
    st.sampled_from(["all", "any", "majority", "minimum_pass_rate"]),
    st.floats(0, 1),
)
def test_an_error_is_told_exactly_where_it_could_change_the_outcome(
    statuses: list[Status], reducer: Any, rate: float
) -> None:
    def reduced(replacement: Status) -> Status:
        filled = [replacement if status is Status.ERROR else status for status in statuses]
        return reduce_attempts(filled, reducer, rate)

    worst, best = reduced(Status.FAIL), reduced(Status.PASS)
    assert reduce_attempts(statuses, reducer, rate) is (worst if worst is best else Status.ERROR)
