"""Questions by a provider's batch API: upload, submit, poll, download; batches of earlier executions are picked up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Set
from typing import Any

import orjson

from graders.judges.batch_files import TERMINAL, Chunk, chunks_of, metadata, own_batches, replies_in, request_file
from graders.judges.batch_pending import BatchPending
from graders.judges.choice import Failure
from graders.judges.client import MALFORMED, ChatClient, Fault
from graders.judges.limits import Ask, Ledger, Settlement, nano_usd
from graders.judges.pricing import worst_usage
from graders.judges.request import JudgeReply, JudgeRequest
from graders.judges.retries import backoff_seconds
from graders.judges.structured import LADDER

MAX_PAGES = 200
MAX_RESULT_BYTES = 2**30


class BatchDesk:
    """The batches of one route in one process. Lives in the runner's event loop."""

    def __init__(self, name: str, client: ChatClient, ledger: Ledger, run_id: str, random: Callable[[], float]) -> None:
        self._name = name
        self._client = client
        self._options = client.route.batch
        self._ledger = ledger
        self._run_id = run_id
        self._random = random
        self._known: dict[str, dict[str, Any]] | None = None
        self._listing = asyncio.Lock()
        self._waits_until: float | None = None

    async def replies(self, asked: Mapping[str, JudgeRequest], missing: Set[str]) -> dict[str, JudgeReply | Failure]:
        """What batches have for these questions, by key. Keys without an entry are to be asked singly.

        Args:
            asked: all questions of a block by key; they decide which batch is whose.
            missing: keys of those that are not in the cache.

        Raises:
            BatchPending: some batches are not finished; all of the block's are submitted.
        """
        submitted: list[tuple[Chunk, dict[str, Any]]] = []
        found: dict[str, JudgeReply | Failure] = {}
        for chunk in chunks_of(asked, self._options.max_requests):
            wanted = [key for key in chunk.keys if key in missing]
            if not wanted:
                continue
            batch = await self._find_or_submit(chunk, {key: asked[key] for key in wanted})
            if isinstance(batch, Fault):
                found.update(dict.fromkeys(wanted, _unavailable(batch)))
            elif batch is not None:
                submitted.append((chunk, batch))
        pending = []
        for chunk, batch in submitted:
            finished = await self._finished(batch)
            if isinstance(finished, Fault):
                found.update({key: _unavailable(finished) for key in chunk.keys if key in missing})
            elif finished is None:
                pending.append(str(batch["id"]))
            else:
                found.update(await self._results(chunk, finished))
        if pending:
            raise BatchPending(*pending)
        return found

    async def _find_or_submit(self, chunk: Chunk, asked: Mapping[str, JudgeRequest]) -> dict[str, Any] | Fault | None:
        """The chunk's batch, new or known; None where the budget has no room (its calls are then counted singly)."""
        async with self._listing:
            if self._known is None:
                listed = await self._list()
                if isinstance(listed, Fault):
                    return listed
                self._known = listed
            if chunk.id in self._known:
                return self._known[chunk.id]
            worst = [worst_usage(request, self._client.route).cost_usd for request in asked.values()]
            ask = Ask(0, sum(nano_usd(cost) for cost in worst), len(asked))
            if not self._ledger.reserve(self._holding(chunk), self._name, ask):
                return None
            batch = await self._submit(chunk, asked)
            if isinstance(batch, Fault):
                self._ledger.release(self._holding(chunk), Settlement(0, None if batch.maybe_paid else 0))
            else:
                self._known[chunk.id] = batch
            return batch

    async def _submit(self, chunk: Chunk, asked: Mapping[str, JudgeRequest]) -> dict[str, Any] | Fault:
        mode = LADDER[0] if self._client.route.structured_output == "auto" else self._client.route.structured_output
        data = request_file((key, self._client.body(request, mode)) for key, request in asked.items())
        files = {"file": (f"{chunk.id}.jsonl", data, "application/jsonl")}
        uploaded = await self._send("POST", "/files", _with_id, files=files, data={"purpose": "batch"})
        if isinstance(uploaded, Fault):
            return uploaded
        body = {
            "input_file_id": uploaded["id"],
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": metadata(self._run_id, self._name, chunk.id),
        }
        for tries in range(1, self._client.route.max_attempts + 1):
            batch = await self._client.send("POST", "/batches", _with_id, body)
            if not isinstance(batch, Fault) or not batch.retry:
                return batch
            await asyncio.sleep(backoff_seconds(tries, self._random()))
            listed = await self._list()  # the batch may stand although its reply was lost
            if not isinstance(listed, Fault) and chunk.id in listed:
                return listed[chunk.id]
        return batch

    async def _finished(self, batch: dict[str, Any]) -> dict[str, Any] | Fault | None:
        """The batch once it changes no more; None where it has not got there in the time that this run waits."""
        while not _is_final(batch):
            current = await self._send("GET", f"/batches/{batch['id']}", _with_id)
            if isinstance(current, Fault):
                return current
            batch = {**batch, **current, "id": batch["id"]}
            if _is_final(batch):
                break
            now = time.monotonic()
            if self._waits_until is None:
                self._waits_until = now + self._options.wait_seconds
            if now >= self._waits_until:
                return None
            await asyncio.sleep(min(self._options.poll_seconds, self._waits_until - now))
        return batch

    async def _results(self, chunk: Chunk, batch: Mapping[str, Any]) -> dict[str, JudgeReply]:
        found: dict[str, JudgeReply] = {}
        for name in ("output_file_id", "error_file_id"):
            if isinstance(batch.get(name), str):
                data = await self._send("GET", f"/files/{batch[name]}/content", bytes, most_bytes=MAX_RESULT_BYTES)
                if not isinstance(data, Fault):
                    found.update(replies_in(data, self._client.route))
        costs = [reply.usage.cost_usd for reply in found.values()]
        self._ledger.release(self._holding(chunk), Settlement(0, sum(nano_usd(cost) for cost in costs)))
        return {key: found[key] for key in chunk.keys if key in found}

    async def _list(self) -> dict[str, dict[str, Any]] | Fault:
        """The run's batches of this route that the provider knows."""
        listed: list[Any] = []
        after: dict[str, str] = {}
        for _ in range(MAX_PAGES):
            page = await self._send("GET", "/batches", _object, params={"limit": "100", **after})
            if isinstance(page, Fault):
                return page
            data = page.get("data")
            listed.extend(data if isinstance(data, list) else [])
            if not page.get("has_more") or not data or not isinstance(data[-1], dict):
                break
            after = {"after": str(data[-1].get("id"))}
        return own_batches(listed, self._run_id, self._name)

    async def _send(self, method: str, path: str, read: Callable[[bytes], Any], **more: Any) -> Any:
        """One exchange, tried again where that helps; only for what may be done twice."""
        tries = 0
        while True:
            tries += 1
            outcome = await self._client.send(method, path, read, **more)
            if not isinstance(outcome, Fault) or not outcome.retry or tries >= self._client.route.max_attempts:
                return outcome
            await asyncio.sleep(backoff_seconds(tries, self._random()))

    def _holding(self, chunk: Chunk) -> str:
        return f"{self._name}:{chunk.id}"


def _object(content: bytes) -> dict[str, Any] | Fault:
    value = orjson.loads(content)
    return value if isinstance(value, dict) else MALFORMED


def _with_id(content: bytes) -> dict[str, Any] | Fault:
    value = _object(content)
    return value if isinstance(value, Fault) or isinstance(value.get("id"), str) else MALFORMED


def _is_final(batch: Mapping[str, Any]) -> bool:
    return isinstance(batch.get("status"), str) and batch["status"] in TERMINAL


def _unavailable(fault: Fault) -> Failure:
    details = {} if fault.status is None else {"http_status": fault.status}
    message = f"the provider's batch API failed: {fault.kind.replace('_', ' ')}"
    return Failure(fault.error_type, "batch_unavailable", message, {"cause": fault.kind, **details})
