"""Every field and rule of vally's transcript-matches page, and of its other text graders."""

from __future__ import annotations

from typing import Any

import pytest

from graders import ConfigError, Score, evaluate
from graders.configured import configure
from graders.grader import Grader
from graders.profiles import translations
from tests.graders.records import said


def vally(grader_type: str, record: dict[str, Any], **config: Any) -> Score:
    return evaluate({"type": grader_type, "config": config}, record, profile="vally")


def status(grader_type: str, record: dict[str, Any], **config: Any) -> str:
    return vally(grader_type, record, **config).status.value


def grader_of(grader_type: str) -> type[Grader[Any]]:
    return type(configure({"type": grader_type, "config": {"pattern": "a"}}, profile="vally").grader)


class TestTaxonomyTable:
    """The page's table of properties."""

    def test_determinism_static(self) -> None:
        assert grader_of("transcript-matches").taxonomy.determinism == "static"

    def test_cost_free(self) -> None:
        assert grader_of("transcript-matches").taxonomy.cost == "free"

    def test_reference_free(self) -> None:
        assert grader_of("transcript-matches").taxonomy.reference == "reference-free"

    def test_temporal_scope_trajectory_level(self) -> None:
        assert grader_of("transcript-matches").taxonomy.temporal_scope == "trajectory-level"

    def test_score_kind_code(self) -> None:
        assert grader_of("transcript-matches").taxonomy.score_kind == "code"


class TestConfigTable:
    """The page's table of fields."""

    def test_pattern_is_a_required_string(self) -> None:
        for config in ({}, {"pattern": 5}, {"pattern": None}):
            with pytest.raises(ConfigError, match=r"config\.pattern: "):
                vally("transcript-matches", said("a"), **config)

    def test_negate_is_an_optional_boolean(self) -> None:
        assert status("transcript-matches", said("a"), pattern="a") == "pass"
        assert status("transcript-matches", said("a"), pattern="a", negate=False) == "pass"
        with pytest.raises(ConfigError, match=r"config\.negate: must be true or false"):
            vally("transcript-matches", said("a"), pattern="a", negate="yes")

    def test_negate_passes_when_no_assistant_message_matches(self) -> None:
        assert status("transcript-matches", said("b", "c"), pattern="a", negate=True) == "pass"
        assert status("transcript-matches", said("b", "a"), pattern="a", negate=True) == "fail"

    def test_the_example_of_the_config_section(self) -> None:
        assert status("transcript-matches", said("No, I WILL NOT."), pattern="(?i)i will not") == "pass"


class TestTranscriptMatchesVersusOutputMatches:
    RECORD = said("could you clarify?", "Finished.", output="Finished.")

    def test_output_matches_looks_at_the_final_output_only(self) -> None:
        assert status("output-matches", self.RECORD, pattern="clarify") == "fail"
        assert status("output-matches", self.RECORD, pattern="Finished") == "pass"

    def test_transcript_matches_looks_at_every_assistant_message(self) -> None:
        assert status("transcript-matches", self.RECORD, pattern="clarify") == "pass"

    def test_it_passes_when_any_assistant_message_matches(self) -> None:
        assert status("transcript-matches", said("x", "y", "a"), pattern="a") == "pass"

    def test_other_roles_are_not_looked_at(self) -> None:
        record = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
        assert status("transcript-matches", record, pattern="a") == "fail"


class TestNegatedVariant:
    def test_it_passes_only_when_no_assistant_message_matches(self) -> None:
        for texts, wanted in ((("ok", "fine"), "pass"), (("an error", "fine"), "fail"), (("EXCEPTION",), "fail")):
            assert status("transcript-not-matches", said(*texts), pattern="(?i)error|exception") == wanted

    def test_it_is_equivalent_to_negate_true(self) -> None:
        for texts in ((), ("a",), ("b",), ("b", "a")):
            shorthand = status("transcript-not-matches", said(*texts), pattern="a")
            assert shorthand == status("transcript-matches", said(*texts), pattern="a", negate=True)


class TestEmptyTranscripts:
    @pytest.mark.parametrize(
        ("grader_type", "negate"), [("transcript-not-matches", None), ("transcript-matches", True)]
    )
    def test_negated_checks_fail_with_the_evidence_of_the_page(self, grader_type: str, negate: bool | None) -> None:
        config = {"pattern": "a"} if negate is None else {"pattern": "a", "negate": negate}
        score = vally(grader_type, {"messages": []}, **config)
        assert score.status.value == "fail"
        assert score.explanation == "✘ no assistant messages in transcript to check"

    def test_a_run_with_user_messages_alone_is_empty(self) -> None:
        assert (
            status("transcript-not-matches", {"messages": [{"role": "user", "content": "hi"}]}, pattern="a") == "fail"
        )

    def test_an_empty_assistant_message_is_a_message(self) -> None:
        assert status("transcript-not-matches", said(""), pattern="a") == "pass"

    def test_the_positive_form_fails_too(self) -> None:
        assert status("transcript-matches", {"messages": []}, pattern="a") == "fail"


