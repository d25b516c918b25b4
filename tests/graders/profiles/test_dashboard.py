"""Every field and rule of the dashboard's page on evaluator types: the five deterministic ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graders import ConfigError, evaluate
from graders.configured import configure
from graders.matching import MatchLimits


def dashboard(output: str | None, reference: str | None = None, **evaluator: Any) -> str:
    return evaluate(evaluator, {"output": output, "reference": reference}, profile="dashboard").status.value


class TestExactMatch:
    def test_compares_the_output_with_the_reference_as_text(self) -> None:
        assert dashboard("a", "a", type="exact") == "pass"
        assert dashboard('{"a":1}', '{"a": 1}', type="exact") == "fail"

    def test_trim_whitespace(self) -> None:
        assert dashboard("billing\n", "billing", type="exact", trimWhitespace=True) == "pass"
        assert dashboard("billing\n", "billing", type="exact", trimWhitespace=False) == "fail"

    def test_ignore_case(self) -> None:
        assert dashboard("Billing", "billing", type="exact", ignoreCase=True) == "pass"
        assert dashboard("Billing", "billing", type="exact", ignoreCase=False) == "fail"

    def test_neither_option_removes_punctuation_or_rewrites(self) -> None:
        for output in ("billing.", "the billing", "billing billing"):
            assert dashboard(output, "billing", type="exact", trimWhitespace=True, ignoreCase=True) == "fail"

    def test_the_ticket_routing_example(self) -> None:
        options: dict[str, Any] = {"type": "exact", "trimWhitespace": True, "ignoreCase": False}
        outputs = ("billing\n", "Billing", "billing.")
        assert [dashboard(output, "billing", **options) for output in outputs] == ["pass", "fail", "fail"]

    def test_a_missing_reference_is_skipped(self) -> None:
        assert dashboard("", None, type="exact") == "skipped"


class TestContains:
    TEXTS = ("guarantee", "refund")

    @pytest.mark.parametrize(
        ("match", "forbidden", "output", "wanted"),
        [
            ("all", False, "guarantee and refund", "pass"),
            ("all", False, "guarantee", "fail"),
            ("any", False, "guarantee", "pass"),
            ("any", False, "", "fail"),
            ("all", True, "neither", "pass"),
            ("all", True, "a refund", "fail"),
            ("any", True, "a refund", "pass"),
            ("any", True, "guarantee and refund", "fail"),
            ("all", True, "", "pass"),
        ],
    )
    def test_match_and_forbidden(self, match: str, forbidden: bool, output: str, wanted: str) -> None:
        assert dashboard(output, type="contains", texts=[*self.TEXTS], match=match, forbidden=forbidden) == wanted

    def test_ignore_case(self) -> None:
        assert dashboard("A REFUND", type="contains", texts=["refund"], ignoreCase=True) == "pass"
        assert dashboard("A REFUND", type="contains", texts=["refund"], ignoreCase=False) == "fail"

    def test_the_support_address_example(self) -> None:
        evaluator: dict[str, Any] = {"type": "contains", "texts": ["support@example.com"], "forbidden": False}
        assert dashboard("Write to support@example.com.", **evaluator) == "pass"
        assert dashboard("Write to supportXexample.com.", **evaluator) == "fail"

    def test_any_with_forbidden_is_warned_of(self) -> None:
        evaluator: dict[str, Any] = {"type": "contains", "texts": ["a", "b"], "match": "any", "forbidden": True}
        assert configure(evaluator, profile="dashboard").warnings

    @pytest.mark.parametrize(
        ("fields", "path"),
        [
            ({}, "texts"),
            ({"texts": []}, "texts"),
            ({"texts": [""]}, "texts"),
            ({"texts": ["a"], "match": "some"}, "match"),
            ({"texts": ["a"], "forbidden": "no"}, "forbidden"),
            ({"texts": ["a"], "ignorecase": True}, "ignorecase"),
        ],
    )
    def test_mistakes(self, fields: dict[str, Any], path: str) -> None:
        with pytest.raises(ConfigError, match=f"{path}.*: "):
            dashboard("a", type="contains", **fields)


class TestRegex:
    PATTERN = "^BUG-[0-9]{4}$"

    def test_the_complete_identifier_example(self) -> None:
        for output, wanted in (
            ("BUG-1234", "pass"),
            ("see BUG-1234", "fail"),
            ("BUG-12345", "fail"),
            ("BUG-1234\n", "fail"),
        ):
            assert dashboard(output, type="regex", pattern=self.PATTERN, flags="", shouldMatch=True) == wanted

    def test_without_anchors_a_match_can_be_inside(self) -> None:
        assert dashboard("see BUG-12345 now", type="regex", pattern="BUG-[0-9]{4}") == "pass"

    def test_should_match_false_rejects_matching_outputs(self) -> None:
        evaluator: dict[str, Any] = {"type": "regex", "pattern": "password", "flags": "i", "shouldMatch": False}
        assert dashboard("your Password is", **evaluator) == "fail"
        assert dashboard("hello", **evaluator) == "pass"

    def test_flags(self) -> None:
        assert dashboard("x\nA\ny", type="regex", pattern="^a$", flags="im") == "pass"
        assert dashboard("a\nb", type="regex", pattern="a.b", flags="s") == "pass"
        assert dashboard("a", type="regex", pattern="a", flags="g") == "pass"

    @pytest.mark.parametrize("flags", ["q", "ii", "u", "y", "I"])
    def test_bad_flags_are_refused(self, flags: str) -> None:
        with pytest.raises(ConfigError, match="flags: "):
            dashboard("a", type="regex", pattern="a", flags=flags)

    def test_patterns_have_a_budget_of_100_ms(self) -> None:
        grader: Any = configure({"type": "regex", "pattern": "a"}, profile="dashboard").grader
        assert grader.search.pattern.limits == MatchLimits()
        assert grader.search.pattern.limits.cpu_ms == 100

    def test_a_stopped_match_is_an_error_not_a_failed_check(self) -> None:
        for should_match in (True, False):
            evaluator: dict[str, Any] = {"type": "regex", "pattern": "a", "shouldMatch": should_match}
            assert dashboard("a" * 1_048_577, **evaluator) == "error"

    def test_mistakes(self) -> None:
        with pytest.raises(ConfigError, match="pattern: not a pattern of the ecma dialect"):
            dashboard("a", type="regex", pattern="(")
        with pytest.raises(ConfigError, match="pattern: this field is required"):
            dashboard("a", type="regex")
        with pytest.raises(ConfigError, match=r'shouldmatch: .*"shouldMatch"'):
            dashboard("a", type="regex", pattern="a", shouldmatch=True)


class TestJsonSchema:
    SCHEMA = json.dumps({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}})

    def test_the_output_must_parse_and_validate(self) -> None:
        for output, wanted in (('{"id": "a"}', "pass"), ('{"id": 1}', "fail"), ("{}", "fail"), ("{id: a}", "fail")):
            assert dashboard(output, type="json_schema", schema=self.SCHEMA) == wanted

    def test_markdown_fences_are_not_json(self) -> None:
        assert dashboard('```json\n{"id": "a"}\n```', type="json_schema", schema=self.SCHEMA) == "fail"

    def test_the_draft_is_7(self) -> None:
        schema = json.dumps({"prefixItems": [{"type": "string"}], "dependencies": {"a": ["b"]}})
        assert dashboard("[1]", type="json_schema", schema=schema) == "pass"
        assert dashboard('{"a": 1}', type="json_schema", schema=schema) == "fail"

    @pytest.mark.parametrize(
        "schema", ["{not json", '{"type": "strng"}', "[]", '{"minimum": NaN}', "", 5, None, {"a": 1}]
    )
    def test_schema_is_a_json_encoded_schema(self, schema: Any) -> None:
        with pytest.raises(ConfigError, match="schema"):
            dashboard("1", type="json_schema", schema=schema)


class TestLength:
    def test_bounds_are_optional_and_inclusive(self) -> None:
        assert [dashboard("x" * n, type="length", min=2, max=3) for n in (1, 2, 3, 4)] == [
            "fail",
            "pass",
            "pass",
            "fail",
        ]
        assert dashboard("x", type="length", min=1) == "pass"
        assert dashboard("x", type="length", max=1) == "pass"

    def test_characters_count_code_points(self) -> None:
        assert dashboard("😀é", type="length", unit="characters", min=2, max=2) == "pass"

    def test_words_are_split_on_whitespace(self) -> None:
        assert dashboard("  a\tb\n c ", type="length", unit="words", min=3, max=3) == "pass"

    def test_the_release_note_example(self) -> None:
        assert dashboard("w " * 60, type="length", max=60, unit="words") == "pass"
        assert dashboard("w " * 61, type="length", max=60, unit="words") == "fail"

    @pytest.mark.parametrize(
        "fields", [{}, {"min": 10, "max": 5}, {"max": "60"}, {"max": 1, "unit": "tokens"}, {"max": -1}]
    )
    def test_mistakes(self, fields: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            dashboard("a", type="length", **fields)


class TestPage:
    def test_there_are_seven_evaluator_types(self) -> None:
        from graders.profiles import translations

        names = {"exact", "contains", "regex", "json_schema", "length", "llm_score", "llm_checklist"}
        assert set(translations("dashboard")) == names

    @pytest.mark.parametrize("scoring_method", ["expected", "human_review", "llm_judge"])
    def test_the_management_apis_scoring_methods_are_no_types(self, scoring_method: str) -> None:
        with pytest.raises(ConfigError, match="type: "):
            dashboard("a", type=scoring_method)

    def test_judge_types_set_route_temperature_and_tokens(self) -> None:
        levels = [{"score": 0, "description": "no"}, {"score": 1, "description": "yes"}]
        judges: dict[str, dict[str, Any]] = {
            "llm_score": {"criterion": "Polite?", "levels": levels, "threshold": 1},
            "llm_checklist": {"items": ["greets"], "match": "all"},
        }
        for name, fields in judges.items():
            common = {"modelRouteId": "r", "temperature": 0, "maxTokens": 300}
            configured = configure({"type": name, **fields, **common}, profile="dashboard")
            assert (configured.grader.config.route, configured.grader.config.max_tokens) == ("r", 300)
