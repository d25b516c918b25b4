"""The fast way gives the same trajectories as the container, record by record."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats.containers.messages import Messages
from pipelines.reading import line_blocks
from pipelines.reading.fast_messages import FastMessages
from pipelines.reading.line_blocks import find_lines, load_lines
from pipelines.reading.lines import LineChunk
from schemas.trajectory import Trajectory

TEXT = st.one_of(
    st.text("ab \n\té\u2028\x1c\x85😀", max_size=8), st.sampled_from(["", " ", "2026-11-30T08:00:00Z", "5"])
)
ROLE = st.sampled_from(["user", "assistant", "system", "developer", "tool", "human", "function", "User", "critic"])
CALL = st.fixed_dictionaries(
    {"id": st.sampled_from(["c1", "c2", ""]), "type": st.just("function")},
    optional={
        "function": st.fixed_dictionaries(
            {"name": st.sampled_from(["search", ""])}, optional={"arguments": st.one_of(st.none(), TEXT)}
        )
    },
)
MESSAGE = st.fixed_dictionaries(
    {"role": ROLE},
    optional={
        "content": st.one_of(st.none(), TEXT),
        "name": st.one_of(st.none(), TEXT),
        "tool_call_id": st.sampled_from(["c1", "", None]),
        "tool_calls": st.one_of(st.none(), st.lists(CALL, max_size=2)),
    },
)
SCALAR = st.one_of(st.none(), TEXT, st.integers(-5, 2**40), st.booleans(), st.just(1764489600), st.floats(0, 2))
TIME = st.sampled_from(
    [
        "2026-11-30T08:00:00Z",
        "2026-11-30 08:00:00",
        "2026-11-30T08:00:00.123456+05:30",
        "2026-02-30T08:00:00Z",
        "soon",
        1764489600,
        "1764489600",
        None,
    ]
)
KEYS = [
    "id", "trace_id", "conversation_id", "session_id", "parent_id", "timestamp", "created", "model", "model_name", "agent", "input",
    "question", "output", "response", "reference", "answer", "tenant", "metadata", "a",
]  # fmt: skip
USAGE = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {}, optional={"prompt_tokens": st.integers(-1, 9), "completion_tokens": st.one_of(st.none(), st.integers(0, 9))}
    ),
)


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records of one writer (mostly the same keys), as a chunk holds them."""
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=6))
    kinds = {
        key: TIME if key in ("timestamp", "created") else draw(st.sampled_from([TEXT, st.integers(0, 99), SCALAR]))
        for key in keys
    }
    own = st.fixed_dictionaries(
        {"messages": st.lists(MESSAGE, min_size=1, max_size=4)},
        optional={
            **kinds,
            "usage": USAGE,
            "metadata": st.fixed_dictionaries({}, optional={"id": TEXT, "user": TEXT, "n": st.integers(0, 9)}),
        },
    )
    return draw(st.lists(own, min_size=1, max_size=8))


def slow(chunk: LineChunk) -> list[Trajectory]:
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(line_blocks.FastMessages, "for_lines", lambda *_: None)
        return list(load_lines("k", "logs/a.jsonl", chunk, Messages(), 1).batch.rows)


@settings(max_examples=400, deadline=None)
@given(records())
def test_the_fast_way_equals_the_container(values: list[dict[str, Any]]) -> None:
    chunk = LineChunk(b"\n".join(orjson.dumps(value) for value in values) + b"\n", 64)
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(line_blocks, "_SMALLEST_RUN", 1)
        monkey.setattr(line_blocks, "_LARGEST_SLOW_SHARE", 1.0)
        loaded = load_lines("k", "logs/a.jsonl", chunk, Messages(), 1)
    assert list(loaded.batch.rows) == slow(chunk)
    assert loaded.records == len(values)


PLAIN = {
    "id": "a",
    "created_at": "2026-11-30T08:00:00Z",
    "tenant": "x",
    "n": 3,
    "usage": {"prompt_tokens": 4, "completion_tokens": 5},
}
TURNS = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "42"},
    {"role": "assistant", "content": "it is 42"},
]


def test_plain_records_do_take_the_fast_way() -> None:
    line = orjson.dumps({**PLAIN, "messages": TURNS, "metadata": {"user": "u"}})
    data = b"\n".join([line] * 60)
    spans = find_lines(data)
    fast = FastMessages.for_lines(data, spans.starts, spans.ends, Messages())
    assert fast is not None
    batch = fast.parse(data, spans.starts, spans.ends, "logs/a.jsonl", 0)
    assert batch is not None
    assert batch.num_rows == 60
    assert list(load_lines("k", "logs/a.jsonl", LineChunk(data, 0), Messages(), 1).batch.rows) == slow(
        LineChunk(data, 0)
    )


def test_one_strange_line_does_not_slow_its_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [orjson.dumps({**PLAIN, "id": f"t{i}", "messages": TURNS}) for i in range(1000)]
    lines[500] = b'{"messages": [{"role": "user", "content": "\\ud800"}]}'
    one_by_one = []
    original = line_blocks.normalise_line
    monkeypatch.setattr(line_blocks, "normalise_line", lambda *given: one_by_one.append(1) or original(*given))
    loaded = load_lines("k", "logs/a.jsonl", LineChunk(b"\n".join(lines), 0), Messages(), 1)
    assert len(loaded.batch) == 1000
    assert len(one_by_one) < 64
