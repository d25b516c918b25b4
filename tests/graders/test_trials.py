from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.trials import flakiness, is_flaky, pass_at_k, pass_hat_k


@pytest.mark.parametrize(
    ("trials", "passes", "k", "value"),
    [
        (5, 3, 3, 1.0),
        (5, 4, 5, 1.0),
        (5, 1, 1, 0.2),
        (5, 0, 3, 0.0),
        (4, 2, 2, 1 - 1 / 6),
        (3, 3, 4, None),
        (0, 0, 1, None),
    ],
)
def test_pass_at_k(trials: int, passes: int, k: int, value: float | None) -> None:
    assert pass_at_k(trials, passes, k) == (None if value is None else pytest.approx(value))


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_pass(trials: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, trials))
    k = data.draw(st.integers(1, trials))
    draws = list(combinations([True] * passes + [False] * (trials - passes), k))
    assert pass_at_k(trials, passes, k) == pytest.approx(sum(map(any, draws)) / len(draws))


@pytest.mark.parametrize(
    ("trials", "passes", "k", "value"), [(4, 2, 2, 0.25), (4, 4, 9, 1.0), (4, 0, 1, 0.0), (0, 0, 1, None)]
)
def test_pass_hat_k(trials: int, passes: int, k: int, value: float | None) -> None:
    assert pass_hat_k(trials, passes, k) == value


@pytest.mark.parametrize(
    ("trials", "passes", "value"), [(4, 2, 1.0), (4, 4, 0.0), (4, 0, 0.0), (4, 1, 0.5), (4, 3, 0.5), (0, 0, None)]
)
def test_flakiness(trials: int, passes: int, value: float | None) -> None:
    assert flakiness(trials, passes) == value


@pytest.mark.parametrize(
    ("passed", "flaky"), [([True, False], True), ([True, None], False), ([None], False), ([], False), ([False], False)]
)
def test_is_flaky(passed: list[bool | None], flaky: bool) -> None:
    assert is_flaky(passed) is flaky


@pytest.mark.parametrize(("trials", "passes", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_refuses_impossible_counts(trials: int, passes: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"trials|at least"):
        pass_at_k(trials, passes, k)
