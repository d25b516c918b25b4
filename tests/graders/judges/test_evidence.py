"""Evidence is selected, windowed with a record of what was cut, and encoded so that it stays data."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graders.judges.evidence import EVIDENCE_KINDS, encode, select, window_items, window_text
from schemas.trajectory import Message
from tests.graders.judges.examples import LLM_SCORE, TRAJECTORY, judge_grader, judged

TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


@given(st.dictionaries(TEXT, TEXT, max_size=4))
def test_encoding_is_one_line_that_reads_back_the_same(values: dict[str, str]) -> None:
    line = encode(values)
    assert json.loads(line) == values
    assert len(line.splitlines()) == 1
    assert not {"<", ">", "\u2028", "\u202e", "\u200b"} & set(line)


@given(TEXT, st.integers(3, 40))
def test_a_window_keeps_head_and_tail(text: str, limit: int) -> None:
    shown, lost = window_text(text, limit)
    if len(text) <= limit:
        assert (shown, lost) == (text, 0)
    else:
        assert lost == len(text) - limit
        assert shown.startswith(text[: limit - limit // 3])
        assert shown.endswith(text[len(text) - limit // 3 :])
        assert f"[…{lost} characters left out…]" in shown


@given(st.lists(st.text("ab", max_size=30), max_size=12), st.integers(10, 120))
def test_a_window_over_messages_accounts_for_every_character(texts: list[str], limit: int) -> None:
    items = [{"text": text} for text in texts]
    shown, lost = window_items(items, limit)
    total = sum(len(text) for text in texts)
    if not lost:
        assert shown == items
        return
    marker = [item for item in shown if "left_out" in item]
    kept = [item["text"] for item in shown if "left_out" not in item]
    assert lost["messages"] == len(items) - len(kept) == sum(item["left_out"]["messages"] for item in marker)
    assert len(marker) <= 1
    untouched = sum(len(text) for text in kept if "left out…]" not in text)
    assert untouched <= total - lost["characters"] <= limit + 2


def test_kinds_select_what_the_judge_sees() -> None:
    found = select(TRAJECTORY, ("transcript", "tool_calls", "reference"), 1_000)
    assert list(found.values) == ["transcript", "tool_calls", "reference"]
    assert found.values["tool_calls"] == [
        {"name": "track", "arguments": '{"id": 7}', "result": '{"eta": "Monday"}', "is_error": False}
    ]
    assert [message["role"] for message in found.values["transcript"]] == ["user", "assistant", "tool", "assistant"]
    assert select(TRAJECTORY, ("output",), 1_000, reference="other").values == {"output": TRAJECTORY.output}
    assert set(select(TRAJECTORY, EVIDENCE_KINDS, 1_000).values) == set(EVIDENCE_KINDS)


def test_what_was_cut_is_in_the_row() -> None:
    messages = tuple(Message("user", f"message {number} " + "x" * 90) for number in range(50))
    long = replace(TRAJECTORY, messages=messages, output="y" * 1_500)
    entry = {**LLM_SCORE, "evidence": ["transcript", "output"], "max_evidence_chars": 1_000}
    row = judged(entry, {"reasoning": "a", "level": 1}, long)
    assert row.details is not None
    assert row.details["cut"]["output"] == {"characters": 500}
    assert row.details["cut"]["transcript"]["messages"] > 30
    prompt = judge_grader(entry).requests(long)[0].messages[1].content
    assert "message 0 " in prompt
    assert "message 49 " in prompt
    assert "message 25 " not in prompt
