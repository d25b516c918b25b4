from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import graders.matching as matching
from graders.matching.limits import RAISE_VARIABLE


def test_limits_may_be_lowered_and_not_raised() -> None:
    limits = matching.MatchLimits().lowered(cpu_ms=50, wall_ms=250)
    assert (limits.cpu_ms, limits.wall_ms) == (50, 250)
    with pytest.raises(ValueError, match="cpu_ms may lower 50"):
        limits.lowered(cpu_ms=60)
    with pytest.raises(ValueError, match="wall_ms may lower 250"):
        limits.lowered(wall_ms=None)
    with pytest.raises(ValueError, match="unknown limit"):
        limits.lowered(depth=3)
    with pytest.raises(ValueError, match="subject_bytes may lower"):
        matching.MatchLimits(subject_bytes=2_000_000)
    with pytest.raises(ValueError, match="positive whole number"):
        matching.MatchLimits(cpu_ms=0)


def test_only_the_deployment_raises_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RAISE_VARIABLE, "2")
    assert matching.MatchLimits(cpu_ms=200).cpu_ms == 200
    with pytest.raises(ValueError, match="cpu_ms may lower"):
        matching.MatchLimits(cpu_ms=201)
    monkeypatch.setenv(RAISE_VARIABLE, "many")
    with pytest.raises(ValueError, match=RAISE_VARIABLE):
        matching.MatchLimits()


def test_limits_pickle() -> None:
    limits = matching.MatchLimits(cpu_ms=7)
    assert pickle.loads(pickle.dumps(limits)) == limits


@pytest.mark.parametrize("dialect", ["ecma", "pcre", "python"])
def test_a_pattern_over_its_limit_is_a_limit_and_not_an_error(dialect: str) -> None:
    assert matching.compile("é" * 2048, dialect).match_text("é" * 2048).outcome is matching.Outcome.MATCHED
    judged = matching.compile("(" + "é" * 2048, dialect).match_array(pa.array(["x", None]), spans=True)
    assert judged.limit is not None
    assert judged.limit.to_pylist() == ["pattern_size", None]
    assert judged.matched.to_pylist() == [None, None]


@pytest.mark.parametrize("pattern", ["a$", "(?<=a)$", r"(?<=\w)a"])
def test_a_text_over_its_limit_is_a_limit_and_never_cut(pattern: str) -> None:
    limits = matching.MatchLimits(subject_bytes=10)
    judged = matching.compile(pattern, limits=limits).match_array(pa.array(["a" * 10, "a" * 11, "é" * 5 + "a", "aa"]))
    assert judged.limit is not None
    assert judged.limit.to_pylist() == [None, "subject_size", "subject_size", None]
    assert judged.matched.to_pylist() == [True, None, None, True]


def test_the_wall_clock_ceiling_stops_an_evaluation() -> None:
    limits = matching.MatchLimits(wall_ms=20)
    assert matching.compile("(?=.)(a|aa)+$", limits=limits).match_text("a" * 5000 + "!").limit == "timeout"
    assert matching.compile("(?=.)a", limits=limits).match_text("a").outcome is matching.Outcome.MATCHED


def test_a_lower_budget_also_lowers_what_re2_may_be_given() -> None:
    full, lowered = (
        matching.compile("a[ab]{50}c"),
        matching.compile("a[ab]{50}c", limits=matching.MatchLimits(cpu_ms=1)),
    )
    assert full.tier == lowered.tier == "mixed"
    assert full.tier_reason != lowered.tier_reason
