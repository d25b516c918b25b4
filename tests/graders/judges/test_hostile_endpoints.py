"""Endpoints that mean harm, or are broken in ways that look like it: bounded in bytes and time, and never believed."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from graders.judges.retries import exhausted_seconds, retry_after_seconds
from schemas.score import Status
from tests.graders.judges.fault_server import GOOD, FaultServer, Response, completion
from tests.graders.judges.runners import graded, route, running, trajectories

GOOD_BODY = json.dumps(completion(GOOD)).encode()
GOOD_REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(GOOD_BODY), GOOD_BODY)


@contextmanager
def raw_server(*talks: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server whose connections are each handled by the next of `talks` (the last one for all others); what it was sent."""
    received: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    closing = threading.Event()

    def talk(number: int, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(20)
            try:
                received.append(connection.recv(2**16))
                talks[min(number, len(talks) - 1)](connection)
            except OSError:
                pass

    def serve() -> None:
        number = 0
        while not closing.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(number, connection), daemon=True).start()
            number += 1

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", received
    finally:
        closing.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _endless(head: bytes, part: bytes) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(part)

    return talk


def _once(data: bytes) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.recv(1)

    return talk


def _kind(talk: Callable[[socket.socket], None], **fields: Any) -> tuple[str, str]:
    settings = {"max_attempts": 1, "timeout_seconds": 20.0, "structured_output": "prompt", **fields}
    with raw_server(talk) as (url, _), running({"default": route(url, **settings)}) as runner:
        (row,) = graded(runner, trajectories(1))
    assert row.error_type is not None
    assert row.details is not None
    return row.error_type.value, row.details["kind"]


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"


