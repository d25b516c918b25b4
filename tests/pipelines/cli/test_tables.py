from __future__ import annotations

import pytest

from pipelines.cli.tables import aligned, print_table

HEADER = ["grader", "rate", "n"]
ROWS = [["no-refusal", "93.9%", "198"], ["x", "–", "0"]]


def test_aligned() -> None:
    assert aligned(HEADER, ROWS).splitlines() == [
        "grader       rate    n",
        "──────────  ─────  ───",
        "no-refusal  93.9%  198",
        "x               –    0",
    ]


def test_which_columns_are_numbers_can_be_said() -> None:
    assert aligned(["a", "b"], [["1", "x"], ["20", "yy"]], [True, False]).splitlines() == [
        " a  b",
        "──  ──",
        " 1  x",
        "20  yy",
    ]


def test_plain_text_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(HEADER, ROWS)
    assert capsys.readouterr().out == aligned(HEADER, ROWS) + "\n"


def test_no_cell_is_cut_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "12")
    print_table(HEADER, ROWS)
    out = capsys.readouterr().out
    assert all(cell in out for row in (HEADER, *ROWS) for cell in row)
