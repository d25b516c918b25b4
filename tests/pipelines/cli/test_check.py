from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipelines.cli.conftest import EXAMPLES, Command

WRONG = """\
name: wrong
input: {paths: [x.jsonl], format: opanai}
graders:
  - {name: a, type: regx, pattern: "("}
  - name: b
    type: regex
    pattern: "a(b"
  - {name: c, type: length, max: 1, min: 5}
  - {name: s, type: contains, texts: [x], casesensitive: false}
  - {name: d, type: contains, texts: [x]}
  - {name: D, type: contains, texts: [x]}
  - {name: e, type: json-schema, schema: {type: strng}}
"""


def test_every_problem_with_its_line_and_a_suggestion(gradebeam: Command, suite_file: Callable[[str], Path]) -> None:
    path = suite_file(WRONG)
    code, out, err = gradebeam("check", path)
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert [line.removeprefix(f"{path}:").split(": ")[:2] for line in lines] == [
        ["2", "input.format"],
        ["4", "graders[0].type"],
        ["7", "graders[1].pattern"],
        ["8", "graders[2]"],
        ["9", "graders[3].casesensitive"],
        ["11", "graders[5].name"],
        ["12", "graders[6].schema.type"],
    ]
    assert 'did you mean "regex"?' in lines[1]
    assert "at character 3" in lines[2]
    assert "min 5 is above max 1" in lines[3]
    assert 'did you mean "case_sensitive"?' in lines[4]
    assert "by case alone" in lines[5]
    assert 'did you mean "string"?' in lines[6]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("graders: []", 1, "there are no graders"),
        ("graders:\n  - {type: contains, texts: [a]}\n  - {type: contains, texts: [a]}", 3, "is used twice"),
        ("name: a\nname: b\ngraders:\n  - {type: contains, texts: [a]}", 1, "this key is there twice"),
        ("graders:\n  - {type: all-of, graders: [nobody]}", 2, 'needs a grader "nobody"'),
        ("gates: {}\ngraders:\n  - {type: contains, texts: [a]}", 1, "gates: is not supported yet"),
        ("graders:\n  - {profile: vlly, type: x}", 2, 'did you mean "vally"?'),
        ("graders:\n  - {type: llm-score, route: cheap, criterion: c, levels: [{score: 0, description: a}], threshold: 0}",
         2, "route"),
        ("input:\n  fields: {outptu: $.x}\ngraders:\n  - {type: contains, texts: [a]}", 2, "outptu"),
    ],
)  # fmt: skip
def test_one_problem(gradebeam: Command, suite_file: Callable[[str], Path], text: str, line: int, message: str) -> None:
    path = suite_file(text)
    code, _, err = gradebeam("check", path)
    assert code == 2
    assert any(each.startswith(f"{path}:{line}: ") and message in each for each in err.splitlines()), err


def test_a_plugin_that_cannot_be_imported(gradebeam: Command, suite_file: Callable[[str], Path]) -> None:
    path = suite_file(
        "graders:\n  - {type: contains, texts: [a]}\n  - {type: contains, texts: [b]}\nplugins:\n  - no_such_module\n"
    )
    code, _, err = gradebeam("check", path)
    assert code == 2
    assert [line for line in err.splitlines() if "no_such_module" in line] == [
        f"{path}:5: plugins[0]: the plugin \"no_such_module\" can't be imported: No module named 'no_such_module'"
    ]


def test_a_warning_names_its_line_and_refuses_nothing(gradebeam: Command, suite_file: Callable[[str], Path]) -> None:
    path = suite_file(
        "graders:\n"
        "  - {name: all, type: all-of, graders: [c]}\n"  # graded last: places are those of the file all the same
        "  - name: j\n"
        "    type: json-schema\n"
        "    schema: {type: object, requird: [a]}\n"
        "  - {name: c, type: contains, texts: [a]}\n"
    )
    code, out, err = gradebeam("check", path)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith(f"{path}:5: warning: graders[1].schema.requird: ")
    assert out.splitlines()[1] == f"{path}: ok, 3 graders"


def test_verbose_says_each_patterns_tier_and_why(gradebeam: Command, suite_file: Callable[[str], Path]) -> None:
    path = suite_file(
        "graders:\n"
        '  - {name: linear, type: regex, pattern: "a+b"}\n'
        '  - {name: backtracking, type: regex, pattern: "(a)\\\\1"}\n'
    )
    code, out, _ = gradebeam("check", "-v", path)
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert lines[1].startswith("linear: regex ")
    assert "RE2" in lines[2]
    assert lines[3].startswith("backtracking: regex ")
    assert lines[4].startswith("backtracking")


def test_the_examples_are_right_and_several_files_are_checked(gradebeam: Command) -> None:
    suites = sorted(EXAMPLES.glob("*.yaml"))
    code, out, err = gradebeam("check", *suites)
    assert (code, err) == (0, "")
    assert list(dict.fromkeys(line.split(":")[0] for line in out.splitlines())) == [str(path) for path in suites]


def test_a_missing_file(gradebeam: Command) -> None:
    assert gradebeam("check", "no-such.yaml") == (2, "", "no-such.yaml: there is no such file\n")


def test_where_a_budget_holds_is_said(gradebeam: Command, suite_file: Callable[[str], Path]) -> None:
    text = """\
name: judged
input: {paths: [x.jsonl]}
graders:
  - {name: a, type: rubric-judge, template: correctness, route: cheap}
routes:
  cheap: {base_url: "http://127.0.0.1:1/v1", model: m, max_calls: 5}
  unused: {base_url: "http://127.0.0.1:1/v1", model: m, max_calls: 5}
limits: {max_calls: 7}
"""
    code, out, _ = gradebeam("check", suite_file(text))
    assert code == 0
    assert "note: limits.max_calls, routes.cheap.max_calls: on one machine, kept over all executions" in out
