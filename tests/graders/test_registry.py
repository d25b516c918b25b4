"""All registered types: found by name without importing the others, with a working example and honest metadata."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from graders.configured import COMMON_FIELDS, configure
from graders.profiles import PASSED_ON, PROFILES, translations
from graders.registry import grader_class, grader_types

TYPES = sorted(grader_types())


@pytest.mark.parametrize("name", TYPES)
def test_is_found_by_its_name(name: str) -> None:
    assert grader_class(name) is grader_types()[name]


@pytest.mark.parametrize("name", TYPES)
def test_its_example_is_a_configuration(name: str) -> None:
    cls = grader_types()[name]
    configured = configure({"type": name, **cls.example})
    assert configured.type == name
    assert configured.name.startswith(f"{name}-")
    assert not configured.warnings


@pytest.mark.parametrize("name", TYPES)
def test_travels_to_workers(name: str) -> None:
    grader = configure({"type": name, **grader_types()[name].example}).grader
    again: Any = pickle.loads(pickle.dumps(grader))
    assert (type(again), again.config) == (type(grader), grader.config)


@pytest.mark.parametrize("name", TYPES)
def test_says_what_it_is(name: str) -> None:
    cls = grader_types()[name]
    assert (cls.__doc__ or "").strip()
    assert all(character.isalnum() or character == "-" for character in name)
    assert name == name.lower()
    assert cls.taxonomy.native_min < cls.taxonomy.native_max


def test_profiles_pass_on_what_any_grader_may_say() -> None:
    assert set(PASSED_ON) == COMMON_FIELDS


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_translate_into_registered_types(profile: str) -> None:
    assert translations(profile)
