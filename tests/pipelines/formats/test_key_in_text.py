"""A key told from a line's text is the key that decoding gives, or none is told."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.formats.container import Container, SourceRecord
from pipelines.formats.containers.braintrust import Braintrust
from pipelines.formats.containers.langfuse import Langfuse
from pipelines.formats.containers.otel_spans import OtelSpans
from pipelines.formats.containers.otlp import Otlp
from pipelines.formats.containers.phoenix import Phoenix
from pipelines.formats.json_values import Decoded, decode_line

CONTAINERS = [Otlp(), OtelSpans(), Phoenix(), Langfuse(), Braintrust()]
HEX = "0af7651916cd43dd8448eb211c80319c"
KEYS = [
    "traceId", "trace_id", "context", "context.trace_id", "spanContext", "span_kind", "attributes", "span", "spans", "resource",
    "resourceSpans", "scopeSpans", "links", "trace", "observations", "timestamp", "sessionId", "id", "type", "startTime",
    "root_span_id", "span_id", "x",
]  # fmt: skip
IDS = st.sampled_from([HEX, HEX.upper(), HEX[::-1], "0" * 32, "a", 'a"b', "ü", "", 7, None, "SPAN"])
VALUES = st.recursive(
    IDS | st.just('{"trace_id": "b"}'),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


def keys_by_decoding(container: Container, line: bytes) -> set[str | None]:
    records = [SourceRecord(item.value, "u", 0, 1) for item in decode_line(line) if isinstance(item, Decoded)]
    return {container.key(part) for record in records for part in container.pieces(record)}


def written(value: Any, separators: tuple[str, str], escaped: str | None, chance: random.Random) -> bytes:
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5, separators=separators)
    if escaped is not None:
        text = text.replace(escaped, f"\\u{ord(escaped):04x}", 1)
    return text.encode()


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
@given(
    values=st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=6), min_size=1, max_size=2),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]),
    escaped=st.sampled_from([None, None, "I", "_", "t", "d"]),
    seed=st.integers(0, 9),
)
def test_no_other_key_is_told(
    container: Container, values: list[Any], separators: tuple[str, str], escaped: str | None, seed: int
) -> None:
    line = b" ".join(written(value, separators, escaped, random.Random(seed)) for value in values)
    told = container.key_of_line(line)
    if told is not None:
        assert keys_by_decoding(container, line) <= {told, None}


SPAN = b'{"traceId":"%b","spanId":"b7ad6b7169203331","name":"chat","attributes":[]}' % HEX.encode()
REQUEST = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%b]}]}]}'
OBSERVATION = b'{"id":"o","traceId": "t","type":"SPAN","startTime":"2025-04-04T12:00:00Z"%b}'


@pytest.mark.parametrize(
    ("container", "line", "told"),
    [
        (Otlp(), REQUEST % SPAN, HEX),
        (Otlp(), REQUEST % SPAN.replace(b":", b": "), HEX),
        (Otlp(), REQUEST % SPAN.replace(b"0af", b"0AF"), HEX),
        (Otlp(), REQUEST % (SPAN + b"," + SPAN), HEX),
        (Otlp(), REQUEST % (SPAN + b"," + SPAN.replace(b"0af", b"1af")), None),
        (Otlp(), REQUEST % SPAN.replace(b"traceId", b"trace\\u0049d"), None),
        (Otlp(), REQUEST % (SPAN + b"," + SPAN.replace(b"traceId", b"trace_id")), None),
        (Otlp(), REQUEST % SPAN.replace(HEX.encode(), b"0" * 32), None),
        (Otlp(), REQUEST % SPAN.replace(b"chat", b'say \\"traceId\\":\\"x\\"'), None),
        (Otlp(), REQUEST % SPAN.replace(b"chat", b"\\u001b[0m"), HEX),
        (Langfuse(), OBSERVATION % b"", "t"),
        (Langfuse(), OBSERVATION % b',"trace":{"id":"other"}', None),
        (Langfuse(), b'{"id":"other","timestamp":1,"userId":"u","metadata":{"traceId":"t"}}', None),
        (Phoenix(), b'{"context":{"trace_id":"t","span_id":"s"},"span_kind":"LLM"}', "t"),
        (Phoenix(), b'{"context":"{\\"trace_id\\":\\"t\\"}","span_kind":"LLM","attributes":{"trace_id":"u"}}', None),
        (Braintrust(), b'{"root_span_id":"r","span_id":"s","span_attributes":{}}', "r"),
    ],
)
def test_what_is_told(container: Container, line: bytes, told: str | None) -> None:
    assert container.key_of_line(line) == told
    if told is not None:
        assert keys_by_decoding(container, line) == {told}
