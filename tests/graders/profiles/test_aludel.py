"""Every field and rule of Aludel's page on regex assertions, and of its other text assertions."""

from __future__ import annotations

from typing import Any

import pytest

from graders import ConfigError, Score, Status, evaluate
from graders.configured import configure, configure_all
from graders.matching import MatchLimits
from schemas.score import ErrorType


def aludel(assertion: dict[str, Any], output: str | None) -> Score:
    return evaluate(assertion, {"output": output}, profile="aludel")


def regex(value: Any, output: str) -> str:
    return aludel({"type": "regex", "value": value}, output).status.value


def result_view(assertion: dict[str, Any], score: Score) -> dict[str, Any]:
    """Aludel's view of a row, as the README shows it."""
    return {
        "type": assertion["type"],
        "passed": score.status is Status.PASS,
        "score": 100.0 * (score.score or 0.0),
        "evaluator": {"status": "error" if score.status is Status.ERROR else "completed"},
    }


class TestAssertionFormat:
    def test_the_page_example(self) -> None:
        assert regex("(?i)confidence: \\d+%", "so: Confidence: 92% sure") == "pass"

    def test_the_elixir_example(self) -> None:
        assert regex("(?i)^confidence: \\d+%$", "Confidence: 92%") == "pass"

    def test_inline_options_are_supported_anywhere(self) -> None:
        assert regex("foo(?i)bar", "fooBAR") == "pass"
        assert regex("foo(?i)bar", "FOOBAR") == "fail"

    def test_a_match_scores_100_and_a_non_match_0(self) -> None:
        assertion = {"type": "regex", "value": "a"}
        assert result_view(assertion, aludel(assertion, "a"))["score"] == 100.0
        failed = aludel(assertion, "b")
        assert (result_view(assertion, failed)["score"], failed.explanation) == (
            0.0,
            "✘ output does not match pattern /a/",
        )

    @pytest.mark.parametrize("value", ["a++b", "(?>a)b", "(a)(?1)", r"\Aa\z", "(?P<n>a)", "(?<n>a)", "[[:alpha:]]"])
    def test_pcre_syntax(self, value: str) -> None:
        assert regex(value, "aab" if "b" in value else "aa" if "1" in value else "a") == "pass"

    def test_dollar_also_matches_before_a_final_newline(self) -> None:
        assert regex("^BUG-[0-9]{4}$", "BUG-1234\n") == "pass"


class TestSaveTime:
    def test_invalid_patterns_are_rejected_before_anything_is_read(self) -> None:
        with pytest.raises(ConfigError, match="value: not a pattern of the pcre dialect"):
            configure({"type": "regex", "value": "("}, profile="aludel")

    @pytest.mark.parametrize("assertion_type", ["regex", "contains", "not_contains", "exact_match"])
    @pytest.mark.parametrize("fields", [{}, {"value": ""}, {"value": "  "}, {"value": 5}, {"value": None}])
    def test_value_is_a_text_that_is_not_blank(self, assertion_type: str, fields: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="value: "):
            configure({"type": assertion_type, **fields}, profile="aludel")

    def test_unknown_fields_and_types(self) -> None:
        with pytest.raises(ConfigError, match="flags: unknown field"):
            configure({"type": "regex", "value": "a", "flags": "i"}, profile="aludel")
        with pytest.raises(ConfigError, match=r'type: .*"not_contains"'):
            configure({"type": "not_contain", "value": "a"}, profile="aludel")


class TestResourceLimits:
    def test_patterns_are_limited_to_4_kib(self) -> None:
        score = aludel({"type": "regex", "value": "a" * 4097}, "a")
        assert (score.error_type, score.details) == (ErrorType.REGEX_RESOURCE_LIMIT, {"limit": "pattern_size"})

    def test_pattern_bytes_count(self) -> None:
        assert regex("é" * 2049, "é") == "error"

    def test_output_is_limited_to_1_mib(self) -> None:
        assert regex("a", "a" * 1_048_576) == "pass"
        assert regex("a", "a" * 1_048_577) == "error"

    def test_an_oversized_output_is_rejected_not_truncated(self) -> None:
        score = aludel({"type": "regex", "value": "^a"}, "a" * 1_048_577)
        assert (score.passed, score.details) == (None, {"limit": "subject_size"})

    def test_work_is_bounded(self) -> None:
        score = aludel({"type": "regex", "value": r"^(a+)+\1$"}, "a" * 60 + "b")
        assert score.status.value in ("error", "fail")

    def test_each_match_has_a_wall_clock_ceiling_of_250_ms(self) -> None:
        grader: Any = configure({"type": "regex", "value": "a"}, profile="aludel").grader
        assert grader.search.pattern.limits == MatchLimits(wall_ms=250)

    def test_directives_cannot_raise_the_limits(self) -> None:
        with pytest.raises(ConfigError, match="value: "):
            configure({"type": "regex", "value": "(*LIMIT_MATCH=100000000)a"}, profile="aludel")

    def test_a_limit_is_a_failed_assertion_whose_evaluator_is_in_error(self) -> None:
        assertion = {"type": "regex", "value": "a" * 4097}
        view = result_view(assertion, aludel(assertion, "a"))
        assert view == {"type": "regex", "passed": False, "score": 0.0, "evaluator": {"status": "error"}}

    def test_a_negative_result_has_a_completed_evaluator(self) -> None:
        assertion = {"type": "regex", "value": "a"}
        assert result_view(assertion, aludel(assertion, "b"))["evaluator"] == {"status": "completed"}

    def test_later_assertions_go_on(self) -> None:
        assertions = [{"type": "regex", "value": "a" * 4097}, {"type": "regex", "value": "a"}]
        assert [aludel(one, "a").status.value for one in assertions] == ["error", "pass"]

    def test_output_stays_out_of_the_error(self) -> None:
        score = aludel({"type": "regex", "value": "a"}, "secret" * 200_000)
        assert "secret" not in repr(score)


class TestOtherAssertions:
    def test_contains_is_a_case_sensitive_literal(self) -> None:
        assert aludel({"type": "contains", "value": "a.c"}, "xa.cx").status.value == "pass"
        assert aludel({"type": "contains", "value": "a.c"}, "abc").status.value == "fail"
        assert aludel({"type": "contains", "value": "mars"}, "Mars").status.value == "fail"

    def test_not_contains_passes_on_empty_output(self) -> None:
        assert aludel({"type": "not_contains", "value": "error"}, "").status.value == "pass"
        assert aludel({"type": "not_contains", "value": "error"}, "an error").status.value == "fail"

    def test_exact_match_normalises_nothing(self) -> None:
        for output, wanted in (("Mars", "pass"), ("Mars\n", "fail"), ("mars", "fail"), (" Mars", "fail")):
            assert aludel({"type": "exact_match", "value": "Mars"}, output).status.value == wanted

    def test_types_are_canonical_in_the_row(self) -> None:
        names = {"not_contains": "not-contains", "exact_match": "exact", "contains": "contains", "regex": "regex"}
        for foreign, canonical in names.items():
            assert aludel({"type": foreign, "value": "a"}, "a").grader_type == canonical

    def test_a_suite_of_assertions(self) -> None:
        configured = configure_all(
            [{"type": "regex", "value": "a"}, {"type": "contains", "value": "a"}], profile="aludel"
        )
        assert [one.profile for one in configured] == ["aludel", "aludel"]
