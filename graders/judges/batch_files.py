"""The files and names of provider batches, pure: questions cut into chunks, lines out, result lines in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from graders.judges.client import read_completion
from graders.judges.request import JudgeReply, JudgeRequest
from schemas.routes import RouteConfig

ENDPOINT = "/v1/chat/completions"
#: Below the providers' bound of 200 MB a file.
MAX_FILE_BYTES = 100 * 2**20
#: Statuses after which a batch changes no more.
TERMINAL = frozenset({"completed", "expired", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class Chunk:
    """Questions that go into one batch. The id depends on the questions alone, so a rerun finds the batch again."""

    id: str
    keys: tuple[str, ...]


def chunks_of(asked: Mapping[str, JudgeRequest], max_requests: int) -> list[Chunk]:
    """Questions by key as chunks, in order of key, none above the bounds for requests and bytes."""
    chunks: list[Chunk] = []
    keys: list[str] = []
    size = 0
    for key in sorted(asked):
        length = asked[key].prompt_bytes
        if keys and (len(keys) >= max_requests or size + length > MAX_FILE_BYTES):
            chunks.append(_chunk(keys))
            keys, size = [], 0
        keys.append(key)
        size += length
    return [*chunks, _chunk(keys)] if keys else chunks


def request_file(bodies: Iterable[tuple[str, Mapping[str, Any]]]) -> bytes:
    """The input file of a batch: one line a question, its key as `custom_id`."""
    return b"".join(
        orjson.dumps({"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body}) + b"\n"
        for key, body in bodies
    )


def replies_in(data: bytes, route: RouteConfig) -> dict[str, JudgeReply]:
    """The usable lines of an output file by key; failed, cut and foreign lines are left out (they are asked singly)."""
    found: dict[str, JudgeReply] = {}
    for line in data.split(b"\n"):
        try:
            value = orjson.loads(line) if line.strip() else None
        except orjson.JSONDecodeError:
            continue
        if not isinstance(value, dict) or not isinstance(value.get("custom_id"), str):
            continue
        response = value.get("response")
        if not isinstance(response, dict) or response.get("status_code") != 200:
            continue
        reply = read_completion(response.get("body"), route, batch=True)
        if reply is not None:
            found[value["custom_id"]] = reply
    return found


def metadata(run_id: str, route: str, chunk: str) -> dict[str, str]:
    """What a batch carries so that a rerun knows it."""
    return {"gradebeam_run": run_id, "gradebeam_route": route, "gradebeam_chunk": chunk}


def own_batches(listed: Sequence[Any], run_id: str, route: str) -> dict[str, dict[str, Any]]:
    """The run's batches of a route by chunk, from a listing."""
    found: dict[str, dict[str, Any]] = {}
    for batch in listed:
        marks = batch.get("metadata") if isinstance(batch, dict) else None
        if not isinstance(marks, dict) or not isinstance(batch.get("id"), str):
            continue
        chunk = marks.get("gradebeam_chunk")
        if isinstance(chunk, str) and marks == metadata(run_id, route, chunk):
            found.setdefault(chunk, batch)
    return found


def _chunk(keys: Sequence[str]) -> Chunk:
    return Chunk(hashlib.sha256("\n".join(keys).encode()).hexdigest()[:32], tuple(keys))
