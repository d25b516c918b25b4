"""Asking judges for whole blocks: one event loop and one HTTP client a process, answers in whatever order they come.

Blocks are submitted from any thread. A fault of one row stays in that row; equal questions are asked once; usable
replies go to the cache as they arrive.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import orjson

from graders.configured import ConfiguredGrader
from graders.grade_batch import GradeBatch, from_scores
from graders.grader import exception_score
from graders.grading import due_rows
from graders.judges.batch_desk import BatchDesk
from graders.judges.batch_pending import BatchPending
from graders.judges.breaker import OPEN_AFTER_SECONDS
from graders.judges.cache import CachedReply, RecentReplies, ReplyCache
from graders.judges.caller import RouteCaller, Spent
from graders.judges.choice import Answer, Choice, Failure
from graders.judges.client import ChatClient, MissingKey
from graders.judges.conversation import take_reply
from graders.judges.judge_grader import JudgeGrader
from graders.judges.limits import Ledger, limits_of
from graders.judges.memory_ledger import MemoryLedger
from graders.judges.reply import object_of
from graders.judges.request import JudgeReply, JudgeRequest, TokenUsage, route_key
from graders.judges.routing import resolve
from graders.judges.transport import LaneTransport
from graders.trajectory_batch import TrajectoryBatch
from schemas.routes import RouteConfig
from schemas.score import ErrorType, Score
from schemas.trajectory import Trajectory

_NOTHING_SPENT = TokenUsage(0, 0, 0, Decimal(0))


class JudgeRunner:
    """Asks judges over HTTP. Make one a process, never pickle it, `close` it at the end.

    Args:
        routes: the suite's routes by name.
        cache: keeps replies beyond this process; None keeps the last few thousand in memory.
        ledger: counts calls and dollars against the limits; None counts in memory for this process alone.
        run_id: marks the provider's batches of this run.
        refresh: do not read the cache (it is still written).
        transport: for tests; None is the network.
        environ: where keys come from.
        random: uniform in 0..1, for jitter.
        open_after_seconds: how long an endpoint may give no answer before its breaker opens.
    """

    def __init__(
        self,
        routes: Mapping[str, RouteConfig],
        *,
        cache: ReplyCache | None = None,
        ledger: Ledger | None = None,
        run_id: str = "",
        refresh: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
        environ: Mapping[str, str] | None = None,
        random: Callable[[], float] = random.random,
        open_after_seconds: float = OPEN_AFTER_SECONDS,
    ) -> None:
        self._routes = dict(routes)
        self._cache = cache
        self._recent = RecentReplies()
        self.ledger: Ledger = ledger or MemoryLedger({name: limits_of(route) for name, route in routes.items()})
        self._run_id = run_id
        self._refresh = refresh
        self._transport = transport
        self._environ = os.environ if environ is None else environ
        self._random = random
        self._open_after = open_after_seconds
        self._callers: dict[str, RouteCaller] = {}
        self._desks: dict[str, BatchDesk] = {}
        self._asking: dict[str, asyncio.Future[tuple[Answer, JudgeGrader[Any]]]] = {}
        self._http: httpx.AsyncBaseTransport | None = None
        self._start = threading.Lock()
        self._rows_under_way = 0
        self._counting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def grade(
        self, configured: ConfiguredGrader, batch: TrajectoryBatch, outcomes: Mapping[str, GradeBatch]
    ) -> GradeBatch:
        """The outcomes of one judge over a block; returns when all of them are there.

        Raises:
            BatchPending: the block waits for a provider's batch; everything that can be submitted has been.
        """
        return self.submit(configured, batch, outcomes).result()

    def submit(
        self, configured: ConfiguredGrader, batch: TrajectoryBatch, outcomes: Mapping[str, GradeBatch]
    ) -> Future[GradeBatch]:
        """The same without waiting: several blocks can be under way at once."""
        rows = due_rows(configured, batch, outcomes)
        part = batch if rows is None else batch.take(rows)
        trajectories = part.rows

        async def graded() -> GradeBatch:
            try:
                scores = await self.judge_rows(configured, trajectories)
            finally:
                self._count(-len(trajectories))
            made = await asyncio.to_thread(from_scores, scores)
            return made if rows is None else made.at_rows(rows)

        self._count(len(trajectories))
        return asyncio.run_coroutine_threadsafe(graded(), self._running_loop())

    def wants_more(self, configured: ConfiguredGrader) -> bool:
        """Whether the rows under way are too few to keep a judge's calls going while another block is made ready."""
        grader = configured.grader
        return isinstance(grader, JudgeGrader) and self._rows_under_way < self._width(grader)

    async def judge_rows(self, configured: ConfiguredGrader, trajectories: Sequence[Trajectory]) -> list[Score]:
        """A score for each trajectory, in order. To be called in the runner's own loop."""
        grader = configured.grader
        if not isinstance(grader, JudgeGrader):
            raise TypeError(f"{grader.type} is no judge")
        given = await self._from_batches(grader, trajectories)
        scores: list[Score | None] = [None] * len(trajectories)
        positions = iter(range(len(trajectories)))

        async def work() -> None:
            for position in positions:
                scores[position] = await self._judge_row(grader, trajectories[position], given)

        await asyncio.gather(*(work() for _ in range(min(self._width(grader), len(trajectories)))))
        return [score for score in scores if score is not None]

    def take_throttled_seconds(self) -> float:
        """Seconds that calls waited for a pace or an endpoint's limit, since this was last asked."""
        total = 0.0
        for caller in list(self._callers.values()):
            total += caller.throttled_seconds
            caller.throttled_seconds = 0.0
        return total

    def close(self) -> None:
        """End the client and the loop, and make the cache durable."""
        with self._start:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(self._shut(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
        if self._cache is not None:
            self._cache.close()
        self.ledger.close()

    def flush(self) -> None:
        """Make every reply so far durable."""
        if self._cache is not None:
            self._cache.flush()

    def _count(self, rows: int) -> None:
        with self._counting:
            self._rows_under_way += rows

    async def _judge_row(
        self, grader: JudgeGrader[Any], trajectory: Trajectory, given: Mapping[str, JudgeReply | Failure]
    ) -> Score:
        started = time.perf_counter_ns()
        try:
            score = grader.precheck(trajectory)
            if score is None:
                requests = [self._routed(request) for request in grader.requests(trajectory)]
                answers = await asyncio.gather(*(self._answer(grader, request, given) for request in requests))
                score = grader.verdict(trajectory, answers)
        except Exception as exception:  # a fault in one row must not take the block with it
            score = exception_score(exception)
        return replace(score, duration_us=(time.perf_counter_ns() - started) // 1_000)

    async def _answer(
        self, grader: JudgeGrader[Any], request: JudgeRequest, given: Mapping[str, JudgeReply | Failure]
    ) -> Answer:
        route = self._routes.get(request.route)
        if route is None:
            return Answer(request, Failure(ErrorType.JUDGE_UNAVAILABLE, "no_route", "the judge's route does not exist"))
        key = route_key(request, route.identity)
        known = self._known(grader, request, key)
        if known is not None:
            return known
        if key in self._asking:
            shared, asker = await asyncio.shield(self._asking[key])
            if isinstance(shared.outcome, Choice) or asker is not grader:
                return await self._answer(grader, request, given)
            return replace(shared, request=request, usage=_NOTHING_SPENT, attempts=0, repairs=0, notes={"shared": True})
        future: asyncio.Future[tuple[Answer, JudgeGrader[Any]]] = asyncio.get_running_loop().create_future()
        self._asking[key] = future
        try:
            answer, usable = await self._converse(grader, request, given.get(key))
            if usable is not None:
                self._keep(key, usable, answer)
            future.set_result((answer, grader))
            return answer
        except BaseException:
            failure = Failure(ErrorType.GRADER_EXCEPTION, "shared_question", "the equal question's call broke")
            future.set_result((Answer(request, failure), grader))
            raise
        finally:
            del self._asking[key]

    async def _converse(
        self, grader: JudgeGrader[Any], request: JudgeRequest, first: JudgeReply | Failure | None
    ) -> tuple[Answer, JudgeReply | None]:
        """The end of one question, and the usable reply if there was one. `first` came by a batch."""
        asked = request
        spent = Spent()
        notes: dict[str, Any] = {}
        reply: JudgeReply | Failure | None = first
        if isinstance(first, JudgeReply):
            spent.attempts, spent.usage = 1, first.usage
            notes["batch"] = True
        while True:
            if reply is None:
                try:
                    reply = await self._caller(request.route).reply(asked, spent)
                except MissingKey as missing:
                    reply = _missing_key(missing)
            if isinstance(reply, Failure):
                return self._ended(request, reply, None, asked, spent, notes), None
            step = take_reply(asked, reply, grader.read)
            if not isinstance(step, JudgeRequest):
                usable = reply if isinstance(step, Choice) else None
                return self._ended(request, step, reply, asked, spent, notes), usable
            asked, reply = step, None

    def _ended(
        self,
        request: JudgeRequest,
        outcome: Choice | Failure,
        reply: JudgeReply | None,
        asked: JudgeRequest,
        spent: Spent,
        notes: dict[str, Any],
    ) -> Answer:
        if spent.unsettled:
            notes["calls_of_unknown_cost"] = spent.unsettled
            notes["unknown_cost_at_most_usd"] = str(spent.unsettled_usd)
        return Answer(
            request,
            outcome,
            usage=spent.usage,
            attempts=spent.attempts,
            repairs=asked.repair,
            model=self._routes[request.route].model if reply is None or reply.model is None else reply.model,
            response_id=None if reply is None else reply.response_id,
            notes=notes,
        )

    def _known(self, grader: JudgeGrader[Any], request: JudgeRequest, key: str) -> Answer | None:
        found = self._recent.get(key)
        if found is None and self._cache is not None and not self._refresh:
            found = self._cache.get(key)
        if found is None:
            return None
        value = object_of(found.as_reply())
        choice = grader.read(value) if isinstance(value, dict) else None
        if not isinstance(choice, Choice):
            return None
        return Answer(
            request,
            choice,
            usage=_NOTHING_SPENT,
            cached=True,
            model=found.model,
            response_id=found.response_id,
            notes={"first_usage": found.usage_details()},
        )

    def _keep(self, key: str, reply: JudgeReply, answer: Answer) -> None:
        text = reply.text if reply.text is not None else orjson.dumps(reply.value).decode()
        kept = CachedReply(text, answer.model, answer.response_id, answer.usage)
        self._recent.put(key, kept)
        if self._cache is not None:
            self._cache.put(key, kept)

    async def _from_batches(
        self, grader: JudgeGrader[Any], trajectories: Sequence[Trajectory]
    ) -> dict[str, JudgeReply | Failure]:
        """Replies that providers' batches have for these trajectories, by key."""
        names = {resolve(name, self._routes) for name in grader.routes}
        batched = {name for name in names if name is not None and self._routes[name].mode == "batch"}
        given: dict[str, JudgeReply | Failure] = {}
        if not batched:
            return given
        questions: dict[str, dict[str, JudgeRequest]] = {name: {} for name in batched}
        for trajectory in trajectories:
            for request in map(self._routed, _requests_or_none(grader, trajectory)):
                if request.route in batched:
                    key = route_key(request, self._routes[request.route].identity)
                    questions[request.route][key] = request
        pending: list[str] = []
        for name, asked in questions.items():
            missing = {key for key, request in asked.items() if self._known(grader, request, key) is None}
            try:
                given.update(await self._desk(name).replies(asked, missing))
            except BatchPending as waits:
                pending.extend(waits.args)
            except MissingKey as missing_key:
                given.update(dict.fromkeys(missing, _missing_key(missing_key)))
        if pending:
            raise BatchPending(*pending)
        return given

    def _routed(self, request: JudgeRequest) -> JudgeRequest:
        name = resolve(request.route, self._routes)
        return request if name is None or name == request.route else replace(request, route=name)

    def _width(self, grader: JudgeGrader[Any]) -> int:
        names = {resolve(name, self._routes) for name in grader.routes}
        return 2 * max((self._routes[name].max_concurrency for name in names if name is not None), default=1)

    def _caller(self, name: str) -> RouteCaller:
        if name not in self._callers:
            client = ChatClient(self._client(), self._routes[name], self._environ)
            self._callers[name] = RouteCaller(
                name, client, self.ledger, random=self._random, open_after_seconds=self._open_after
            )
        return self._callers[name]

    def _desk(self, name: str) -> BatchDesk:
        if name not in self._desks:
            client = ChatClient(self._client(), self._routes[name], self._environ)
            self._desks[name] = BatchDesk(name, client, self.ledger, self._run_id, self._random)
        return self._desks[name]

    def _client(self) -> httpx.AsyncBaseTransport:
        if self._http is None:
            self._http = self._transport or LaneTransport()
        return self._http

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._start:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="gradebeam-judges", daemon=True)
                self._thread.start()
            return self._loop

    async def _shut(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._http is not None:
            await self._http.aclose()


def _missing_key(missing: MissingKey) -> Failure:
    message = f"the environment variable {missing.args[0]} is not set"
    return Failure(ErrorType.JUDGE_UNAVAILABLE, "missing_key", message)


def _requests_or_none(grader: JudgeGrader[Any], trajectory: Trajectory) -> list[JudgeRequest]:
    """The questions of one row; none where it is settled without asking or faulty (which shows when it is judged)."""
    try:
        return [] if grader.precheck(trajectory) is not None else grader.requests(trajectory)
    except Exception:
        return []
