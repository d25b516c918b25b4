from hypothesis import given
from hypothesis import strategies as st

from graders.bipartite import in_order, largest_matching


def most_pairs(choices: list[list[int]], taken: frozenset[int] = frozenset()) -> int:
    if not choices:
        return 0
    best = most_pairs(choices[1:], taken)
    for right in choices[0]:
        if right not in taken:
            best = max(best, 1 + most_pairs(choices[1:], taken | {right}))
    return best


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[list[int]], int]:
    size = draw(st.integers(0, 6))
    items = st.lists(st.integers(0, size - 1), unique=True) if size else st.just([])
    return draw(st.lists(items, max_size=6)), size


@given(graphs())
def test_no_matching_has_more_pairs(graph: tuple[list[list[int]], int]) -> None:
    choices, size = graph
    partners = largest_matching(choices, size)
    used = [partner for partner in partners if partner is not None]
    assert len(used) == len(set(used)) == most_pairs(choices)
    assert all(partner is None or partner in choices[left] for left, partner in enumerate(partners))


def test_long_augmenting_paths() -> None:
    size = 300
    choices = [[place, place + 1] if place + 1 < size else [0] for place in range(size)]
    assert None not in largest_matching(choices, size)


def in_order_by_trying(wanted: list[set[int]], place: int, offered: int) -> bool:
    if not wanted:
        return True
    return any(
        candidate in wanted[0] and in_order_by_trying(wanted[1:], candidate + 1, offered)
        for candidate in range(place, offered)
    )


@given(st.lists(st.sets(st.integers(0, 5)), max_size=4), st.integers(0, 6))
def test_in_order_finds_a_place_for_each_if_there_is_one(wanted: list[set[int]], offered: int) -> None:
    places = in_order(len(wanted), offered, lambda item, place: place in wanted[item])
    assert (places is not None) is in_order_by_trying(wanted, 0, offered)
    if places is not None:
        assert places == sorted(set(places))
        assert all(place in wanted[item] for item, place in enumerate(places))
