from __future__ import annotations

import datetime
import json
import time
from typing import Any, ClassVar

import pytest

from graders import ConfigError, Score, evaluate
from graders.configured import configure
from schemas.score import ErrorType
from tests.graders.records import grade, outputs, statuses

BUG = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string", "pattern": "^BUG-[0-9]{4}$"}, "sev": {"enum": [1, 2, 3]}},
    "additionalProperties": False,
}
#: Backtracks without end on a run of a's and `b1x`; the back reference keeps the linear engine from deciding that.
EXPLODING = r"^c$|^(a|aa)+(?!a)b[0-9]+x\1"


def judged(schema: Any, value: Any, **options: Any) -> Score:
    return evaluate({"type": "json-schema", "schema": schema, **options}, {"output": json.dumps(value)})


def status(schema: Any, value: Any, **options: Any) -> str:
    return judged(schema, value, **options).status.value


def test_passes_what_parses_and_validates() -> None:
    rows = outputs('{"id":"BUG-1234","sev":2}', '{"id":"BUG-1"}', '{"id":"BUG-1234","x":1}', "{}", "no json", "", None)
    wanted = ["pass", "fail", "fail", "fail", "fail", "fail", "error"]
    assert statuses(rows, type="json-schema", schema=BUG) == wanted


@pytest.mark.parametrize(
    ("output", "pointer", "keyword"),
    [
        ('{"id":"BUG-1"}', "/id", "pattern"),
        ('{"id":"BUG-1234","sev":4}', "/sev", "enum"),
        ('{"id":"BUG-1234","x":1}', "/x", "additionalProperties"),
        ("{}", "", "required"),
        ("[]", "", "type"),
        ("{", "", "json"),
    ],
)
def test_details_name_the_first_violation(output: str, pointer: str, keyword: str) -> None:
    (score,) = grade(outputs(output), type="json-schema", schema=BUG)
    assert score.details == {"pointer": pointer, "keyword": keyword}
    assert (score.explanation or "").startswith("✘ output ")


def test_pointers_are_escaped() -> None:
    schema = {"properties": {"a/b": {"items": {"properties": {"~": {"type": "null"}}}}}}
    assert judged(schema, {"a/b": [{}, {"~": 1}]}).details == {"pointer": "/a~1b/1/~0", "keyword": "type"}


def test_quotes_are_bounded() -> None:
    score = judged({"type": "object"}, "x" * 5000)
    assert len(score.explanation or "") < 200


@pytest.mark.parametrize(
    "output", ["NaN", "Infinity", "-Infinity", "1e400", "[1,]", "{'a': 1}", "01", "1 2", "\ufeff1"]
)
def test_json_is_strict(output: str) -> None:
    assert statuses(outputs(output), type="json-schema", schema=True) == ["fail"]


def test_too_deep_json_is_a_limit_not_a_fail() -> None:
    (score,) = grade(outputs("[" * 100_000 + "]" * 100_000), type="json-schema", schema=True)
    assert score.error_type is ErrorType.SCHEMA_RESOURCE_LIMIT


def test_fences() -> None:
    rows = outputs('```json\n{"id":"BUG-1234"}\n```')
    assert statuses(rows, type="json-schema", schema=BUG) == ["fail"]
    assert statuses(rows, type="json-schema", schema=BUG, json_fences="strip") == ["pass"]


def test_numbers_are_exact() -> None:
    big = 12345678901234567890123
    assert status({"minimum": big}, big) == "pass"
    assert status({"minimum": big}, big - 1) == "fail"
    assert status({"const": big}, big + 1) == "fail"
    assert status({"multipleOf": 0.01}, 19.99) == "pass"
    assert status({"multipleOf": 0.1}, 0.35) == "fail"
    assert status({"multipleOf": 3}, 9.0) == "pass"
    assert status({"multipleOf": 1e-300}, 1e300) == "pass"
    configure({"type": "json-schema", "schema": {"minimum": big}})


@pytest.mark.parametrize(
    ("draft", "value", "wanted"), [("4", 1.0, "fail"), ("6", 1.0, "pass"), (None, 1.0, "pass"), ("7", 1.5, "fail")]
)
def test_integers(draft: str | None, value: float, wanted: str) -> None:
    options = {} if draft is None else {"draft": draft}
    assert status({"type": "integer"}, value, **options) == wanted
    assert status({"type": "integer"}, True, **options) == "fail"


