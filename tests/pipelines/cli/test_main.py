from __future__ import annotations

import importlib

import pytest

from pipelines.cli.main import VERBS, main
from tests.pipelines.cli.conftest import Command


def test_version_names_the_distribution_and_the_code(gradebeam: Command) -> None:
    code, out, _ = gradebeam("--version")
    assert code == 0
    assert out.startswith("gradebeam 0.1.0+")


def test_without_a_command_the_help_and_exit_2(gradebeam: Command) -> None:
    code, out, _ = gradebeam()
    assert code == 2
    assert all(verb in out for verb in VERBS)


def test_an_unknown_command_suggests_the_nearest(gradebeam: Command) -> None:
    code, _, err = gradebeam("chek", "suite.yaml")
    assert code == 2
    assert err == 'gradebeam: there is no command "chek" (did you mean "check"?)\n'


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_module_and_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"pipelines.cli.{verb.replace('-', '_')}")
    assert callable(module.execute)
    with pytest.raises(SystemExit) as exit_:
        main([verb, "--help"])
    assert exit_.value.code == 0
    assert f"gradebeam {verb}" in capsys.readouterr().out


def test_an_unknown_option_is_exit_2(gradebeam: Command) -> None:
    code, _, err = gradebeam("check", "suite.yaml", "--frobnicate")
    assert code == 2
    assert "--frobnicate" in err
