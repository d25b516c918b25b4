"""The HTTP transport of a judge process: many calls at once, no pool that looks at every connection for every call.

The stock pool polls all idle sockets whenever a call begins or ends: at 64 connections that is most of a call's CPU
time. Here every call takes a lane of its own (a transport with one connection), the one that was used last first. Where
an endpoint speaks HTTP/2, all calls share one connection and need no lanes.
"""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import AsyncIterator

import httpx


class LaneTransport(httpx.AsyncBaseTransport):
    """One lane a call in flight for HTTP/1.1, one shared transport where HTTP/2 is offered. Minds proxy variables."""

    def __init__(self) -> None:
        for library in ("httpx", "httpcore"):  # they log every request
            if logging.getLogger(library).level == logging.NOTSET:
                logging.getLogger(library).setLevel(logging.WARNING)
        self._ssl = httpx.create_ssl_context()
        self._shared: dict[tuple[str, str, int | None], httpx.AsyncHTTPTransport] = {}
        self._plain: set[tuple[str, str, int | None]] = set()
        """Hosts that do not offer HTTP/2."""
        self._idle: dict[tuple[str, str, int | None], list[httpx.AsyncHTTPTransport]] = {}
        self._lanes: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request on a lane that is free, or on the host's shared HTTP/2 connection."""
        host = (request.url.scheme, request.url.host, request.url.port)
        if request.url.scheme == "https" and host not in self._plain:
            if host not in self._shared:
                self._shared[host] = self._make(host, http2=True, connections=None)
            response = await self._shared[host].handle_async_request(request)
            if response.extensions.get("http_version") != b"HTTP/2":
                self._plain.add(host)
            return response
        idle = self._idle.setdefault(host, [])
        lane = idle.pop() if idle else self._new_lane(host)
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            idle.append(lane)
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _LaneStream(response.stream, lane, idle)
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        for transport in [*self._shared.values(), *self._lanes]:
            await transport.aclose()

    def _new_lane(self, host: tuple[str, str, int | None]) -> httpx.AsyncHTTPTransport:
        lane = self._make(host, http2=False, connections=1)
        self._lanes.append(lane)
        return lane

    def _make(
        self, host: tuple[str, str, int | None], *, http2: bool, connections: int | None
    ) -> httpx.AsyncHTTPTransport:
        scheme, name, _ = host
        proxy = None if urllib.request.proxy_bypass(name) else urllib.request.getproxies().get(scheme)
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=30.0)
        return httpx.AsyncHTTPTransport(verify=self._ssl, http2=http2, limits=limits, proxy=proxy)


class _LaneStream(httpx.AsyncByteStream):
    """A response's body that gives its lane back when it is closed."""

    def __init__(
        self, stream: httpx.AsyncByteStream, lane: httpx.AsyncHTTPTransport, idle: list[httpx.AsyncHTTPTransport]
    ) -> None:
        self._stream = stream
        self._lane = lane
        self._idle: list[httpx.AsyncHTTPTransport] | None = idle

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        """Close the body and free the lane."""
        try:
            await self._stream.aclose()
        finally:
            if self._idle is not None:
                self._idle.append(self._lane)
                self._idle = None
