"""The Beam step: blocks in, blocks with one more judge's outcomes out, in whatever order they finish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from graders.configured import configure
from graders.errors import ConfigError
from graders.grade_batch import GradeBatch
from graders.judges.batch_pending import BatchPending
from graders.trajectory_batch import TrajectoryBatch
from pipelines.judging.plan import JudgePlan, check_keys, judge_plan
from pipelines.judging.process import close_runners, spent
from pipelines.judging.step import PENDING, JudgeDoFn
from schemas.routes import RouteConfig
from tests.graders.judges.examples import LLM_SCORE
from tests.graders.judges.fault_server import GOOD, FaultServer, Response, completion
from tests.graders.judges.runners import route, trajectories
from tests.pipelines.judging.batch_provider import BatchProvider

JUDGE = configure({**LLM_SCORE, "name": "tone"})


@dataclass(frozen=True)
class Loaded:
    """What the reader gives."""

    batch: TrajectoryBatch


@dataclass(frozen=True)
class Block:
    """A block on its way through the graders."""

    loaded: Loaded
    outcomes: dict[str, GradeBatch] = field(default_factory=dict)
    grader_us: dict[str, int] = field(default_factory=dict)


@pytest.fixture(autouse=True)
def _no_runner_is_left() -> Iterator[None]:
    yield
    close_runners()


def _plan(folder: Path, settings: RouteConfig, **more: Any) -> JudgePlan:
    return judge_plan("r_1", str(folder), [JUDGE], {"only": settings}, **more)


def _blocks(count: int, size: int) -> list[Block]:
    rows = trajectories(count * size)
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [Block(Loaded(TrajectoryBatch.from_trajectories(part))) for part in parts]


DONE: list[tuple[int, GradeBatch]] = []
WAITING: list[tuple[str, ...]] = []


def _keep_done(block: Block) -> None:
    DONE.append((len(block.loaded.batch), block.outcomes["tone"]))


def _keep_waiting(pending: BatchPending) -> None:
    WAITING.append(pending.args)


def _judged(plan: JudgePlan, blocks: list[Block]) -> tuple[list[Any], list[Any]]:
    DONE.clear()
    WAITING.clear()
    with beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([])) as pipeline:
        outputs = (
            pipeline
            | "Blocks" >> beam.Create(blocks, reshuffle=False)
            | "Judge" >> beam.ParDo(JudgeDoFn(JUDGE, plan)).with_outputs(PENDING, main="judged")
        )
        outputs["judged"] | "Done" >> beam.Map(_keep_done)
        outputs[PENDING] | "Waiting" >> beam.Map(_keep_waiting)
    return list(DONE), sorted(WAITING)


def test_every_block_comes_out_with_the_judges_outcomes(tmp_path: Path) -> None:
    with FaultServer(lambda seen: Response(body=completion(GOOD), delay=0.005)) as server:
        done, pending = _judged(_plan(tmp_path, route(server.url)), _blocks(6, 5))
    assert Counter(length for length, _ in done) == {5: 6}
    assert all((outcome.status == 0).all() for _, outcome in done)
    assert (pending, server.calls) == ([], 30)
    assert (tmp_path / "_judges" / "replies.sqlite").exists()
    close_runners()
    totals = spent(_plan(tmp_path, route(server.url)))
    assert totals is not None
    assert (totals.calls, totals.cost_usd) == (30, 30 * Decimal("0.000360"))


@pytest.mark.parametrize(("size", "most"), [(1, 16), (40, 16)])
def test_the_calls_are_kept_going_however_few_rows_a_block_has(tmp_path: Path, size: int, most: int) -> None:
    server = FaultServer(lambda seen: Response(body=completion(GOOD), delay=0.2))
    with server:
        done, _ = _judged(_plan(tmp_path, route(server.url, max_concurrency=most)), _blocks(80 // size, size))
    assert sum(length for length, _ in done) == 80
    assert server.most_in_flight == most


def test_no_more_blocks_are_held_than_memory_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.judging.step.MAX_BYTES", 1)
    server = FaultServer(lambda seen: Response(body=completion(GOOD), delay=0.2))
    with server:
        _judged(_plan(tmp_path, route(server.url)), _blocks(12, 1))
    assert server.most_in_flight == 3


def test_where_the_state_lies() -> None:
    local = _plan(Path("out"), route("http://127.0.0.1:1/v1"))
    remote = judge_plan("r_1", "gs://bucket/out", [JUDGE], {"only": route("http://127.0.0.1:1/v1")})
    assert (local.cache_uri, local.ledger_path) == ("out/_judges/replies.sqlite", "out/_judges/r_1.ledger.sqlite")
    assert remote.cache_uri == "gs://bucket/out/_judges/r_1"
    assert remote.ledger_path.endswith("gradebeam-judges/r_1.ledger.sqlite")


def test_blocks_that_wait_for_a_batch_are_told_apart(tmp_path: Path) -> None:
    provider = BatchProvider()
    with FaultServer(provider) as server:
        plan = _plan(tmp_path, route(server.url, mode="batch"))
        assert _judged(plan, _blocks(2, 3)) == ([], [("batch-0",), ("batch-1",)])
        provider.finish()
        close_runners()
        done, pending = _judged(plan, _blocks(2, 3))
    assert (len(done), pending, len(provider.batches), provider.single_calls) == (2, [], 2, 0)


def test_a_distributed_run_keeps_its_replies_in_the_runs_storage(tmp_path: Path) -> None:
    with FaultServer() as server:
        plan = _plan(tmp_path, route(server.url), distributed=True, processes=4)
        assert plan.routes["only"].max_concurrency == 4
        _judged(plan, _blocks(1, 4))
        close_runners()
        _judged(plan, _blocks(1, 4))
    assert server.calls == 4
    assert list((tmp_path / "_judges" / "r_1").glob("*.seg"))


def test_limits_without_a_number_of_workers_are_refused(tmp_path: Path) -> None:
    limited = route("http://127.0.0.1:1/v1", requests_per_minute=10)
    with pytest.raises(ConfigError, match="number of workers is unknown"):
        _plan(tmp_path, limited, distributed=True)
    with pytest.raises(ConfigError, match="number of workers is unknown"):
        _plan(tmp_path, route("http://127.0.0.1:1/v1"), distributed=True, max_calls=5)
    assert _plan(tmp_path, route("http://127.0.0.1:1/v1"), distributed=True).distributed


def test_a_missing_key_is_refused_where_it_can_be_known(tmp_path: Path) -> None:
    keyed = route("http://127.0.0.1:1/v1", api_key_env="JUDGE_KEY")
    with pytest.raises(ConfigError, match="JUDGE_KEY is not set"):
        check_keys(_plan(tmp_path, keyed), environ={"JUDGE_KEY": " "})
    check_keys(_plan(tmp_path, keyed), environ={"JUDGE_KEY": "k"})
    check_keys(_plan(tmp_path, keyed, distributed=True, processes=2), environ={})


def test_a_plan_carries_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    monkeypatch.setenv("JUDGE_KEY", "sk-secret")
    plan = _plan(tmp_path, route("http://127.0.0.1:1/v1", api_key_env="JUDGE_KEY"))
    assert b"sk-secret" not in pickle.dumps(JudgeDoFn(JUDGE, plan))