class TestBehavior:
    def test_it_is_a_search(self) -> None:
        assert status("transcript-matches", said("before a after"), pattern="a") == "pass"

    def test_anchors_require_the_entire_message(self) -> None:
        assert status("transcript-matches", said("done"), pattern="^done$") == "pass"
        assert status("transcript-matches", said("done."), pattern="^done$") == "fail"
        assert status("transcript-matches", said("x\ndone"), pattern="^done$") == "fail"

    def test_dollar_is_the_very_end(self) -> None:
        assert status("transcript-matches", said("done\n"), pattern="^done$") == "fail"

    def test_flag_i_is_case_insensitive(self) -> None:
        assert status("transcript-matches", said("DONE"), pattern="(?i)done") == "pass"
        assert status("transcript-matches", said("DONE"), pattern="done") == "fail"

    def test_flag_m_is_multiline(self) -> None:
        assert status("transcript-matches", said("x\ndone\ny"), pattern="(?m)^done$") == "pass"

    def test_flag_s_is_dot_all(self) -> None:
        assert status("transcript-matches", said("a\nb"), pattern="(?s)a.b") == "pass"
        assert status("transcript-matches", said("a\nb"), pattern="a.b") == "fail"

    def test_flags_ims_combine(self) -> None:
        assert status("transcript-matches", said("x\nHELLO\nWORLD"), pattern="(?ims)^hello.world$") == "pass"

    @pytest.mark.parametrize("pattern", ["(?x)a b", "(?ii)a", "(?u)a", "a(?i)b", "(?i-s)a", "(?P<n>a)", "a++"])
    def test_what_javascript_refuses_is_a_configuration_error(self, pattern: str) -> None:
        with pytest.raises(ConfigError, match=r"config\.pattern: .*at character"):
            vally("transcript-matches", said("a"), pattern=pattern)

    @pytest.mark.parametrize(
        ("pattern", "text", "wanted"),
        [
            (r"\d", "٣", "fail"),
            (r"\bcafé\b", "un café noir", "fail"),
            ("a.b", "a\rb", "fail"),
            ("(?i)straße", "STRASSE", "fail"),
            (r"(?<year>\d{4})", "in 2026", "pass"),
            (r"\Aa", "Aa", "pass"),
            ("[]", "a", "fail"),
        ],
    )
    def test_the_dialect_is_javascripts(self, pattern: str, text: str, wanted: str) -> None:
        assert status("transcript-matches", said(text), pattern=pattern) == wanted


class TestEvidenceExamples:
    def test_match(self) -> None:
        score = vally("transcript-matches", said("I will not"), pattern="(?i)i will not")
        assert score.explanation == "✔ transcript matches pattern /(?i)i will not/"

    def test_no_match(self) -> None:
        score = vally("transcript-matches", said("Sure"), pattern="(?i)i will not")
        assert score.explanation == "✘ transcript does not match pattern /(?i)i will not/"


class TestLiteralGraders:
    @pytest.mark.parametrize("grader_type", ["output-contains", "transcript-contains"])
    def test_case_is_ignored_unless_asked_for(self, grader_type: str) -> None:
        record = said("Say Hello World!")
        assert status(grader_type, record, substring="hello world") == "pass"
        assert status(grader_type, record, substring="hello world", case_sensitive=True) == "fail"

    def test_value_is_another_name(self) -> None:
        assert status("output-contains", said("hello"), value="hello") == "pass"
        with pytest.raises(ConfigError, match=r"config\.value: "):
            vally("output-contains", said("hello"), value="hello", substring="hello")
        with pytest.raises(ConfigError, match=r"config\.value: "):
            vally("output-contains", said("hello"), value="")

    def test_evidence(self) -> None:
        assert vally("output-contains", said("a"), substring="a").explanation == "✔ 'a' found in output"
        assert vally("output-contains", said("b"), substring="a").explanation == "✘ 'a' NOT found in output"

    def test_empty_guard_is_the_transcripts_alone(self) -> None:
        assert status("transcript-not-contains", {"messages": []}, substring="a") == "fail"
        assert status("output-not-contains", {"messages": [], "output": ""}, substring="a") == "pass"
        assert status("output-not-matches", {"messages": [], "output": ""}, pattern="a") == "pass"

    def test_turn_selects_one_message(self) -> None:
        assert status("transcript-contains", said("a", "b"), substring="b", turn=1) == "pass"
        assert status("transcript-contains", said("a", "b"), substring="b", turn=0) == "fail"
        assert status("transcript-matches", said("a", "b"), pattern="b", turn=7) == "error"
        with pytest.raises(ConfigError, match=r"config\.turn: unknown field"):
            vally("output-contains", said("a"), substring="a", turn=0)


class TestObject:
    def test_name_and_weight_stand_at_the_top(self) -> None:
        configured = configure(
            {"type": "output-contains", "name": "greets", "weight": 2, "config": {"substring": "hi"}}, profile="vally"
        )
        assert (configured.name, configured.common.weight, configured.type) == ("greets", 2, "output-contains")

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({"type": "output-contians", "config": {}}, 'type: .*did you mean "output-contains"'),
            ({"config": {}}, "type: "),
            ({"type": "output-contains", "substring": "a"}, "substring: unknown field .*under `config`"),
            ({"type": "output-contains", "config": []}, "config: must be an object"),
            ({"type": "output-contains", "config": {"substring": "a", "negat": True}}, 'config.negat: .*"negate"'),
            ({"type": "output-matches", "config": {"pattern": "a", "value": "a"}}, r"config\.value: unknown field"),
            ({"type": "output-not-contains", "config": {"substring": "a", "negate": False}}, r"config\.negate: "),
        ],
    )
    def test_mistakes_are_told_with_their_path(self, entry: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            configure(entry, profile="vally")

    def test_all_problems_are_told_at_once(self) -> None:
        with pytest.raises(ConfigError) as told:
            configure({"type": "output-matches", "wieght": 1, "config": {"pattern": 1, "negate": 1}}, profile="vally")
        paths = [problem.path for problem in told.value.problems]
        assert paths == [("wieght",), ("config", "pattern"), ("config", "negate")]

    def test_text_types(self) -> None:
        wanted = {
            f"{where}-{no}{how}"
            for where in ("output", "transcript")
            for no in ("", "not-")
            for how in ("contains", "matches")
        }
        assert wanted <= set(translations("vally"))
