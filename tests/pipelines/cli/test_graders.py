from __future__ import annotations

import json

import pytest
import yaml

from graders.configured import configure
from graders.profiles import PROFILES, translations
from graders.registry import grader_types
from tests.pipelines.cli.conftest import Command


def test_the_list_has_every_type_with_its_taxonomy(gradebeam: Command) -> None:
    code, out, _ = gradebeam("graders")
    assert code == 0
    header, _, *rows = [line.split() for line in out.splitlines() if line.strip()]
    assert header == ["type", "determinism", "cost", "reference", "temporal_scope", "score_kind", "native_scale"]
    assert [row[0] for row in rows[:-1]] == sorted(grader_types())
    assert ["exact", "static", "free", "reference-based", "point-in-time", "code", "0..1"] in rows


def test_the_list_as_json(gradebeam: Command) -> None:
    rows = json.loads(gradebeam("graders", "--json")[1])
    assert {row["type"] for row in rows} == set(grader_types())


@pytest.mark.parametrize("name", sorted(grader_types()))
def test_a_types_fields_and_an_example_that_can_be_configured(gradebeam: Command, name: str) -> None:
    code, out, _ = gradebeam("graders", name)
    assert code == 0
    fields, example = out.split("\nExample:\n")
    (entry,) = yaml.safe_load(example)
    assert configure(entry).type == name
    model = grader_types()[name].config_model
    for field_name, field in model.model_fields.items():
        assert f"\n  {field.alias or field_name} " in fields


def test_defaults_are_printed(gradebeam: Command) -> None:
    lines = [" ".join(line.split()) for line in gradebeam("graders", "regex")[1].splitlines()]
    assert "pattern text (required)" in lines
    assert 'dialect python or ecma or pcre, default "python"' in lines
    assert "weight number from 0" in lines


def test_one_type_as_json(gradebeam: Command) -> None:
    described = json.loads(gradebeam("graders", "regex", "--json")[1])
    assert described["type"] == "regex"
    assert "pattern" in described["config"]["properties"]
    assert described["example"]["dialect"] == "ecma"


@pytest.mark.parametrize("profile", PROFILES)
def test_the_types_of_a_foreign_vocabulary(gradebeam: Command, profile: str) -> None:
    code, out, _ = gradebeam("graders", "--profile", profile)
    assert code == 0
    assert out.split() == sorted(translations(profile))


def test_an_unknown_type_is_exit_2_with_a_suggestion(gradebeam: Command) -> None:
    code, _, err = gradebeam("graders", "regx")
    assert code == 2
    assert 'did you mean "regex"?' in err
    code, _, err = gradebeam("graders", "regx", "--profile", "aludel")
    assert code == 2
    assert 'aludel has no type "regx" (did you mean "regex"?)' in err
