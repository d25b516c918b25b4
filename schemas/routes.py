"""Routes: which endpoint and model a judge calls, within which limits and at which price."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

#: Headers that carry secrets. They are given by the name of an environment variable, never by value.
SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "api-key", "x-api-key", "x-goog-api-key", "x-auth-token"}
)
#: Fields of the request that `extra_body` may not replace.
RESERVED_BODY_FIELDS = frozenset({"model", "messages", "response_format", "stream", "n"})


def _decimal(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ValueError("input should be a number")
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError("input should be a number") from None


Money = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Prices(_Part):
    """US dollars a million tokens."""

    input: Money
    cached_input: Money | None = None
    """Of input tokens that the provider had cached; None: the same as `input`."""
    output: Money
    batch_factor: Money = Decimal(1)
    """What a call inside a provider's batch costs, as a share of the interactive price."""


class BatchOptions(_Part):
    """How `mode: batch` uses the provider's batch API."""

    max_requests: int = Field(default=10_000, ge=1, le=50_000)
    """Most requests a batch."""
    poll_seconds: float = Field(default=30.0, gt=0)
    wait_seconds: float = Field(default=0.0, ge=0)
    """How long one run waits for its batches before it ends with exit code 13 (run the same command again later)."""


class RouteConfig(_Part):
    """An OpenAI-compatible chat-completions endpoint with a model, its limits and its prices.

    Limits are per run: the processes of one machine share them, distributed workers each get their share.
    """

    base_url: str
    """Up to and without `/chat/completions`, e.g. `https://host/v1`."""
    model: str = Field(min_length=1)
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds the key, sent as a bearer token. Keys come from nowhere else."""
    headers: dict[str, str] = Field(default_factory=dict)
    header_env: dict[str, str] = Field(default_factory=dict)
    """Header name → environment variable, for headers that are secret (`api-key`…)."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request body (`seed`, `reasoning_effort`…)."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    structured_output: Literal["auto", "json_schema", "json_object", "prompt"] = "auto"
    """How the reply's form is enforced; `auto` learns what the endpoint supports, once a route."""
    connect_timeout_seconds: float = Field(default=10.0, gt=0)
    timeout_seconds: float = Field(default=120.0, gt=0)
    """From sending a request to the last byte of its reply."""
    max_attempts: int = Field(default=6, ge=1, le=50)
    """Calls for one reply, where they fail in ways that pass; being rate-limited does not count."""
    retry_seconds: float = Field(default=600.0, ge=0)
    """How long one reply is retried at most."""
    max_concurrency: int = Field(default=16, ge=1, le=10_000)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Input and output together; a call counts with its worst case until its usage is known."""
    prices: Prices | None = None
    max_cost_usd: Money | None = None
    max_calls: int | None = Field(default=None, ge=0)
    """Most HTTP requests a run, retries included."""
    mode: Literal["interactive", "batch"] = "interactive"
    batch: BatchOptions = Field(default_factory=BatchOptions)

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("it must be an http or https URL")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ValueError("it may hold no user, password, query or fragment; give keys by api_key_env or header_env")
        return value.rstrip("/")

    @field_validator("headers")
    @classmethod
    def _no_secrets(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if name.lower() in SECRET_HEADERS:
                raise ValueError(f'the header "{name}" is secret: use api_key_env, or header_env: {{{name}: VARIABLE}}')
        return value

    @field_validator("extra_body")
    @classmethod
    def _not_reserved(cls, value: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(RESERVED_BODY_FIELDS & value.keys()):
            raise ValueError(f'the field "{taken[0]}" is set by the judge, not here')
        return value

    @model_validator(mode="after")
    def _budget_needs_prices(self) -> RouteConfig:
        if self.max_cost_usd is not None and self.prices is None:
            raise ValueError("max_cost_usd needs prices")
        return self

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Environment variables that a call needs."""
        own = () if self.api_key_env is None else (self.api_key_env,)
        return (*own, *self.header_env.values())

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes the answer of this route another one than some other route's: endpoint, model, extra fields."""
        return {"base_url": self.base_url, "model": self.model, "extra_body": self.extra_body}
