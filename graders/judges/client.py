"""One HTTP call to a chat-completions endpoint: a reply, or a fault of a known kind.

Nothing that an endpoint or the HTTP library says gets into a fault but status and error code: their texts may quote the
prompt or the key.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import httpx
import orjson

from graders.judges.keys import missing_keys
from graders.judges.pricing import cost_of
from graders.judges.request import JudgeReply, JudgeRequest, TokenUsage
from graders.judges.structured import Mode, response_format
from schemas.routes import RouteConfig
from schemas.score import ErrorType

Result = TypeVar("Result")
MAX_REPLY_BYTES = 4 * 2**20
MAX_REDIRECTS = 3
#: Nothing is compressed that need not be inflated with care; some proxies compress all the same.
_HEADERS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "gradebeam"}
_CODINGS = frozenset({"identity", "gzip", "x-gzip", "deflate"})
#: Tells zlib to find out by itself whether it is gzip or deflate.
_ANY_WINDOW = 47
#: An error code that is a plain word is stored; anything else could be a key or a quote.
_CODE = re.compile(r"[a-z][a-z_]{0,63}")
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context length|context window|too many tokens", re.I
)
_FORMAT = re.compile(r"response_format|json_schema|json_object|structured output|grammar", re.I)
_FILTERED = re.compile(r"content_filter|content_policy_violation|responsible_ai", re.I)
_QUOTA = re.compile(r"insufficient_quota|billing_hard_limit|credit", re.I)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a call gave no reply."""

    kind: str
    error_type: ErrorType
    retry: bool = False
    status: int | None = None
    code: str | None = None
    headers: Mapping[str, str] | None = None
    """Of an answer that limits us (429, 503)."""
    maybe_paid: bool = False
    """Whether the endpoint may have done the work."""
    refusal_for_all: bool = False
    """Whether every call would be refused so (a wrong key)."""

    @property
    def rate_limited(self) -> bool:
        """Whether the endpoint says that it is too much."""
        return self.kind == "rate_limited"

    @property
    def is_alive(self) -> bool:
        """Whether the endpoint showed that it works, though not for this call."""
        return self.status is not None and 400 <= self.status < 500 and not self.refusal_for_all and not self.retry


_TIMEOUT = Fault("timeout", ErrorType.JUDGE_TIMEOUT, retry=True, maybe_paid=True)
_DROPPED = Fault("connection_lost", ErrorType.JUDGE_UNAVAILABLE, retry=True, maybe_paid=True)
MALFORMED = Fault("malformed_envelope", ErrorType.JUDGE_INVALID_RESPONSE, retry=True, status=200, maybe_paid=True)
_NO_CONNECTION = Fault("no_connection", ErrorType.JUDGE_UNAVAILABLE, retry=True)


class MissingKey(Exception):
    """An environment variable that a route needs is not set. `args[0]` is its name."""


class ChatClient:
    """One route over a shared HTTP client. Its keys are read from the environment once and kept in no other place."""

    def __init__(self, http: httpx.AsyncBaseTransport, route: RouteConfig, environ: Mapping[str, str]) -> None:
        self._http = http
        self.route = route
        self._headers = httpx.Headers(_HEADERS)
        self._headers.update(route.headers)
        self._headers.update(_secret_headers(route, environ))
        self._urls: dict[str, httpx.URL] = {}
        self.heed: Callable[[Mapping[str, str]], None] = lambda headers: None
        """Told the headers of every reply."""
        timeout = httpx.Timeout(route.timeout_seconds, connect=route.connect_timeout_seconds, pool=None)
        self._extensions = {"timeout": timeout.as_dict()}

    def body(self, request: JudgeRequest, mode: Mode) -> dict[str, Any]:
        """The body of the call, also one line's body of a batch file."""
        body: dict[str, Any] = {
            "model": self.route.model,
            "messages": [message.as_json() for message in request.messages],
            self.route.max_tokens_field: request.max_tokens,
            **self.route.extra_body,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        form = response_format(mode, request)
        if form is not None:
            body["response_format"] = form
        return body

    async def complete(self, request: JudgeRequest, mode: Mode) -> JudgeReply | Fault:
        """Ask once."""
        return await self.send("POST", "/chat/completions", self._reply, self.body(request, mode))

    async def send(
        self,
        method: str,
        path: str,
        read: Callable[[bytes], Result],
        body: Any = None,
        *,
        most_bytes: int = MAX_REPLY_BYTES,
        **more: Any,
    ) -> Result | Fault:
        """One exchange within the route's time limits.

        Args:
            method: of HTTP.
            path: below the route's base URL.
            read: makes the result of a 200's body.
            body: sent as JSON.
            most_bytes: a longer reply is a fault.
            more: for `httpx.Request` (`files`, `data`, `params`).
        """
        try:
            return await asyncio.wait_for(
                self._exchange(method, path, read, body, most_bytes, more),
                self.route.timeout_seconds + self.route.connect_timeout_seconds,
            )
        except (asyncio.TimeoutError, TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout):
            return _TIMEOUT
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol):
            return _NO_CONNECTION
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError):
            return _DROPPED
        except orjson.JSONDecodeError:
            return MALFORMED

    async def _exchange(
        self, method: str, path: str, read: Callable[[bytes], Result], body: Any, most_bytes: int, more: dict[str, Any]
    ) -> Result | Fault:
        url = self._urls.get(path) or self._urls.setdefault(path, httpx.URL(self.route.base_url + path))
        content = None if body is None else orjson.dumps(body)
        for _ in range(MAX_REDIRECTS + 1):
            request = httpx.Request(
                method, url, headers=self._headers, content=content, extensions=self._extensions, **more
            )
            if content is not None:
                request.headers["content-type"] = "application/json"
            response = await self._http.handle_async_request(request)
            try:
                received = await _read_bounded(response, most_bytes)
            finally:
                await response.aclose()
            self.heed(response.headers)
            if received is None:
                return Fault(
                    "reply_too_large", ErrorType.JUDGE_INVALID_RESPONSE, status=response.status_code, maybe_paid=True
                )
            if not 300 <= response.status_code < 400:
                return read(received) if response.status_code == 200 else fault_of(response, received)
            target = urljoin(str(url), response.headers.get("location", ""))
            if response.status_code not in (307, 308) or not same_origin(str(url), target):
                break
            url = httpx.URL(target)
        return Fault("redirect", ErrorType.JUDGE_UNAVAILABLE, status=response.status_code, refusal_for_all=True)

    def _reply(self, content: bytes) -> JudgeReply | Fault:
        value = orjson.loads(content)
        return read_completion(value, self.route) or MALFORMED


