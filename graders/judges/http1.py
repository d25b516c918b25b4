"""One HTTP/1.1 connection on asyncio, kept open between calls: what httpcore does, for a third of its CPU time.

h11 parses; a connection that says anything unasked, or whose last exchange did not end whole, is never used again. Of
a request's time limits `connect` bounds the connecting and `read` everything from the first byte sent to the last one read.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator

import h11
import httpx

#: A connection that was idle for longer is replaced: the other side may have let go of it.
KEEP_ALIVE_SECONDS = 30.0
#: Status line and headers of a reply, at most.
MAX_HEAD_BYTES = 64 * 2**10


class Http1Lane(httpx.AsyncBaseTransport):
    """One connection to one host, for one call at a time.

    Args:
        tls: for `https`; None speaks plainly.
    """

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._connection: _Connection | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read the head of its response; the body comes as the response's stream.

        Raises:
            httpx.TransportError: of the kind that httpx's own transports raise.
        """
        connection = self._connection
        if connection is None or not connection.is_reusable():
            self._drop()
            connection = await self._connect(request)
        try:
            head = await connection.exchange(request)
        except h11.RemoteProtocolError as error:
            self._drop()
            raise httpx.RemoteProtocolError(str(error)) from error
        except BaseException:
            self._drop()
            raise
        headers = list(head.headers)
        return httpx.Response(head.status_code, headers=headers, stream=_Body(connection))

    async def aclose(self) -> None:
        """Close the connection."""
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.abort()
            self._connection = None

    async def _connect(self, request: httpx.Request) -> _Connection:
        url = request.url
        host = url.raw_host.decode("ascii")
        port = url.port or (443 if url.scheme == "https" else 80)
        tls = self._tls if url.scheme == "https" else None
        made = asyncio.get_running_loop().create_connection(
            _Connection,
            host,
            port,
            ssl=tls,
            server_hostname=host if tls else None,
            happy_eyeballs_delay=0.25,
        )
        seconds = request.extensions.get("timeout", {}).get("connect")
        try:
            _, connection = await asyncio.wait_for(made, seconds)
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise httpx.ConnectTimeout("no connection in time") from error
        except OSError as error:  # refused, unknown host, certificate
            raise httpx.ConnectError("no connection") from error
        self._connection = connection
        return connection


class _Connection(asyncio.Protocol):
    """The socket's side: bytes into h11, events out of it."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._socket: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_open = True
        self._is_busy = False
        self._is_full = False
        self._idle_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_late = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        assert isinstance(transport, asyncio.Transport)
        self._socket = transport

    def data_received(self, data: bytes) -> None:
        """Bytes came; nobody asked for any between two calls."""
        if self._is_busy:
            self._http.receive_data(data)
            self._wake()
        else:
            self.abort()

    def eof_received(self) -> bool:
        """The other side says no more."""
        if self._is_open:
            self._is_open = False
            self._http.receive_data(b"")
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self.eof_received()

    def pause_writing(self) -> None:
        """The other side does not take what is sent as fast as it comes."""
        self._is_full = True

    def resume_writing(self) -> None:
        """It does again."""
        self._is_full = False
        self._wake()

    def is_reusable(self) -> bool:
        """Whether the next call may go this way."""
        return self._is_open and not self._is_busy and time.monotonic() - self._idle_since < KEEP_ALIVE_SECONDS

    def abort(self) -> None:
        """Close at once."""
        self._is_open = False
        self._stop_timer()
        if self._socket is not None:
            self._socket.abort()
        self._wake()

    def end(self) -> None:
        """Close, unless the last response was read whole."""
        if self._is_busy:
            self.abort()

    async def exchange(self, request: httpx.Request) -> h11.Response:
        """Send a request; the head of its response, which may come before all is sent."""
        assert self._socket is not None
        self._is_busy = True
        seconds = request.extensions.get("timeout", {}).get("read")
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)
        target = request.url.raw_path
        head = h11.Request(method=request.method, target=target, headers=request.headers.raw)
        sent = self._http.send(head) or b""
        assert isinstance(request.stream, httpx.AsyncByteStream)
        async for part in request.stream:
            sent += self._http.send(h11.Data(data=part)) or b""
            if len(sent) > 2**16:
                self._socket.write(sent)
                sent = b""
            while self._is_full and self._is_open:
                await self._news()
        self._socket.write(sent + (self._http.send(h11.EndOfMessage()) or b""))
        while True:
            event = await self._event()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise httpx.RemoteProtocolError("no response")

    async def body(self) -> AsyncIterator[bytes]:
        """The parts of the response's body; afterwards the connection is reusable, or closed."""
        while True:
            event = await self._event()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
                continue
            if not isinstance(event, h11.EndOfMessage):
                raise httpx.RemoteProtocolError("the response breaks off")
            break
        assert self._socket is not None
        is_whole = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if self._is_open and is_whole and not self._http.trailing_data[0] and not self._socket.get_write_buffer_size():
            self._http.start_next_cycle()
            self._idle_since = time.monotonic()
            self._is_busy = False
            self._stop_timer()
        else:
            self.abort()

    def _expire(self) -> None:
        self._is_late = True
        self.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _event(self) -> object:
        while True:
            if self._is_late:
                raise httpx.ReadTimeout("no whole response in time")
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if not self._is_open:
                raise httpx.ReadError("the connection is lost")
            await self._news()

    async def _news(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _Body(httpx.AsyncByteStream):
    """A response's body; one that is closed before its end takes the connection with it."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._connection.body():
                yield part
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error

    async def aclose(self) -> None:
        """Done with the body."""
        self._connection.end()
