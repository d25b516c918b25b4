"""Lanes for HTTP/1.1, one shared connection where HTTP/2 is offered, proxies from the environment."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from graders.judges.transport import LaneTransport


class Counting(httpx.AsyncBaseTransport):
    """A transport that answers at once in a given version of HTTP."""

    def __init__(self, version: bytes) -> None:
        self.version = version
        self.calls = 0
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        await asyncio.sleep(0.01)
        if "fail" in str(request.url):
            raise httpx.ConnectError("no")
        return httpx.Response(200, stream=httpx.ByteStream(b"ok"), extensions={"http_version": self.version})

    async def aclose(self) -> None:
        self.closed = True


def _run(
    monkeypatch: pytest.MonkeyPatch, urls: list[str], *, offered: bytes = b"HTTP/2"
) -> tuple[list[Counting], list[bool]]:
    made: list[Counting] = []
    http2: list[bool] = []

    def make(self: LaneTransport, host: Any, *, http2: bool) -> Counting:
        made.append(Counting(offered if http2 else b"HTTP/1.1"))
        kinds.append(http2)
        return made[-1]

    kinds = http2
    monkeypatch.setattr(LaneTransport, "_make", make)

    async def work() -> None:
        async with httpx.AsyncClient(transport=LaneTransport()) as client:
            await asyncio.gather(*(client.get(url) for url in urls[:1]), return_exceptions=True)
            await asyncio.gather(*(client.get(url) for url in urls[1:]), return_exceptions=True)
            await asyncio.gather(*(client.get(url) for url in urls[1:]), return_exceptions=True)

    asyncio.run(work())
    assert all(transport.closed for transport in made)
    return made, http2


def test_every_call_in_flight_has_its_lane_and_lanes_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made, http2 = _run(monkeypatch, ["http://a/"] * 6)
    assert (len(made), sum(transport.calls for transport in made), set(http2)) == (5, 11, {False})


def test_http2_needs_no_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    made, http2 = _run(monkeypatch, ["https://a/"] * 6)
    assert ([transport.calls for transport in made], http2) == ([11], [True])


def test_a_host_without_http2_gets_lanes_after_its_first_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    made, http2 = _run(monkeypatch, ["https://a/"] * 6, offered=b"HTTP/1.1")
    assert made[0].calls == 1
    assert http2 == [True] + [False] * 5


def test_a_lane_whose_call_fails_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = _run(monkeypatch, ["http://a/fail"] * 4)
    assert len(made) == 3


def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    given: list[Any] = []
    monkeypatch.setattr(httpx, "AsyncHTTPTransport", lambda **more: given.append(more["proxy"]))
    transport = LaneTransport()
    for name in ("outside.example", "inside.example"):
        transport._make(("http", name, None), http2=False)
    transport._make(("https", "inside.example", None), http2=True)
    assert given == ["http://proxy.example:3128", None]
