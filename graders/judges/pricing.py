"""What a call costs: exactly from the endpoint's token counts, at worst before it is made, roughly for a dry run."""

from __future__ import annotations

from decimal import Decimal

import orjson

from graders.judges.request import JudgeRequest, TokenUsage
from schemas.routes import Prices, RouteConfig

_MILLION = Decimal(1_000_000)
#: Tokens that a chat template adds to a message, generously.
TEMPLATE_TOKENS = 16
#: Average length of a token in UTF-8 bytes of mixed text; for estimates only, never for limits.
BYTES_PER_TOKEN = 4


def cost_of(
    prices: Prices | None, input_tokens: int | None, output_tokens: int | None, cached_input_tokens: int | None
) -> Decimal | None:
    """US dollars of one call; None where the prices or the token counts are unknown."""
    if prices is None or input_tokens is None or output_tokens is None:
        return None
    cached = min(cached_input_tokens or 0, input_tokens)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    return ((input_tokens - cached) * prices.input + cached * cached_price + output_tokens * prices.output) / _MILLION


def worst_input_tokens(request: JudgeRequest) -> int:
    """More tokens than the endpoint can count for the prompt: one a byte, the schema and the chat template included."""
    schema = len(orjson.dumps(request.json_schema))
    return request.prompt_bytes + schema + TEMPLATE_TOKENS * (len(request.messages) + 1)


def worst_usage(request: JudgeRequest, route: RouteConfig) -> TokenUsage:
    """The most that one call can take: every byte a token, none cached, a reply of `max_tokens`."""
    tokens = worst_input_tokens(request)
    prices = route.prices
    if prices is not None and prices.cached_input is not None and prices.cached_input > prices.input:
        prices = prices.model_copy(update={"input": prices.cached_input})
    return TokenUsage(tokens, request.max_tokens, None, cost_of(prices, tokens, request.max_tokens, None))


def expected_input_tokens(request: JudgeRequest) -> int:
    """A rough count for `--dry-run`."""
    return -(-request.prompt_bytes // BYTES_PER_TOKEN) + TEMPLATE_TOKENS * len(request.messages)
