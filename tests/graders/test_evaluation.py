from __future__ import annotations

import subprocess
import sys
from typing import Any, ClassVar

import pytest

from graders import ConfigError, Score, Status, evaluate
from graders.configured import configure
from graders.evaluation import evaluate_configured
from graders.grader import GraderConfig, RowGrader
from schemas.score import ErrorType, verdict
from schemas.trajectory import Trajectory


def test_gives_a_score_with_the_graders_name_type_and_hash() -> None:
    entry = {"name": "greets", "type": "contains", "texts": ["hi"]}
    score = evaluate(entry, {"output": "hi"})
    assert isinstance(score, Score)
    assert (score.grader_name, score.grader_type) == ("greets", "contains")
    assert score.grader_hash == configure(entry).grader_hash
    assert (score.status, score.passed, score.score) == (Status.PASS, True, 1.0)
    assert score.duration_us is not None


def test_unnamed_graders_are_called_by_type_and_configuration() -> None:
    name = evaluate({"type": "contains", "texts": ["hi"]}, {"output": "hi"}).grader_name
    assert name.startswith("contains-")
    assert name != evaluate({"type": "contains", "texts": ["ho"]}, {"output": "hi"}).grader_name


def test_takes_a_trajectory_too() -> None:
    assert evaluate({"type": "contains", "texts": ["hi"]}, Trajectory(output="hi")).passed is True


def test_the_objects_own_profile_comes_first() -> None:
    entry = {"profile": "aludel", "type": "exact_match", "value": "a"}
    assert evaluate(entry, {"output": "a"}, profile="vally").passed is True


def test_sample_and_when_do_not_apply() -> None:
    entry = {"type": "contains", "texts": ["a"], "sample": 0.000001, "when": {"metadata": {"x": "y"}}}
    assert evaluate(entry, {"output": "a"}).passed is True


def test_judges_need_a_judge() -> None:
    entry = {"type": "llm-checklist", "items": ["greets"]}
    with pytest.raises(ConfigError, match="judge="):
        evaluate(entry, {"output": "hi"})
    calls: list[Any] = []

    def judge(request: Any) -> dict[str, Any]:
        calls.append(request)
        raise TimeoutError

    assert evaluate(entry, {"output": "hi"}, judge=judge).error_type is ErrorType.JUDGE_TIMEOUT
    assert calls


def test_composites_are_refused() -> None:
    with pytest.raises(ConfigError, match="combines other graders"):
        evaluate({"type": "all-of", "graders": ["a", "b"]}, {"output": "hi"})


def test_a_fault_of_the_grader_is_an_outcome_without_its_text() -> None:
    class Broken(RowGrader[GraderConfig]):
        type = "broken"
        config_model = GraderConfig
        example: ClassVar[dict[str, Any]] = {}

        def grade_batch(self, batch: Any) -> Any:
            raise RuntimeError("the secret output")

        def grade_row(self, trajectory: Trajectory) -> Score:
            return verdict(True)

    from dataclasses import replace

    configured = replace(configure({"type": "length", "max": 1}), grader=Broken(GraderConfig()))
    score = evaluate_configured(configured, {"output": "a"})
    assert score.error_type is ErrorType.GRADER_EXCEPTION
    assert "secret" not in repr(score)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"type": "contians", "texts": ["a"]}, 'did you mean "contains"'),
        ({"type": "exact_match", "value": "a"}, "give `profile: aludel`"),
        ({}, "type: "),
        ([], "a grader is an object"),
        ({"type": "contains", "texts": ["\ud800"]}, "surrogate"),
        ({"type": "contains", "texts": ["a"], "profile": "vallly"}, 'profile: .*did you mean "vally"'),
    ],
)
def test_mistakes(entry: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(entry, {"output": "a"})


def test_the_package_imports_nothing_until_it_is_used() -> None:
    code = "import sys, graders; print(sorted({'numpy', 'pyarrow', 'pydantic', 'apache_beam'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_evaluating_imports_no_beam_and_no_other_grader() -> None:
    code = (
        "import sys; from graders import evaluate; evaluate({'type': 'length', 'max': 1}, {'output': 'a'});"
        "print([m for m in ('apache_beam', 'jsonschema', 'httpx', 'graders.json_schema') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_unknown_names_of_the_package() -> None:
    import graders

    assert "evaluate" in dir(graders)
    with pytest.raises(AttributeError, match="evalute"):
        _ = graders.evalute
