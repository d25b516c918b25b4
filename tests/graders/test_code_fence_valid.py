from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.score import ErrorType
from schemas.trajectory import Trajectory
from tests.graders.run_grader import graded_one


def fenced(tag: str, code: str) -> str:
    return f"Here:\n```{tag}\n{code}\n```\nDone."


@pytest.mark.parametrize(
    ("text", "options", "status", "score"),
    [
        (fenced("json", '{"a": 1}'), {}, "pass", 1.0),
        (fenced("json", "{'a': 1}"), {}, "fail", 0.0),
        (fenced("json", "NaN"), {}, "fail", 0.0),
        (fenced("JSON", "[1,]"), {}, "fail", 0.0),
        (fenced("python", "def f(x):\n    return x"), {}, "pass", 1.0),
        (fenced("py", "def f(x)\n    return x"), {}, "fail", 0.0),
        (fenced("python", "print 'x'"), {}, "fail", 0.0),
        (fenced("python title=a.py", "x = 1"), {}, "pass", 1.0),
        (fenced("sql", "SELECT a FROM t WHERE x > 3"), {}, "pass", 1.0),
        (fenced("sql", "SELECT FROM WHERE (("), {}, "fail", 0.0),
        (fenced("sql", "-- nothing"), {}, "fail", 0.0),
        (fenced("sql", "SELECT 1; SELECT 2"), {}, "pass", 1.0),
        (fenced("postgres", "SELECT data->>'a' FROM t"), {}, "pass", 1.0),
        (fenced("python", "x = 1") + "\n" + fenced("json", "{"), {}, "fail", 0.5),
        (fenced("bash", "if ["), {}, "skipped", None),
        (fenced("bash", "if ["), {"on_no_code": "fail"}, "fail", 0.0),
        ("prose", {"on_no_code": "pass"}, "pass", 1.0),
        (fenced("", '{"a": 1}'), {}, "skipped", None),
        (fenced("", '{"a": 1'), {"untagged": "json"}, "fail", 0.0),
        (fenced("python", "x ="), {"languages": ["json"]}, "skipped", None),
        ("```json\n{}", {}, "fail", 0.0),
        ("~~~json\n{}\n~~~", {}, "pass", 1.0),
        ("````json\n{}\n```\n````", {}, "fail", 0.0),
        ("```json\n```", {}, "fail", 0.0),
        (None, {}, "error", None),
    ],
)
def test_blocks(text: str | None, options: dict[str, Any], status: str, score: float | None) -> None:
    outcome = graded_one({"type": "code-fence-valid", **options}, Trajectory(output=text))
    assert (outcome.status.value, outcome.score) == (status, score)


def test_tells_the_block_and_the_line() -> None:
    text = fenced("json", "{}") + "\n" + fenced("python", "x = 1\ny = = 2")
    outcome = graded_one({"type": "code-fence-valid"}, Trajectory(output=text))
    assert outcome.details is not None
    (invalid,) = outcome.details["invalid"]
    assert (invalid["block"], invalid["language"]) == (1, "python")
    assert invalid["problem"].endswith("line 2")
    assert text[invalid["start"] :].startswith("x = 1")


@pytest.mark.parametrize(
    ("language", "code"),
    [("python", "x = 1\n" * 10_000), ("python", "(" * 1_000), ("json", "[" * 100_000), ("sql", "SELECT 1;" * 2_000)],
)
def test_what_is_too_large_to_parse_is_no_pass(language: str, code: str) -> None:
    outcome = graded_one({"type": "code-fence-valid"}, Trajectory(output=fenced(language, code)))
    assert outcome.passed is not True
    if language != "python" or len(code) > 50_000:
        assert outcome.error_type is ErrorType.SCHEMA_RESOURCE_LIMIT


@pytest.mark.parametrize("options", [{"languages": []}, {"languages": ["rust"]}, {"sql_dialect": "postgre"}])
def test_refuses_a_configuration(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "code-fence-valid", **options})