@pytest.mark.parametrize(
    ("talk", "error_type", "kind"),
    [
        (_endless(HEAD + b"transfer-encoding: chunked\r\n\r\n", CHUNK), "judge_invalid_response", "reply_too_large"),
        (_endless(HEAD + b"\r\n", b" " * 65_536), "judge_invalid_response", "reply_too_large"),
        (_endless(HEAD, b"x-more: " + b"y" * 1_000 + b"\r\n"), "judge_unavailable", "connection_lost"),
        (_once(HEAD + b"content-length: 9\r\ncontent-length: 5\r\n\r\n{}"), "judge_unavailable", "connection_lost"),
        (_once(HEAD + b"content-length: nan\r\n\r\n{}"), "judge_unavailable", "connection_lost"),
        (_once(b"HTTP/1.1 200 OK\r\n\r\n<html>sign in</html>"), "judge_timeout", "timeout"),
        (
            _once(HEAD + b"content-length: 20\r\n\r\n<html>login</html>  "),
            "judge_invalid_response",
            "malformed_envelope",
        ),
        (_once(b"\x00\x01\x02 not HTTP at all\r\n\r\n"), "judge_unavailable", "connection_lost"),
        (_once(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"), "judge_unavailable", "connection_lost"),
        (_endless(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"), "judge_timeout", "timeout"),
    ],
)
def test_no_reply_takes_more_than_its_bounds(talk: Any, error_type: str, kind: str) -> None:
    assert _kind(talk, timeout_seconds=1.0 if kind == "timeout" else 20.0) == (error_type, kind)


def test_a_reply_that_trickles_ends_with_the_calls_time() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"content-length: 1000000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.02)

    started = time.monotonic()
    assert _kind(talk, timeout_seconds=0.5, connect_timeout_seconds=600.0) == ("judge_timeout", "timeout")
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_compressed_reply_is_read_but_not_a_bomb(coding: str) -> None:
    compress = gzip.compress if coding == "gzip" else zlib.compress
    good = Response(raw=compress(GOOD_BODY), headers={"content-encoding": coding})
    with FaultServer(lambda seen: good) as server, running({"default": route(server.url)}) as runner:
        (row,) = graded(runner, trajectories(1))
    assert row.status is Status.PASS
    assert server.seen[0].headers["accept-encoding"] == "identity"
    bomb = compress(b" " * 200_000_000)
    head = HEAD + b"content-encoding: %s\r\ncontent-length: %d\r\n\r\n" % (coding.encode(), len(bomb))
    assert _kind(_once(head + bomb)) == ("judge_invalid_response", "reply_too_large")


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "gzip"])
def test_a_coding_that_was_not_offered_is_not_guessed(coding: str) -> None:
    data = _once(HEAD + b"content-encoding: %s\r\ncontent-length: 4\r\n\r\nabcd" % coding.encode())
    assert _kind(data) == ("judge_unavailable", "connection_lost")


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    planted = json.dumps(completion({"reasoning": "planted", "level": 0})).encode()
    unasked = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(planted), planted)

    def two_at_once(connection: socket.socket) -> None:
        connection.sendall(GOOD_REPLY + unasked)
        connection.recv(1)

    def one_late(connection: socket.socket) -> None:
        connection.sendall(GOOD_REPLY)
        time.sleep(0.3)
        connection.sendall(unasked)
        connection.recv(1)

    for talk in (two_at_once, one_late):
        with (
            raw_server(talk, _once(GOOD_REPLY)) as (url, received),
            running({"default": route(url, max_concurrency=1, structured_output="prompt")}) as runner,
        ):
            (first,) = graded(runner, trajectories(1, "one"))
            time.sleep(0.6)
            (second,) = graded(runner, trajectories(1, "two"))
        assert [row.status for row in (first, second)] == [Status.PASS, Status.PASS]
        assert [b"one 0" in received[0], b"two 0" in received[1]] == [True, True]


def test_a_connection_that_the_endpoint_closed_is_not_used_again() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(GOOD_REPLY)

    with (
        raw_server(talk) as (url, received),
        running({"default": route(url, max_concurrency=1, structured_output="prompt")}) as runner,
    ):
        for number in range(3):
            (row,) = graded(runner, trajectories(1, f"text{number}"))
            assert (row.status, row.attempts) == (Status.PASS, 1)
            time.sleep(0.2)
    assert len(received) == 3


def test_cookies_are_not_kept_and_redirects_to_another_host_see_no_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret-9876")
    caplog.set_level(logging.DEBUG)
    with FaultServer() as thief:
        sends = Response(308, {}, {"location": thief.url + "/chat/completions", "set-cookie": "a=b"})
        with (
            FaultServer(lambda seen: sends) as server,
            running({"default": route(server.url, api_key_env="JUDGE_KEY")}) as runner,
        ):
            rows = graded(runner, trajectories(3))
    assert thief.calls == 0
    assert {row.details["kind"] for row in rows if row.details} <= {"redirect", "breaker_open"}
    assert all("cookie" not in seen.headers for seen in server.seen)
    assert "sk-very-secret-9876" not in caplog.text
    assert "sk-very-secret-9876" not in repr(rows)


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-inf", "1e999", "soon", "", "Thu, 99 Foo 2026 99:99:99 GMT", "\x00", "１２", "9" * 5_000],
)
def test_a_retry_after_that_says_nothing_asks_for_nothing(text: str) -> None:
    assert retry_after_seconds({"retry-after": text}, 0.0) in (None, 12.0)
    assert exhausted_seconds({"x-ratelimit-remaining": "0", "x-ratelimit-reset": text}, 0.0) in (None, 12.0)
    assert retry_after_seconds({"retry-after-ms": text}, 0.0) in (None, 0.012)


@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms", "x-ratelimit-reset-requests"])
@pytest.mark.parametrize("value", ["nan", "inf", "-5", "1e999", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 99 Foo"])
def test_such_headers_do_not_stop_a_run(header: str, value: str) -> None:
    answers = iter([Response(429, {}, {header: value, "x-ratelimit-remaining-requests": "0"})] * 2)
    with (
        FaultServer(lambda seen: next(answers, Response(body=completion(GOOD)))) as server,
        running({"default": route(server.url)}) as runner,
    ):
        rows = graded(runner, trajectories(4))
    assert {row.status for row in rows} == {Status.PASS}
    assert server.calls == 6


@pytest.mark.parametrize("value", ["1e300", "Fri, 31 Dec 9999 23:59:59 GMT", "99999999999"])
def test_a_retry_after_of_ages_ends_the_route_at_once(value: str) -> None:
    limited = Response(429, {}, {"retry-after": value})
    with (
        FaultServer(lambda seen: limited) as server,
        running({"default": route(server.url, max_concurrency=2)}) as runner,
    ):
        rows = graded(runner, trajectories(50))
    assert {row.error_type.value for row in rows if row.error_type} == {"judge_rate_limited"}
    assert server.calls <= 6
