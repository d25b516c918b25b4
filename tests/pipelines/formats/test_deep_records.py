"""Deep nesting, long chains and cycles in hostile logs: a reject or a trajectory, never an exception, and no record uncounted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipelines.formats.container import SourceRecord, normalised_safely
from pipelines.formats.containers.llm_calls import LlmCalls
from pipelines.formats.detection import container_classes, detect
from pipelines.formats.json_values import MAX_DEPTH, Decoded, Failure, decode_line, decode_text
from pipelines.formats.spans.assemble import assemble
from pipelines.formats.spans.model import AGENT, LLM, OTHER, TOOL, Span
from schemas.reject import RejectReason
from schemas.suite import InputConfig
from tests.pipelines.formats.reading_helper import records_of
from tests.pipelines.reading.loading import load
from tests.pipelines.runs import only_manifest, run_suite, write_suite
from tests.shared_files import shared_file

_FOLDER = shared_file("samples")
_SMALLEST: dict[str, Path] = {}
for _path in sorted(_FOLDER.rglob("*") if _FOLDER else [], key=lambda path: path.stat().st_size):
    if _path.is_file() and _path.stat().st_size > 400:
        assert _FOLDER is not None
        _SMALLEST.setdefault(_path.relative_to(_FOLDER).parts[0], _path)
_KEYS = (
    "messages",
    "content",
    "parts",
    "output",
    "values",
    "kvlistValue",
    "subagent_trajectories",
    "children",
    "request",
)


def nest(kind: str, depth: int, leaf: Any) -> Any:
    """Lists, objects or both, `depth` deep."""
    for level in range(depth):
        in_list = kind == "lists" or (kind == "both" and level % 2)
        leaf = [leaf] if in_list else {_KEYS[level % len(_KEYS)] if kind == "both" else kind: leaf}
    return leaf


def nested_texts(levels: int, depth: int) -> str:
    """JSON in JSON in JSON, each text nested again."""
    text = '[{"role":"user","content":"x"}]'
    for _ in range(levels):
        text = orjson.dumps(nest("lists", depth, text)).decode()
    return text


_DEEP = [
    *(nest(kind, depth, "x") for kind in ("lists", "both", *_KEYS) for depth in (90, MAX_DEPTH - 60)),
    nested_texts(6, 200),
]


def places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """(holder, key) of each part of a value."""
    if depth < 12 and isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from places(item, depth + 1)


@pytest.mark.parametrize("path", _SMALLEST.values(), ids=_SMALLEST)
def test_a_deep_value_anywhere_in_a_record_is_survived(path: Path) -> None:
    records, _ = records_of(path.read_bytes(), path.name)
    container = detect([record.value for record in records], path.name).container
    whole = orjson.dumps([record.value for record in records[:4]], default=str)
    rng = random.Random(path.name)
    for _ in range(40):
        values = orjson.loads(whole)
        found = list(places(values))
        holder, key = rng.choice(found)
        holder[key] = rng.choice(_DEEP)
        detect(values, "u")
        hostile = [SourceRecord(value, "u", number, 1) for number, value in enumerate(values)]
        if container.grouping == "key":
            hostile = [part for record in hostile for part in container.pieces(record)]
            assert all(container.key(part) != "" for part in hostile)
        groups = [[record] for record in hostile] if container.grouping == "record" else [hostile]
        for group in groups:
            result = normalised_safely(container, group)
            assert len(group) == result.records_used + len(result.rejects) + sum(result.skipped.values())
            assert {each.reason for each in result.rejects} <= set(RejectReason) - {RejectReason.ADAPTER_ERROR}


@pytest.mark.parametrize("name", container_classes())
def test_no_format_fails_on_a_deep_record(name: str) -> None:
    container = (
        container_classes()[name]() if name != "mapped_rows" else container_classes()[name](fields={"output": "a"})
    )  # type: ignore[call-arg]
    for value in _DEEP:
        (record,) = [SourceRecord(value, "u", 0, 1)]
        container.detect(value)
        container.key(record)
        for part in container.pieces(record):
            result = normalised_safely(container, [part])
            assert RejectReason.ADAPTER_ERROR not in {each.reason for each in result.rejects}


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_the_deepest_value_is_read_and_a_deeper_one_is_not(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    for depth, kind in ((MAX_DEPTH, Decoded), (MAX_DEPTH + 1, Failure)):
        (part,) = decode_line(opening * depth + b"1" + closing * depth)
        assert isinstance(part, kind)
        assert (decode_text((opening * depth + b"1" + closing * depth).decode()) is None) is (depth > MAX_DEPTH)
    assert part.reason is RejectReason.TOO_DEEP


def test_what_stands_beside_a_deep_value_on_its_line_is_kept() -> None:
    deep = b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
    first, second, third = decode_line(b'{"a":1}' + deep + b'{"b":2}')
    assert isinstance(first, Decoded)
    assert isinstance(second, Failure)
    assert isinstance(third, Decoded)
    assert (first.value, second.reason, third.value) == ({"a": 1}, RejectReason.TOO_DEEP, {"b": 2})
    assert [part.ordinal for part in (first, second, third)] == [0, 1, 2]
    second, third = decode_line(deep + b'{"b":2}')
    assert isinstance(second, Failure)
    assert isinstance(third, Decoded)


def test_a_deep_record_among_others_in_a_file(tmp_path: Path) -> None:
    good = {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}
    deep = {**good, "x": 0}
    text = orjson.dumps(deep).replace(b'"x":0', b'"x":' + b"[" * 5_000 + b"]" * 5_000)
    (tmp_path / "log").write_bytes(b"\n".join([orjson.dumps(good), text, orjson.dumps({**good, "id": "2"})]))
    loaded = load(tmp_path / "log", InputConfig())
    assert (loaded.outputs, loaded.reasons, loaded.records) == (["a", "a"], ["too_deep"], 3)


@pytest.mark.parametrize("depth", [200, 400, 600])
def test_a_deep_span_is_no_end_of_its_block(depth: int, tmp_path: Path) -> None:
    def line(number: int) -> dict[str, Any]:
        messages = '[{"role":"assistant","parts":[{"type":"text","content":"hello"}]}]'
        attributes = [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.output.messages", "value": {"stringValue": messages}},
        ]
        one = {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": "chat", "attributes": attributes}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}

    lines = [orjson.dumps(line(number)) for number in (1, 2, 3)]
    lines[1] = lines[1].replace(b'"name":"chat"', b'"name":"chat","x":' + b"[" * depth + b"]" * depth)
    (tmp_path / "spans.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    graders = [{"name": "says-hello", "type": "contains", "texts": ["hello"]}]
    assert run_suite(write_suite(tmp_path, ["spans.jsonl"], graders), tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert manifest.records == 3
    assert manifest.trajectories + manifest.rejects_by_reason.get("too_deep", 0) == 3
    assert manifest.trajectories >= 2


def span(number: int, parent: int | None, kind: str) -> Span:
    record = SourceRecord(number, "u", number, 1)
    return Span(record, "t", f"s{number}", None if parent is None else f"s{parent}", "n", kind, start=number)


def test_a_trace_of_any_depth_is_put_together() -> None:
    kinds = (OTHER, AGENT, LLM)
    spans = [span(number, number - 1 if number else None, kinds[number % 3]) for number in range(30_000)]
    result = assemble(spans, "x")
    assert (result.records_used, len(result.trajectories)) == (30_000, 10_000)
    parents = {made.trajectory_id: made.parent_id for made in result.trajectories}
    assert parents["t:s7"] == "t:s4"
    assert parents["t:s4"] == "t"


def test_of_spans_that_are_each_others_ancestors_the_last_has_no_parent() -> None:
    spans = [span(0, 2, AGENT), span(1, 0, TOOL), span(2, 1, LLM), span(3, 3, LLM)]
    result = assemble(spans, "x")
    assert [(made.trajectory_id, made.bytes) for made in result.trajectories] == [("t", 4)]


def response(number: int, previous: int | None) -> SourceRecord:
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"a{number}"}]}]
    value: dict[str, Any] = {"id": f"r{number}", "object": "response", "model": "m", "output": output}
    if previous is not None:
        value["previous_response_id"] = f"r{previous}"
    return SourceRecord(value, "u", number, 1)


def test_a_chain_of_any_length_is_one_conversation() -> None:
    records = [response(number, number - 1 if number else None) for number in range(3_000)]
    records.append(response(5_000, None))
    random.Random(2).shuffle(records)
    result = LlmCalls().normalise(records)
    assert (result.records_used, result.rejects) == (3_001, [])
    assert sorted(made.bytes for made in result.trajectories) == [1, 3_000]


def test_two_chains_in_a_file_are_two_conversations() -> None:
    records = [response(0, None), response(10, None), response(1, 0), response(11, 10), response(2, 1)]
    result = LlmCalls().normalise(records[::-1])
    assert sorted([message.text for message in made.messages] for made in result.trajectories) == [
        ["a0", "a1", "a2"],
        ["a10", "a11"],
    ]


def test_responses_that_name_each_other_are_one_conversation() -> None:
    result = LlmCalls().normalise([response(0, 2), response(1, 0), response(2, 1)])
    assert [made.bytes for made in result.trajectories] == [3]