def read_completion(value: Any, route: RouteConfig, *, batch: bool = False) -> JudgeReply | None:
    """A chat completion's object as a reply; None where it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list) or not value["choices"]:
        return None
    choice = value["choices"][0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    finish_reason = choice.get("finish_reason")
    return JudgeReply(
        text=content if isinstance(content, str) else None,
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        refused=bool(message.get("refusal")) or finish_reason == "content_filter",
        model=_text(value.get("model")),
        response_id=_text(value.get("id")),
        usage=_usage(value.get("usage"), route, batch=batch),
    )


def fault_of(response: httpx.Response, content: bytes) -> Fault:
    """The fault that a status other than 200 stands for."""
    status = response.status_code
    code, text = _error_code(content)
    if status == 429:
        limited = Fault("rate_limited", ErrorType.JUDGE_RATE_LIMITED, True, status, code, response.headers)
        if _QUOTA.search(code or ""):
            return Fault("quota_exhausted", ErrorType.JUDGE_RATE_LIMITED, False, status, code, refusal_for_all=True)
        return limited
    if status == 500:
        return Fault("internal_error", ErrorType.JUDGE_UNAVAILABLE, True, status, code)
    if status in (408, 409, 425) or status > 500:
        unsupported = status == 501
        return Fault("server_error", ErrorType.JUDGE_UNAVAILABLE, not unsupported, status, code, response.headers)
    if status in (401, 403, 402):
        return Fault("not_authorised", ErrorType.JUDGE_UNAVAILABLE, False, status, code, refusal_for_all=True)
    if status in (404, 405):
        return Fault("not_found", ErrorType.JUDGE_UNAVAILABLE, False, status, code, refusal_for_all=True)
    if _OVERFLOW.search(code or "") or (status in (400, 413, 422) and _OVERFLOW.search(text)):
        return Fault("context_overflow", ErrorType.JUDGE_CONTEXT_OVERFLOW, False, status, code)
    if _FILTERED.search(code or ""):
        return Fault("refusal", ErrorType.JUDGE_REFUSED, False, status, code)
    if _FORMAT.search(text):
        return Fault("unsupported_format", ErrorType.JUDGE_UNAVAILABLE, False, status, code)
    return Fault("bad_request", ErrorType.JUDGE_UNAVAILABLE, False, status, code)


def same_origin(one: str, other: str) -> bool:
    """Whether two URLs have scheme, host and port in common: only then may keys go along."""
    left, right = urlsplit(one), urlsplit(other)
    return (left.scheme, left.hostname, left.port) == (right.scheme, right.hostname, right.port)


def _secret_headers(route: RouteConfig, environ: Mapping[str, str]) -> dict[str, str]:
    for name in missing_keys(route, environ):
        raise MissingKey(name)
    headers = {header: environ[name].strip() for header, name in route.header_env.items()}
    if route.api_key_env is not None:
        headers["authorization"] = f"Bearer {environ[route.api_key_env].strip()}"
    return headers


async def _read_bounded(response: httpx.Response, most_bytes: int) -> bytes | None:
    """The body, None where it is longer than it may be: on the way, or inflated."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in _CODINGS:
        raise httpx.DecodingError("a content coding that was not offered")
    inflating = None if coding == "identity" else zlib.decompressobj(_ANY_WINDOW)
    parts: list[bytes] = []
    size = 0
    async for part in response.stream:
        if inflating is not None:
            try:
                part = inflating.decompress(part, most_bytes - size + 1)
            except zlib.error as error:
                raise httpx.DecodingError("the body is not what its content coding says") from error
        size += len(part)
        if size > most_bytes:
            return None
        parts.append(part)
    return b"".join(parts)


def _error_code(content: bytes) -> tuple[str | None, str]:
    """The error's code or type, if it is a plain word, and the text to search for known phrases (never stored)."""
    text = content[:8_192].decode("utf-8", "replace")
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None, text
    error = value.get("error", value) if isinstance(value, dict) else None
    if isinstance(error, dict):
        for name in ("code", "type"):
            if isinstance(error.get(name), str) and _CODE.fullmatch(error[name]):
                return error[name], text
    return None, text


def _usage(value: Any, route: RouteConfig, *, batch: bool) -> TokenUsage:
    if not isinstance(value, dict):
        return TokenUsage()
    details = value.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    given, made = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    cost = cost_of(route.prices, given, made, cached)
    if cost is not None and batch and route.prices is not None:
        cost *= route.prices.batch_factor
    return TokenUsage(given, made, cached, cost)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _text(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) else None
