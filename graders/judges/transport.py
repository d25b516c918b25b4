"""The HTTP transport of a judge process: many calls at once, no pool that looks at every connection for every call.

The stock pool polls all idle sockets whenever a call begins or ends: at 64 connections that is most of a call's CPU
time. Here every call takes a lane of its own (a transport with one connection), the one that was used last first. Where
an endpoint speaks HTTP/2, all calls share one connection and need no lanes; through a proxy, lanes are httpx's own.
"""

from __future__ import annotations

import logging
import ssl
import urllib.request
from collections.abc import AsyncIterator
from functools import cached_property

import httpx

from graders.judges.http1 import KEEP_ALIVE_SECONDS, Http1Lane


class LaneTransport(httpx.AsyncBaseTransport):
    """One lane a call in flight for HTTP/1.1, one shared transport where HTTP/2 is offered. Minds proxy variables."""

    def __init__(self) -> None:
        for library in ("httpx", "httpcore"):  # they log every request
            if logging.getLogger(library).level == logging.NOTSET:
                logging.getLogger(library).setLevel(logging.WARNING)
        self._shared: dict[tuple[str, str, int | None], httpx.AsyncBaseTransport] = {}
        self._plain: set[tuple[str, str, int | None]] = set()
        """Hosts that do not offer HTTP/2."""
        self._idle: dict[tuple[str, str, int | None], list[httpx.AsyncBaseTransport]] = {}
        self._lanes: list[httpx.AsyncBaseTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request on a lane that is free, or on the host's shared HTTP/2 connection."""
        host = (request.url.scheme, request.url.host, request.url.port)
        if request.url.scheme == "https" and host not in self._plain:
            if host not in self._shared:
                self._shared[host] = self._make(host, http2=True)
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

    def _new_lane(self, host: tuple[str, str, int | None]) -> httpx.AsyncBaseTransport:
        lane = self._make(host, http2=False)
        self._lanes.append(lane)
        return lane

    def _make(self, host: tuple[str, str, int | None], *, http2: bool) -> httpx.AsyncBaseTransport:
        scheme, name, _ = host
        proxy = None if urllib.request.proxy_bypass(name) else urllib.request.getproxies().get(scheme)
        if proxy is None and not http2:
            return Http1Lane(self._lane_tls if scheme == "https" else None)
        most = None if http2 else 1
        limits = httpx.Limits(max_connections=most, max_keepalive_connections=most, keepalive_expiry=KEEP_ALIVE_SECONDS)
        return httpx.AsyncHTTPTransport(verify=self._tls, http2=http2, limits=limits, proxy=proxy)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """httpx's, which sets in it what it offers to speak."""
        return httpx.create_ssl_context()

    @cached_property
    def _lane_tls(self) -> ssl.SSLContext:
        context = httpx.create_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        return context


class _LaneStream(httpx.AsyncByteStream):
    """A response's body that gives its lane back when it is closed."""

    def __init__(
        self, stream: httpx.AsyncByteStream, lane: httpx.AsyncBaseTransport, idle: list[httpx.AsyncBaseTransport]
    ) -> None:
        self._stream = stream
        self._lane = lane
        self._idle: list[httpx.AsyncBaseTransport] | None = idle

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
