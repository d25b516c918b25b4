"""Records on their way through the spill: whatever they look like, each comes out once, with its key, as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines import graph
from pipelines.formats.container import SourceRecord
from pipelines.formats.containers.otlp import Otlp
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.reading import reader
from pipelines.reading.block import Segment
from pipelines.reading.lines import LineChunk
from pipelines.reading.spilling import Spiller, read_groups
from schemas.manifest import InputFile
from schemas.reject import RejectReason
from tests.pipelines.runs import only_manifest, run_suite, table, write_lines, write_suite

ANY_TEXT = [{"name": "says-something", "type": "length", "min": 1}]
TRACES = [f"{number:032x}" for number in range(1, 6)]


def span(trace: str, number: int, **more: Any) -> dict[str, Any]:
    return {"traceId": trace, "spanId": f"{number + 1:016x}", "name": "s", "attributes": [], **more}


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    service = {"key": "service.name", "value": {"stringValue": "svc"}}
    return {"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"spans": list(spans)}]}]}


def through_the_spill(folder: Path, data: bytes, buckets: int) -> list[dict[str | None, list[SourceRecord]]]:
    spiller = Spiller("u", Otlp(), buckets, 10_000)
    spiller.add_chunk(LineChunk(data, 100, reaches_end=not data.endswith(b"\n")))
    found = []
    for bucket, packed in spiller.take().items():
        path = folder / f"{bucket}.bin"
        path.write_bytes(b"before" + packed + b"after")
        groups, rejects = read_groups([Segment(str(path), 6, len(packed))])
        records: dict[str | None, list[Any]] = {}
        for key, group in groups.items():
            decoded = group.decoded(Otlp())
            for record in decoded.records:
                records.setdefault(key, []).append(record)
            for record in decoded.alone:
                records.setdefault(None, []).append(record)
            rejects += decoded.rejects
        records.setdefault("rejects", []).extend(rejects)
        found.append(records)
    return found


LINES = st.lists(
    st.one_of(
        st.lists(st.tuples(st.sampled_from(TRACES), st.integers(0, 9)), min_size=1, max_size=4).map(
            lambda spans: json.dumps(request(*(span(*each) for each in spans))).encode()
        ),
        st.sampled_from(
            [
                b"", b"  ", b"{", b"[1]", b'"x"', b'{"resourceLogs":[]}', b'{"a":1}{"a":2}', b"\xff",
                json.dumps(request(span("", 1), span(TRACES[0], 2))).encode(),
                json.dumps(request(span(TRACES[0], 1, big=2**70), span(TRACES[1], 2, big=2**70))).encode(),
                json.dumps(request(span(TRACES[0], 1), span(TRACES[0], 1))).encode() + b"\r",
                json.dumps(request(span(TRACES[2], 1, name="x" * 10_000))).encode(),
            ]
        ),
    ),
    max_size=12,
)  # fmt: skip


@given(lines=LINES, end=st.booleans(), buckets=st.integers(1, 3))
def test_every_record_comes_out_once_under_its_key(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], end: bool, buckets: int
) -> None:
    data = b"\n".join(lines) + (b"\n" if end else b"")
    expected: dict[str | None, list[tuple[Any, ...]]] = {}
    rejects = []
    offset = 100
    parts = data.split(b"\n")
    for number, line in enumerate(parts):
        cut = not end and number == len(parts) - 1
        if len(line) > 10_000:
            rejects.append((offset, RejectReason.TOO_LARGE))
        for item in decode_line(line, cut) if len(line) <= 10_000 else ():
            if not isinstance(item, Decoded):
                rejects.append((offset, item.reason))
                continue
            whole = SourceRecord(item.value, "u", offset, item.size, item.issues, item.ordinal)
            for part in Otlp().pieces(whole):
                told = (part.offset, part.ordinal, part.size, part.issues, repr(part.value))
                expected.setdefault(Otlp().key(part), []).append(told)
        offset += len(line) + 1
    found = through_the_spill(tmp_path_factory.mktemp("spill"), data, buckets)
    assert sum(key not in (None, "rejects") for records in found for key in records) == len(set(expected) - {None})
    records: dict[str | None, list[Any]] = {}
    for each in found:
        for key, items in each.items():
            records.setdefault(key, []).extend(items)
    told_rejects = [(each.source_offset, each.reason) for each in records.pop("rejects", [])]
    assert sorted(told_rejects) == sorted(rejects)
    told = {
        key: sorted((each.offset, each.ordinal, each.size, each.issues, repr(each.value)) for each in items)
        for key, items in records.items()
    }
    assert told == {key: sorted(items) for key, items in expected.items()}


def chat(trace: int, number: int, text: str) -> dict[str, Any]:
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
    plain = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages}
    values = [{"key": key, "value": {"stringValue": value}} for key, value in plain.items()]
    return span(f"{trace + 1:032x}", number, startTimeUnixNano=str(10**18 + number), attributes=values)


def rows(output: Path) -> list[tuple[Any, ...]]:
    read = table(output, "trajectories").to_pylist()
    return sorted((row["trajectory_id"], row["message_count"], row["event_time"], row["parse_status"]) for row in read)


def test_requests_that_mix_traces_over_many_buckets_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = [chat(trace, number, f"question {trace} {number}") for number in range(3) for trace in range(60)]
    write_lines(tmp_path / "one.jsonl", [request(each) for each in spans])
    write_lines(tmp_path / "mixed.jsonl", [request(*spans[start::18]) for start in range(18)])
    assert run_suite(write_suite(tmp_path, ["one.jsonl"], ANY_TEXT), tmp_path / "one") == 0
    monkeypatch.setattr(graph, "BUCKET_BYTES", 10_000)
    monkeypatch.setattr(reader, "_PIECE_BYTES", 3_000)
    assert run_suite(write_suite(tmp_path, ["mixed.jsonl"], ANY_TEXT), tmp_path / "mixed") == 0
    assert rows(tmp_path / "mixed") == rows(tmp_path / "one")
    manifest = only_manifest(tmp_path / "mixed")
    assert (manifest.records, manifest.trajectories, manifest.rejects) == (180, 60, 0)


def test_a_span_over_the_limit_is_rejected_though_it_fits_in_a_chunk(tmp_path: Path) -> None:
    lines = [request(chat(1, 0, "short")), request(chat(2, 0, "long " * 1000))]
    write_lines(tmp_path / "a.jsonl", lines)
    suite = write_suite(tmp_path, [], ANY_TEXT, input={"paths": ["a.jsonl"], "max_record_bytes": 2_000})
    assert run_suite(suite, tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert (manifest.records, manifest.trajectories, manifest.rejects_by_reason) == (2, 1, {"too_large": 1})


@pytest.mark.parametrize(
    ("sizes", "buckets"),
    [({"a.jsonl": 1}, 1), ({"a.jsonl": 2**25, "b.jsonl": 1}, 2), ({"a.jsonl.gz": 2**25}, 10), ({}, 1)],
)
def test_buckets_are_reckoned_of_plain_bytes(sizes: dict[str, int], buckets: int) -> None:
    inputs = [InputFile(uri=uri, size=size, fingerprint="") for uri, size in sizes.items()]
    assert graph.bucket_count(inputs) == buckets