class TestDraft:
    PREFIX: ClassVar[dict[str, Any]] = {"prefixItems": [{"type": "string"}]}

    def test_is_7_by_default(self) -> None:
        assert status(self.PREFIX, [1]) == "pass"
        assert status({"dependencies": {"a": ["b"]}}, {"a": 1}) == "fail"

    def test_is_what_the_option_says(self) -> None:
        assert status(self.PREFIX, [1], draft="2020-12") == "fail"
        assert status({"dependencies": {"a": ["b"]}}, {"a": 1}, draft="2020-12") == "pass"
        with pytest.raises(ConfigError, match="draft: "):
            status({}, 1, draft="8")

    def test_is_else_what_the_schema_says(self) -> None:
        named = {"$schema": "https://json-schema.org/draft/2020-12/schema", **self.PREFIX}
        assert status(named, [1]) == "fail"
        assert status(named, [1], draft="7") == "pass"

    def test_a_contradiction_is_warned_of(self) -> None:
        named = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        assert not configure({"type": "json-schema", "schema": named}).warnings
        (warning,) = configure({"type": "json-schema", "schema": named, "draft": "7"}).warnings
        assert warning.path == ("schema", "$schema")
        (unknown,) = configure({"type": "json-schema", "schema": {"$schema": "urn:mine"}}).warnings
        assert unknown.path == ("schema", "$schema")


class TestPatterns:
    def test_are_ecmascripts_and_unanchored(self) -> None:
        assert status({"pattern": "BUG"}, "xxBUGyy") == "pass"
        assert status({"pattern": "^BUG$"}, "BUG\n") == "fail"
        assert status({"pattern": r"^\d$"}, "٣") == "fail"
        assert status({"pattern": "a"}, 5) == "pass"

    def test_an_invalid_one_is_refused_with_its_place(self) -> None:
        with pytest.raises(ConfigError, match=r"schema\.properties\.a\.pattern: not a pattern of the ecma dialect"):
            status({"properties": {"a": {"pattern": "("}}}, {})
        with pytest.raises(ConfigError, match=r"schema\.patternProperties\..*: not a pattern of the ecma dialect"):
            status({"patternProperties": {"(?P<a>b)": {}}}, {})

    def test_one_that_explodes_is_tried_once_for_a_row(self) -> None:
        rows = outputs(json.dumps(["a" * 40 + f"b{n}x" for n in range(1000)]), '["c"]', '["b"]', '[1, "x"]')
        started = time.perf_counter()
        scores = grade(rows, type="json-schema", schema={"items": {"pattern": EXPLODING}}, limits={"cpu_ms": 20})
        spent = time.perf_counter() - started
        assert [score.status.value for score in scores] == ["error", "pass", "fail", "fail"]
        assert scores[0].error_type is ErrorType.REGEX_RESOURCE_LIMIT
        assert scores[0].details == {"limit": "timeout"}
        assert spent < 2.0

    def test_a_batch_of_exploding_rows_ends_with_its_budget(self) -> None:
        rows = outputs(*(json.dumps("a" * 40 + f"b{n}x") for n in range(20)), '"c"')
        limits = {"cpu_ms": 5, "timeouts_per_batch": 3}
        scores = grade(rows, type="json-schema", schema={"pattern": EXPLODING}, limits=limits)
        assert {score.status.value for score in scores[:20]} == {"error"}
        reasons = [score.details["limit"] for score in scores if score.details]
        assert (reasons.count("timeout"), reasons.count("grader_budget")) == (3, len(reasons) - 3)

    def test_limits_may_be_lowered_and_are_told(self) -> None:
        score = judged({"items": {"pattern": "a"}}, ["a" * 11, "a"], limits={"subject_bytes": 10})
        assert (score.error_type, score.details) == (ErrorType.REGEX_RESOURCE_LIMIT, {"limit": "subject_size"})
        assert "aaa" not in repr(score)
        with pytest.raises(ConfigError, match=r"limits\.cpu_ms"):
            status({}, 1, limits={"cpu_ms": 1000})

    @pytest.mark.parametrize(
        ("schema", "value", "wanted"),
        [
            ({"anyOf": [{"pattern": "a"}, {"type": "string"}]}, "a" * 11, "pass"),
            ({"anyOf": [{"pattern": "a"}, {"type": "null"}]}, "a" * 11, "error"),
            ({"allOf": [{"pattern": "a"}, {"type": "null"}]}, "a" * 11, "fail"),
            ({"not": {"pattern": "a"}}, "a" * 11, "error"),
            ({"oneOf": [{"pattern": "a"}, {}, {"type": "string"}]}, "a" * 11, "fail"),
            ({"oneOf": [{"pattern": "a"}, {}]}, "a" * 11, "error"),
            ({"if": {"pattern": "a"}, "then": False, "else": False}, "a" * 11, "fail"),
            ({"if": {"pattern": "a"}, "then": True, "else": {}}, "a" * 11, "pass"),
            ({"if": {"pattern": "a"}, "then": False}, "a" * 11, "error"),
            ({"contains": {"pattern": "a"}}, ["a" * 11, "a"], "pass"),
            ({"contains": {"pattern": "a"}}, ["a" * 11, "b"], "error"),
            ({"contains": {"pattern": "a"}}, ["b"], "fail"),
            ({"patternProperties": {"a": {"type": "null"}}}, {"a" * 11: None}, "pass"),
            ({"patternProperties": {"a": {"type": "null"}}}, {"a" * 11: 1}, "error"),
            ({"patternProperties": {"a": {"type": "null"}}}, {"a": 1, "a" * 11: 1}, "fail"),
            ({"patternProperties": {"a": {}}, "additionalProperties": False}, {"a" * 11: 1}, "error"),
            ({"patternProperties": {"a": {}}, "additionalProperties": False}, {"a" * 11: 1, "b": 1}, "fail"),
            ({"propertyNames": {"pattern": "a"}}, {"a" * 11: 1}, "error"),
            ({"propertyNames": {"pattern": "a"}}, {"a" * 11: 1, "b": 1}, "fail"),
            ({"items": [{"pattern": "a"}], "additionalItems": {"type": "string"}}, ["a" * 11, 1], "fail"),
            ({"items": {"pattern": "a"}}, ["a" * 11, "b"], "fail"),
            ({"dependencies": {"x": {"properties": {"y": {"pattern": "a"}}}}}, {"x": 1, "y": "a" * 11}, "error"),
        ],
    )
    def test_what_is_open_decides_only_where_it_could(self, schema: Any, value: Any, wanted: str) -> None:
        assert status(schema, value, limits={"subject_bytes": 10}) == wanted


