"""A chat-completions endpoint on loopback that answers well, late, wrongly or not at all, and counts what it did."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 40}}
GOOD = {"reasoning": "fine", "level": 1}
#: What a server may do instead of answering well.
FAULTS = (
    "429_retry_after",
    "429",
    "500",
    "503",
    "drop_before",
    "drop_in_body",
    "slow_body",
    "malformed_envelope",
    "truncated_envelope",
    "wrong_schema",
    "prose",
    "truncated_reply",
)


@dataclass
class Seen:
    """One request that arrived."""

    path: str
    headers: Mapping[str, str]
    body: Any
    at: float
    method: str = "POST"
    raw: bytes = b""

    @property
    def question(self) -> str:
        """The same for all calls of one judgment, repairs included."""
        return hashlib.sha256(json.dumps(self.body["messages"][:2]).encode()).hexdigest()


@dataclass
class Response:
    """What to answer. `cut` sends only so many bytes of the body, then closes; status 0 closes at once."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    slow: float = 0.0
    raw: bytes | None = None

    def encoded(self) -> tuple[bytes, bytes]:
        """Head and body on the wire."""
        body = self.raw if self.raw is not None else json.dumps(self.body).encode()
        lines = [f"HTTP/1.1 {self.status} X", "content-type: application/json", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n", body


def completion(content: Any, *, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion whose reply is `content` (an object is written as JSON)."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "model": "fake-1", "choices": [choice], "usage": USAGE}


class FaultServer:
    """Serves in its own thread from `with` on. `answer(seen)` decides; the default answers well."""

    def __init__(self, answer: Callable[[Seen], Response] | None = None) -> None:
        self.answer = answer or (lambda seen: Response(body=completion(GOOD)))
        self.seen: list[Seen] = []
        self.calls = 0
        self.keep_requests = True
        self.finished: Counter[str] = Counter()
        """Good replies that went out whole, by question."""
        self.called_after_finish = 0
        self.billed = 0
        """Replies with status 200 and usage that went out whole."""
        self.in_flight = 0
        self.most_in_flight = 0
        self._ready = threading.Event()

    @property
    def url(self) -> str:
        """The base URL of a route."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> FaultServer:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=2**24, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:] if line}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(raw) if headers.get("content-type") == "application/json" and raw else None
        seen = Seen(path, headers, body, time.monotonic(), method, raw if self.keep_requests else b"")
        self.calls += 1
        if self.keep_requests:
            self.seen.append(seen)
        question = seen.question if body and "messages" in body else ""
        if question and question in self.finished:
            self.called_after_finish += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._respond(self.answer(seen), question, writer)
        finally:
            self.in_flight -= 1

    async def _respond(self, response: Response, question: str, writer: asyncio.StreamWriter) -> bool:
        if response.delay:
            await asyncio.sleep(response.delay)
        if response.status == 0:
            writer.transport.abort()
            return False
        head, body = response.encoded()
        if response.cut is not None:
            writer.write(head + body[: response.cut])
            await writer.drain()
            return False
        if response.slow:
            writer.write(head)
            for start in range(0, len(body), 64):
                writer.write(body[start : start + 64])
                await writer.drain()
                await asyncio.sleep(response.slow)
        else:
            writer.write(head + body)
            await writer.drain()
        if response.status == 200 and isinstance(response.body, dict) and "usage" in response.body:
            self.billed += 1
            if response.body["choices"][0]["message"]["content"] == json.dumps(GOOD):
                self.finished[question] += 1
        return True


class FaultPlan:
    """Answers with faults at set rates, the rest well; seeded."""

    def __init__(self, rates: Mapping[str, float], seed: int = 1, latency: float = 0.0) -> None:
        self.counts: Counter[str] = Counter()
        self._rates = dict(rates)
        self._random = random.Random(seed)
        self._latency = latency

    def __call__(self, seen: Seen) -> Response:
        """The response to one request."""
        drawn = self._random.random()
        kind = "good"
        for fault, rate in self._rates.items():
            if 0 <= drawn < rate:
                kind = fault
            drawn -= rate
        self.counts[kind] += 1
        response = faulty(kind)
        response.delay = self._latency * self._random.random() * 2
        return response


def faulty(kind: str) -> Response:
    """The response of one kind."""
    good = json.dumps(completion(GOOD)).encode()
    return {
        "good": lambda: Response(body=completion(GOOD)),
        "429_retry_after": lambda: Response(429, {"error": {"code": "rate_limit"}}, {"retry-after": "0.01"}),
        "429": lambda: Response(429, {"error": {"message": "slow down"}}),
        "500": lambda: Response(500, {"error": {"message": "oops"}}),
        "503": lambda: Response(503, {}),
        "drop_before": lambda: Response(0),
        "drop_in_body": lambda: Response(raw=good, cut=40),
        "slow_body": lambda: Response(body=completion("slow"), slow=5.0),
        "malformed_envelope": lambda: Response(raw=b"<html>502</html>"),
        "truncated_envelope": lambda: Response(raw=good[:90]),
        "wrong_schema": lambda: Response(body=completion({"reasoning": "x", "level": "1"})),
        "prose": lambda: Response(body=completion("I think level 1.")),
        "truncated_reply": lambda: Response(body=completion('{"reasoning": "so', finish_reason="length")),
    }[kind]()
