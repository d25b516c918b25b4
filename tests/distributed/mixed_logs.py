"""Logs of mixed shapes and compressions, the same for every call, and a suite with every deterministic grader."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
import zstandard

from graders.registry import grader_types

_ANSWERS = (
    "hello there, your ticket is BUG-1234",
    "I'm sorry, I cannot do that.",
    '{"status": "ok", "total": 42}',
    "Schön, danke: das war alles 🙂",
    "write to jane.doe@example.com or +1 415 555 0132",
    "the result is 3.14 and nothing else matters",
    "",
)
_Compress = Callable[[bytes], bytes]
_COMPRESSIONS: tuple[tuple[str, _Compress], ...] = (
    ("", bytes),
    (".gz", lambda data: gzip.compress(data, 1, mtime=0)),
    (".zst", zstandard.ZstdCompressor(level=1).compress),
    (".bz2", lambda data: bz2.compress(data, 1)),
    (".xz", lambda data: lzma.compress(data, preset=0)),
)


def write_mixed_logs(folder: Path, records: int, files: int) -> None:
    """Write about `records` records in `files` files: chats, agents with tools, spans that belong together, rows, damage, duplicates."""
    folder.mkdir(parents=True, exist_ok=True)
    each = max(records // files, 1)
    shapes = (_chats, _tools, _spans, _damaged)
    for number in range(files):
        start = number * each
        if number % 8 == 7:
            _write_parquet(folder / f"{number:03d}-rows.parquet", list(_chats(start, each)))
            continue
        suffix, compress = _COMPRESSIONS[number // len(shapes) % len(_COMPRESSIONS)]
        lines = shapes[number % len(shapes)](start, each)
        data = b"".join(line if isinstance(line, bytes) else orjson.dumps(line) + b"\n" for line in lines)
        (folder / f"{number:03d}.jsonl{suffix}").write_bytes(compress(data))
    (folder / "again.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in _chats(0, min(each, 500))))


def deterministic_graders() -> list[dict[str, Any]]:
    """One grader of every type that asks no judge, configured as its own example says, and those that the composites name."""
    types = grader_types()
    named = [
        {"name": "no-refusal", "type": "transcript-not-matches", "pattern": "(?i)cannot"},
        {"name": "ticket-id", "type": "regex", "pattern": "BUG-[0-9]{4}"},
        {"name": "short", "type": "length", "max": 6, "unit": "words"},
    ]
    return named + [
        {"name": name, "type": name, **types[name].example}
        for name in sorted(types)
        if types[name].taxonomy.determinism != "llm"
    ]


def write_mixed_suite(folder: Path, pattern: str) -> Path:
    """A suite with all of them."""
    suite = {
        "name": "mixed",
        "input": {"paths": [pattern]},
        "graders": deterministic_graders(),
        "allow": {"rejects": 1, "errors": 1},
    }
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False, allow_unicode=True))
    return path


def _chats(start: int, count: int) -> Iterator[Any]:
    for number in range(start, start + count):
        answer = _ANSWERS[number % len(_ANSWERS)] + " and so on" * (number % 5)
        yield {
            "id": f"c-{number}",
            "messages": [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": answer},
            ],
            "reference": "hello there",
            "model": f"m-{number % 3}",
            "created_at": f"2026-11-{1 + number % 28:02d}T08:00:00Z",
        }


def _tools(start: int, count: int) -> Iterator[Any]:
    for number in range(start, start + count):
        call = {"id": f"call-{number}", "type": "function"}
        arguments = orjson.dumps({"path": f"/srv/{number % 9}.txt", "depth": number % 4}).decode()
        yield {
            "id": f"t-{number}",
            "messages": [
                {"role": "user", "content": f"look into file {number % 9}"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {**call, "function": {"name": ("search", "read")[number % 2], "arguments": arguments}}
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": call["id"],
                    "content": "Error: no such file" if number % 6 == 0 else "42 lines",
                },
                {"role": "assistant", "content": _ANSWERS[(number * 3) % len(_ANSWERS)]},
            ],
            "usage": {"prompt_tokens": 10 + number % 90, "completion_tokens": 5 + number % 40},
        }


def _spans(start: int, count: int) -> Iterator[Any]:
    """OpenTelemetry spans, two a trace, the two of a trace far apart."""
    for half in range(2):
        for number in range(start, start + count // 2):
            begun = 1_790_000_000_000_000_000 + number * 1_000_000 + half * 1_000
            yield {
                "trace_id": f"{number + 1:032x}",
                "span_id": f"{2 * number + half + 1:016x}",
                "parent_id": None if half == 0 else f"{2 * number + 1:016x}",
                "name": "chat gpt",
                "start_time_unix_nano": begun,
                "end_time_unix_nano": begun + 500,
                "attributes": {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "m",
                    "gen_ai.input.messages": orjson.dumps(
                        [{"role": "user", "parts": [{"type": "text", "content": f"q {number}"}]}]
                    ).decode(),
                    "gen_ai.output.messages": orjson.dumps(
                        [
                            {
                                "role": "assistant",
                                "parts": [{"type": "text", "content": _ANSWERS[number % len(_ANSWERS)]}],
                            }
                        ]
                    ).decode(),
                },
            }


def _damaged(start: int, count: int) -> Iterator[Any]:
    for place, record in enumerate(_chats(start, count)):
        if place % 97 == 13:
            yield b'{"id": "cut", "messages": [{"role": "user"\n'
        elif place % 97 == 29:
            yield b"\xff\xfe not text \x00\n"
        elif place % 97 == 31:
            yield b"\n"
        else:
            yield record


def _write_parquet(path: Path, records: list[Any]) -> None:
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=max(len(records) // 3, 1))
