"""Routes are checked before any input is read; limits are divided honestly; keys stay where they belong."""

from __future__ import annotations

import logging
import pickle
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from graders.configured import configure
from graders.errors import ConfigError
from graders.judges.cache import RecentReplies
from graders.judges.routing import resolve, route_problems, share, share_of_budget
from schemas.routes import RouteConfig
from schemas.score import Status
from tests.graders.judges.examples import LLM_SCORE
from tests.graders.judges.fault_server import GOOD, FaultServer, Response, completion
from tests.graders.judges.runners import graded, route, running, trajectories

URL = "https://judge.example/v1"
KEY = "sk-very-secret-1234"


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "ftp://x/v1"},
        {"base_url": "https://user:pass@x/v1"},
        {"base_url": "https://x/v1?key=abc"},
        {"headers": {"Authorization": "Bearer x"}},
        {"headers": {"X-Api-Key": "x"}},
        {"api_key": "sk-1"},
        {"max_cost_usd": 5},
        {"extra_body": {"model": "x"}},
        {"max_concurrency": 0},
        {"prices": {"input": -1, "output": 1}},
        {"prices": {"input": "cheap", "output": 1}},
        {"requests_per_minute": 0},
    ],
)
def test_wrong_routes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RouteConfig.model_validate({"base_url": URL, "model": "m", **wrong})


def test_default_means_the_only_route() -> None:
    one = {"cheap": route(URL)}
    assert resolve("default", one) == "cheap"
    assert resolve("default", {**one, "other": route(URL)}) is None
    assert resolve("cheep", one) is None


def test_problems_are_found_before_the_run() -> None:
    judge = configure({**LLM_SCORE, "name": "tone", "route": "cheep"})
    keyed = route(URL, api_key_env="KEY", prices=None)
    (unknown,) = route_problems([judge], {"cheap": keyed})
    assert str(unknown) == 'graders.tone: asks the route "cheep", which does not exist (did you mean "cheap"?)'
    right = configure({**LLM_SCORE, "route": "cheap"})
    found = route_problems([right], {"cheap": keyed}, max_cost_usd=1.0, environ={})
    assert [problem.path for problem in found] == [("routes", "cheap", "prices"), ("routes", "cheap")]
    assert route_problems([right], {"cheap": keyed}, environ={"KEY": "x"}) == []


def test_limits_are_divided_and_never_rounded_up() -> None:
    whole = route(URL, max_concurrency=10, requests_per_minute=10, max_calls=7, max_cost_usd=3)
    part = share({"r": whole}, 3)["r"]
    assert (part.max_concurrency, part.max_calls, part.max_cost_usd) == (3, 2, Decimal(1))
    assert part.requests_per_minute == pytest.approx(10 / 3)
    assert share({"r": route(URL)}, 1_000)["r"].max_concurrency == 1
    assert share_of_budget(10, 9.0, 3) == (3, 3.0)
    with pytest.raises(ConfigError, match="2 can't be shared by 3 processes"):
        share({"r": route(URL, max_concurrency=2)}, 3)
    with pytest.raises(ConfigError):
        share_of_budget(1, None, 2)


def test_keys_come_from_the_environment_and_go_to_the_endpoint_alone(caplog: pytest.LogCaptureFixture) -> None:
    cache = RecentReplies()
    secret = {"api_key_env": "JUDGE_KEY", "header_env": {"x-team-key": "TEAM_KEY"}, "headers": {"x-plain": "1"}}
    with FaultServer(lambda seen: Response(401, {"error": {"message": f"wrong key {KEY}", "code": KEY}})) as refusing:
        settings = route(refusing.url, **secret)
        with (
            running({"default": settings}, environ={"JUDGE_KEY": f" {KEY}\n", "TEAM_KEY": KEY}) as runner,
            caplog.at_level(logging.DEBUG),
        ):
            (row,) = graded(runner, trajectories(1))
    headers = refusing.seen[0].headers
    assert (headers["authorization"], headers["x-team-key"], headers["x-plain"]) == (f"Bearer {KEY}", KEY, "1")
    assert row.status is Status.ERROR
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith(("graders", "httpx")))
    stored = [repr(row), settings.model_dump_json(), repr(pickle.dumps(settings)), repr(vars(cache)), ours]
    assert not any(KEY in text for text in stored)


def test_a_redirect_takes_no_key_to_another_host() -> None:
    with FaultServer(lambda seen: Response(body=completion(GOOD))) as elsewhere:
        answers = iter([Response(307, {}, {"location": f"{elsewhere.url}/chat/completions"})])
        with FaultServer(lambda seen: next(answers)) as first:
            settings = route(first.url, api_key_env="K", structured_output="prompt")
            with running({"default": settings}, environ={"K": KEY}) as runner:
                (row,) = graded(runner, trajectories(1))
    assert (row.status, elsewhere.calls) == (Status.ERROR, 0)


def test_a_redirect_within_the_host_is_followed() -> None:
    def answer(seen: Any) -> Response:
        if seen.path == "/v1/chat/completions":
            return Response(308, {}, {"location": "/v2/chat"})
        return Response(body=completion(GOOD))

    with FaultServer(answer) as server, running({"default": route(server.url)}) as runner:
        (row,) = graded(runner, trajectories(1))
    assert row.status is Status.PASS
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions", "/v2/chat"]
    assert server.seen[0].body == server.seen[1].body
