import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders import json_path
from graders.json_path import InvalidPath, PathLimit, parse_path

STORE: dict[str, Any] = {
    "store": {
        "book": [
            {"title": "A", "price": 8.95, "isbn": "x"},
            {"title": "B", "price": 12.99},
            {"title": "C", "price": 8.99, "isbn": None},
        ],
        "bicycle": {"color": "red", "price": 400},
    },
    "a.b": 1,
    "0": "zero",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("store.bicycle.color", ["red"]),
        ("store.book[1].title", ["B"]),
        ("store.book.1.title", ["B"]),
        ("store.book[-1].title", ["C"]),
        ("store.book[3]", []),
        ("store.missing.deeper", []),
        ("store.bicycle.color.red", []),
        ('["a.b"]', [1]),
        ("0", ["zero"]),
        ("store.book[2].isbn", [None]),
        ("$", [STORE]),
        ("$.store.book[*].title", ["A", "B", "C"]),
        ("$.store.book[0,2].title", ["A", "C"]),
        ("$.store.book[0:2].title", ["A", "B"]),
        ("$.store.book[::-1].title", ["C", "B", "A"]),
        ("$..price", [8.95, 12.99, 8.99, 400]),
        ("$.store.*.color", ["red"]),
        ("$['store']['bicycle']['price']", [400]),
        ("$.store.book[?@.price < 10].title", ["A", "C"]),
        ("$.store.book[?(@.isbn)].title", ["A", "C"]),
        ("$.store.book[?@.isbn == null].title", ["C"]),
        ("$.store.book[?@.title == 'B'].price", [12.99]),
        ("$.store.book[?@.isbn != 'x'].title", ["B", "C"]),
        ("$.store.book[?@.title > 1].title", []),
        ("$..book[?@.price >= 12].title", ["B"]),
    ],
)
def test_finds(path: str, found: list[Any]) -> None:
    assert parse_path(path).find(STORE) == found


@pytest.mark.parametrize(
    "path",
    [
        "",
        " ",
        "a..b",
        "a.",
        "a[",
        "a[b]",
        "a[1",
        "$.",
        "$x",
        "$[?length(@.a) > 1]",
        "$[?@.a == 1 && @.b == 2]",
        "$[?@.a == $.b]",
        "$[::0]",
        "$['a",
    ],
)
def test_refuses(path: str) -> None:
    with pytest.raises(InvalidPath, match="path"):
        parse_path(path)


@pytest.mark.parametrize(
    ("path", "singular"), [("a.b[0]", True), ("$.a['b']", True), ("$..a", False), ("$[0:1]", False)]
)
def test_knows_whether_it_leads_to_one_place(path: str, singular: bool) -> None:
    assert parse_path(path).singular is singular


def test_stops_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_path, "MAX_VISITED", 1_000)
    with pytest.raises(PathLimit):
        parse_path("$..*..*").find([[[0] * 10] * 10] * 10)


@given(st.text(max_size=20))
def test_reads_or_refuses_any_text(text: str) -> None:
    for candidate in (text, f"${text}"):
        with contextlib.suppress(InvalidPath):
            parse_path(candidate).find({"a": [1, {"b": 2}]})


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4))
def test_quoted_names_lead_through_any_keys(keys: list[str]) -> None:
    import json

    document: Any = 7
    for key in reversed(keys):
        document = {key: document}
    path = "$" + "".join(f"[{json.dumps(key)}]" for key in keys)
    assert parse_path(path).find(document) == [7]
