"""Matching between two sides: as many pairs as can be, each item used once, and order-keeping matches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence


def largest_matching(choices: Sequence[Sequence[int]], right_size: int) -> list[int | None]:
    """A matching with the most pairs (Hopcroft and Karp 1973, O(edges × √left)).

    Args:
        choices: for each item of the left side, the items of the right side that it may be paired with.
        right_size: how many items the right side has.

    Returns:
        For each item of the left side its partner, or None.
    """
    partner: list[int | None] = [None] * len(choices)
    taken: list[int | None] = [None] * right_size
    for left, rights in enumerate(choices):
        for right in rights:
            if taken[right] is None:
                partner[left], taken[right] = right, left
                break
    while any(mate is None and rights for mate, rights in zip(partner, choices, strict=True)):
        depth = _layers(choices, partner, taken)
        if depth is None:
            return partner
        progress = [0] * len(choices)
        for left in range(len(choices)):
            if partner[left] is None:
                _augment(left, choices, partner, taken, depth, progress)
    return partner


def _layers(
    choices: Sequence[Sequence[int]], partner: Sequence[int | None], taken: Sequence[int | None]
) -> list[int] | None:
    """Breadth-first layers from the unpaired left items; None where no augmenting path exists."""
    unreached = len(choices) + 1
    depth = [unreached if mate is not None else 0 for mate in partner]
    queue = deque(left for left, mate in enumerate(partner) if mate is None)
    found = False
    while queue:
        left = queue.popleft()
        for right in choices[left]:
            owner = taken[right]
            if owner is None:
                found = True
            elif depth[owner] == unreached:
                depth[owner] = depth[left] + 1
                queue.append(owner)
    return depth if found else None


def _augment(
    start: int,
    choices: Sequence[Sequence[int]],
    partner: list[int | None],
    taken: list[int | None],
    depth: Sequence[int],
    progress: list[int],
) -> None:
    """Follow layers depth-first from `start` to a free right item and flip the path, if there is one."""
    path: list[tuple[int, int]] = []
    left = start
    while True:
        if progress[left] == len(choices[left]):
            if not path:
                return
            left, _ = path.pop()
            continue
        right = choices[left][progress[left]]
        progress[left] += 1
        owner = taken[right]
        if owner is None:
            path.append((left, right))
            for on_path, chosen in path:
                partner[on_path], taken[chosen] = chosen, on_path
            return
        if depth[owner] == depth[left] + 1:
            path.append((left, right))
            left = owner


def in_order(wanted: int, offered: int, fits: Callable[[int, int], bool]) -> list[int] | None:
    """Places of `wanted` items among `offered` ones in the same order, gaps allowed, or None where there are none.

    Taking the earliest fitting place each time is enough: a later one never leaves more room.
    """
    places: list[int] = []
    place = 0
    for item in range(wanted):
        while place < offered and not fits(item, place):
            place += 1
        if place == offered:
            return None
        places.append(place)
        place += 1
    return places
