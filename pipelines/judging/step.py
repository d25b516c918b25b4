"""The step of the graph that carries blocks to this process's judges: several at once, yielded as they finish."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
from apache_beam.io.components.adaptive_throttler import ThrottlingSignaler
from apache_beam.transforms.window import WindowedValue

from graders.configured import ConfiguredGrader
from graders.grade_batch import GradeBatch
from graders.judges.batch_pending import BatchPending
from pipelines.judging.plan import JudgePlan
from pipelines.judging.process import runner_for

#: Tag of blocks that wait for a provider's batch; their parts are not written, the run ends with exit code 13.
PENDING = "pending"
#: Blocks of one bundle under way at once: enough to keep the calls going while one block's last answers are late,
#: where a block has rows enough. Where it has few (`sample`, `when`), more blocks are, up to so many bytes of them.
BLOCKS = 3
MAX_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class _UnderWay:
    element: Any
    timestamp: Any
    windows: tuple[Any, ...]
    started: float


class JudgeDoFn(beam.DoFn):
    """GradedBlock → the same with one judge's outcomes.

    A block that waits for a provider's batch goes to the tag `pending`, as its BatchPending.
    An element has `loaded.batch`, `outcomes` and `grader_us`; it is a dataclass.
    """

    def __init__(self, grader: ConfiguredGrader, plan: JudgePlan) -> None:
        self.grader = grader
        self.plan = plan

    def setup(self) -> None:
        """Make the counter that tells the runner of the pipeline to add no workers."""
        self._throttling = ThrottlingSignaler(namespace="gradebeam")
        self._throttled = 0.0

    def start_bundle(self) -> None:
        """Nothing is under way yet."""
        self._under_way: dict[Future[GradeBatch], _UnderWay] = {}

    def process(
        self,
        element: Any,
        timestamp: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
    ) -> Iterator[Any]:
        """Submit a block; yield those that have finished."""
        runner = runner_for(self.plan)
        future = runner.submit(self.grader, element.loaded.batch, element.outcomes)
        self._under_way[future] = _UnderWay(element, timestamp, (window,), time.monotonic())
        yield from self._finished(has_room=self._has_room)

    def finish_bundle(self) -> Iterator[Any]:
        """Wait for the rest; every reply is durable before the bundle is."""
        yield from self._finished(has_room=lambda: False)
        runner_for(self.plan).flush()

    def _has_room(self) -> bool:
        """Whether the next block may come in while those under way are waited for."""
        if len(self._under_way) < BLOCKS:
            return True
        held = sum(block.element.loaded.batch.record_batch.nbytes for block in self._under_way.values())
        return held < MAX_BYTES and runner_for(self.plan).wants_more(self.grader)

    def _finished(self, has_room: Callable[[], bool]) -> Iterator[Any]:
        """Blocks that are done, waiting for some unless `has_room` says that more may come."""
        while self._under_way:
            done = [future for future in self._under_way if future.done()]
            if not done and has_room():
                break
            if not done:
                wait(self._under_way, timeout=1.0, return_when=FIRST_COMPLETED)
            self._signal_throttling()
            for future in done:
                yield self._outcome(future, self._under_way.pop(future))

    def _outcome(self, future: Future[GradeBatch], block: _UnderWay) -> Any:
        try:
            graded = future.result()
        except BatchPending as pending:
            return beam.pvalue.TaggedOutput(PENDING, WindowedValue(pending, block.timestamp, block.windows))
        took_us = int((time.monotonic() - block.started) * 1_000_000)
        element = replace(
            block.element,
            outcomes={**block.element.outcomes, self.grader.name: graded},
            grader_us={**block.element.grader_us, self.grader.name: took_us},
        )
        return WindowedValue(element, block.timestamp, block.windows)

    def _signal_throttling(self) -> None:
        self._throttled += runner_for(self.plan).take_throttled_seconds()
        whole = int(self._throttled)
        if whole:
            self._throttling.signal_throttled(whole)
            self._throttled -= whole
