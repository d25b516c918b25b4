"""Kleene's logic over True, False and None (open: a limit left the answer unknown)."""

from __future__ import annotations

from collections.abc import Iterable


def all_true(answers: Iterable[bool | None]) -> bool | None:
    """False if any is False, else open if any is open, else True."""
    is_open = False
    for answer in answers:
        if answer is False:
            return False
        is_open = is_open or answer is None
    return None if is_open else True


def any_true(answers: Iterable[bool | None]) -> bool | None:
    """True if any is True, else open if any is open, else False."""
    is_open = False
    for answer in answers:
        if answer is True:
            return True
        is_open = is_open or answer is None
    return None if is_open else False


def between(surely: bool, possibly: bool) -> bool | None:
    """True where it holds whatever the open answers are, False where it fails whatever they are, else open."""
    return True if surely else None if possibly else False
