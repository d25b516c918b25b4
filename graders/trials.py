"""Repeated trials of one task: how often it passes, whether it can pass, and whether it passes every time."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb


def pass_at_k(trials: int, passes: int, k: int) -> float | None:
    """The chance that at least one of k trials passes, drawn without return from those made: 1 - C(n-c, k) / C(n, k).

    The unbiased estimator of Chen et al. 2021, "Evaluating Large Language Models Trained on Code". None where k
    exceeds the trials.

    Raises:
        ValueError: the numbers are no counts of trials.
    """
    _check(trials, passes, k)
    if k > trials:
        return None
    return 1.0 - comb(trials - passes, k) / comb(trials, k)


def pass_hat_k(trials: int, passes: int, k: int) -> float | None:
    """The chance that k independent trials all pass, p^k with p the pass rate (written pass^k). None without trials.

    Raises:
        ValueError: the numbers are no counts of trials.
    """
    _check(trials, passes, k)
    return None if trials == 0 else float((passes / trials) ** k)


def flakiness(trials: int, passes: int) -> float | None:
    """How far the trials disagree, 2 × min(p, 1 - p): 0 where all agree, 1 at an even split. None without trials.

    Raises:
        ValueError: the numbers are no counts of trials.
    """
    _check(trials, passes, 1)
    return None if trials == 0 else 2.0 * min(passes, trials - passes) / trials


def is_flaky(passed: Sequence[bool | None]) -> bool:
    """Whether the trials with a verdict disagree (None stands for an error or a skip: no verdict)."""
    return True in passed and False in passed


def _check(trials: int, passes: int, k: int) -> None:
    if not 0 <= passes <= trials:
        raise ValueError(f"{passes} passes of {trials} trials can't be")
    if k < 1:
        raise ValueError("k is at least 1")