class TestReferences:
    def test_stay_in_the_document(self) -> None:
        for target in ("#/definitions/t", "#t", "http://example.test/s#/definitions/t"):
            schema = {
                "$id": "http://example.test/s",
                "definitions": {"t": {"$id": "#t", "type": "string"}},
                "properties": {"a": {"$ref": target}},
            }
            assert [status(schema, {"a": value}) for value in ("x", 1)] == ["pass", "fail"]

    def test_siblings_are_ignored_until_draft_7_and_warned_of(self) -> None:
        schema = {"definitions": {"t": {"type": "string"}}, "$ref": "#/definitions/t", "minLength": 5}
        assert status(schema, "ab") == "pass"
        assert status(schema, "ab", draft="2019-09") == "fail"
        (warning,) = configure({"type": "json-schema", "schema": schema}).warnings
        assert warning.path == ("schema", "minLength")

    @pytest.mark.parametrize(
        "target", ["https://example.test/other.json", "other.json", "#/definitions/none", "file:///x"]
    )
    def test_are_never_fetched(self, target: str) -> None:
        with pytest.raises(ConfigError, match=r"schema\.properties\.a\.\$ref: .*is not in the schema"):
            status({"properties": {"a": {"$ref": target}}}, {})

    def test_to_a_meta_schema_need_no_fetching(self) -> None:
        schema = {"$ref": "http://json-schema.org/draft-07/schema#"}
        assert [status(schema, value) for value in ({"type": "string"}, {"type": "strng"})] == ["pass", "fail"]

    def test_to_themselves_describe_trees(self) -> None:
        tree = {"properties": {"c": {"items": {"$ref": "#"}}, "v": {"type": "integer"}}, "required": ["v"]}
        assert status(tree, {"v": 1, "c": [{"v": 2, "c": []}]}) == "pass"
        assert judged(tree, {"v": 1, "c": [{"v": 2, "c": [{}]}]}).details == {
            "pointer": "/c/0/c/0",
            "keyword": "required",
        }

    def test_without_end_are_a_limit(self) -> None:
        for schema in (
            {"$ref": "#"},
            {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
            {
                "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
                "$ref": "#/definitions/a",
            },
        ):
            score = judged(schema, 1)
            assert (score.error_type, score.details) == (ErrorType.SCHEMA_RESOURCE_LIMIT, {"limit": "schema_depth"})

    def test_that_double_at_each_step_are_a_limit(self) -> None:
        steps = {f"s{i}": {"allOf": [{"$ref": f"#/definitions/s{i + 1}"}] * 2} for i in range(60)}
        score = judged({"definitions": {**steps, "s60": {"type": "string"}}, "$ref": "#/definitions/s0"}, "a")
        assert score.error_type is ErrorType.SCHEMA_RESOURCE_LIMIT

    def test_a_limit_on_one_row_leaves_the_others_alone(self) -> None:
        tree = {"properties": {"c": {"$ref": "#"}}, "additionalProperties": False}
        deep: dict[str, Any] = {}
        for _ in range(150):
            deep = {"c": deep}
        rows = outputs(json.dumps(deep), '{"c": {}}', '{"c": {"d": 1}}')
        assert statuses(rows, type="json-schema", schema=tree) == ["error", "pass", "fail"]

    def test_dynamic_ones_need_a_single_resource(self) -> None:
        schema = {"$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}, "v": {"type": "null"}}}
        assert [status(schema, {"c": {"v": v}}, draft="2020-12") for v in (None, 1)] == ["pass", "fail"]
        with pytest.raises(ConfigError, match="dynamicRef across several schema resources"):
            status({**schema, "properties": {"a": {"$id": "http://x.test/", "$dynamicRef": "#n"}}}, {}, draft="2020-12")


class TestConfiguration:
    def test_the_schema_may_be_json_text(self) -> None:
        one, other = (configure({"type": "json-schema", "schema": given}) for given in (BUG, json.dumps(BUG)))
        assert one.grader_hash == other.grader_hash
        assert one.config["schema"] == BUG

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            ({"type": "strng"}, r'schema\.type: not a schema of draft 7: .*did you mean "string"'),
            ({"properties": {"a": {"minimum": "1"}}}, r"schema\.properties\.a\.minimum: not a schema"),
            ("{not json", "schema: .*not JSON"),
            (5, "schema: not a schema"),
            (None, "schema: not a schema"),
            ([], "schema: not a schema"),
        ],
    )
    def test_bad_schemas_are_refused(self, schema: Any, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            configure({"type": "json-schema", "schema": schema})

    def test_a_schema_is_required(self) -> None:
        with pytest.raises(ConfigError, match="schema: this field is required"):
            configure({"type": "json-schema"})
        with pytest.raises(ConfigError, match=r'schem: unknown field .*did you mean "schema"'):
            configure({"type": "json-schema", "schem": {}, "schema": {}})

    def test_unknown_keywords_are_warned_of_with_the_nearest(self) -> None:
        schema = {"propertees": {}, "properties": {"a": {"minimun": 1, "title": "A", "$comment": "fine"}}}
        warnings = configure({"type": "json-schema", "schema": schema}).warnings
        assert [(one.path, one.suggestion) for one in warnings] == [
            (("schema", "propertees"), 'did you mean "properties"?'),
            (("schema", "properties", "a", "minimun"), 'did you mean "minimum"?'),
        ]

    @pytest.mark.parametrize("value", [datetime.date(2026, 1, 1), float("nan"), float("inf"), {1: 2}, (1,), b"a"])
    def test_values_that_json_does_not_have_are_refused(self, value: Any) -> None:
        with pytest.raises(ConfigError, match="schema: the schema "):
            configure({"type": "json-schema", "schema": {"enum": [value]}})

    def test_a_schema_nested_too_deep_is_refused(self) -> None:
        schema: Any = True
        for _ in range(2000):
            schema = {"not": schema}
        with pytest.raises(ConfigError, match="nested too deep"):
            configure({"type": "json-schema", "schema": schema})

    def test_explains_draft_and_tiers(self) -> None:
        lines = configure({"type": "json-schema", "schema": BUG}).grader.explain()
        assert lines[0] == "draft 7"
        assert lines[1].startswith("pattern 0: linear")


class TestFormat:
    def test_says_nothing_unless_asked(self) -> None:
        assert status({"format": "email"}, "nope") == "pass"
        assert status({"format": "email"}, "nope", format="assert") == "fail"
        assert status({"format": "email"}, 5, format="assert") == "pass"

    def test_one_that_cannot_be_asserted_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r'schema\.format: the format "iri" can\'t be asserted'):
            status({"format": "iri"}, "a", format="assert")
        (warning,) = configure({"type": "json-schema", "schema": {"format": "mine"}, "format": "assert"}).warnings
        assert "not checked" in warning.message

    @pytest.mark.parametrize(
        ("name", "good", "bad"),
        [
            ("date", "2024-02-29", "2023-02-29"),
            ("date", "0001-01-01", "20240101"),
            ("time", "23:59:60Z", "24:00:00Z"),
            ("date-time", "2024-01-01T00:00:00.5+01:00", "2024-01-01 00:00:00Z"),
            ("email", "a.b@example.com", "a..b@example.com"),
            ("hostname", "a-b.example", "-a.example"),
            ("ipv4", "127.0.0.1", "127.0.0.01"),
            ("ipv6", "::1", "::1%eth0"),
            ("uuid", "12345678-1234-1234-1234-1234567890aB", "12345678123412341234123456789012"),
            ("uri", "https://example.com/a?b=%20#c", "/relative"),
            ("uri", "urn:a:b", "http://a b"),
            ("json-pointer", "/a~1b/0", "a/b"),
            ("regex", "(?<n>a)", "a++"),
        ],
    )
    def test_formats(self, name: str, good: str, bad: str) -> None:
        assert [status({"format": name}, text, format="assert") for text in (good, bad, bad + "\n")] == [
            "pass",
            "fail",
            "fail",
        ]
