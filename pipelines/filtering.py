"""Grading JSON lines as they come: the pipeline's own reading, grading and rows, without a pipeline and without files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import TracebackType
from typing import Any

from graders.configured import ConfiguredGrader
from graders.errors import ConfigError
from graders.grade_batch import GradeBatch
from graders.grading import grade
from graders.judges.judge_grader import JudgeGrader
from graders.trajectory_batch import TrajectoryBatch
from graders.verdict import Outcome, trajectory_verdict
from pipelines.formats.container import Container, Normalised
from pipelines.formats.detection import CSV, container_by_name, detect
from pipelines.formats.json_values import Decoded, decode_line
from pipelines.reading.line_records import normalise_line, oversize_reject
from pipelines.reading.lines import OversizeLine
from pipelines.suite_file import LoadedSuite
from pipelines.writing.score_table import score_table
from schemas.reject import Reject, RejectReason
from schemas.score import Status
from schemas.suite import InputConfig
from schemas.trajectory_batch import to_record_batch

#: What stands for a file's name in the rows and rejects of a stream.
STREAM_URI = "stdin"
_OVERSIZE_HEAD = 1_024


@dataclass(slots=True)
class GradedLines:
    """What became of some lines."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    """Rows of `scores`; `run_id` is null."""
    rejects: list[Reject] = field(default_factory=list)
    records: int = 0
    verdicts: list[Status] = field(default_factory=list)
    """Each trajectory's overall verdict, as the suite's weights, `required` and threshold make it."""


class LineReader:
    """Lines → trajectories and rejects. Each record's format is told by itself, so a stream may mix formats."""

    def __init__(self, config: InputConfig) -> None:
        self._fixed: Container | None = None
        if config.format == CSV:
            raise ConfigError("a filter reads JSON lines, not CSV: use `gradebeam run`", ("input", "format"))
        if config.fields is not None:
            self._fixed = container_by_name("mapped_rows", {"fields": dict(config.fields)})
        elif config.format != "auto":
            self._fixed = container_by_name(config.format)
            _refuse_grouped(self._fixed)

    def read(self, line: bytes, offset: int, cut: bool, into: Normalised) -> int:
        """Add what a line's records became to `into`; how many records it held. `cut`: it is the stream's last and has no end."""
        container = self._fixed or self._told(line)
        if container.grouping == "record":
            return normalise_line(line, cut, STREAM_URI, offset, container, into)
        into.rejects.append(_grouped_reject(container, line, offset))
        return 1

    def _told(self, line: bytes) -> Container:
        first = next((item.value for item in decode_line(line) if isinstance(item, Decoded)), None)
        return detect([first], STREAM_URI).container


class LineGrader(AbstractContextManager["LineGrader"]):
    """Grades lines with a suite's graders; judges are asked over HTTP. A context manager, for it may hold connections.

    Raises:
        ConfigError: a judge's route or key is missing, or the suite names a format of more than one line a trajectory.
    """

    def __init__(self, loaded: LoadedSuite) -> None:
        self._graders = loaded.graders
        self._threshold = loaded.suite.verdict.threshold
        self._reader = LineReader(loaded.suite.input)
        self._runner = _judge_runner(loaded)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            self._runner.close()

    def grade(self, lines: list[tuple[int, bytes, bool]], oversize: list[OversizeLine]) -> GradedLines:
        """Grade lines together.

        Args:
            lines: (offset, line without its end, whether the stream ended inside it).
            oversize: lines that are longer than the suite allows.
        """
        normalised = Normalised()
        result = GradedLines()
        for offset, line, cut in lines:
            result.records += self._reader.read(line, offset, cut, normalised)
        for long in oversize:
            normalised.rejects.append(oversize_reject(STREAM_URI, long, None))
            result.records += 1
        result.rejects = normalised.rejects
        if normalised.trajectories:
            batch = TrajectoryBatch(to_record_batch(normalised.trajectories), normalised.trajectories)
            outcomes = self._outcomes(batch)
            table = score_table(batch, self._graders, outcomes, "", datetime.now(timezone.utc))
            result.rows = [{**row, "run_id": None} for row in table.to_pylist()]
            result.verdicts = list(self._verdicts(len(batch), outcomes))
        return result

    def _outcomes(self, batch: TrajectoryBatch) -> dict[str, GradeBatch]:
        outcomes: dict[str, GradeBatch] = {}
        for grader in self._graders:
            if isinstance(grader.grader, JudgeGrader):
                assert self._runner is not None
                outcomes[grader.name] = self._runner.grade(grader, batch, outcomes)
            else:
                outcomes[grader.name], _ = grade(grader, batch, outcomes)
        return outcomes

    def _verdicts(self, length: int, outcomes: dict[str, GradeBatch]) -> Iterator[Status]:
        by_row: list[list[Outcome]] = [[] for _ in range(length)]
        for grader in self._graders:
            for row, outcome in _outcomes_by_row(grader, outcomes[grader.name]):
                by_row[row].append(outcome)
        for each in by_row:
            yield trajectory_verdict(each, self._threshold).status


def _outcomes_by_row(grader: ConfiguredGrader, graded: GradeBatch) -> Iterator[tuple[int, Outcome]]:
    rows = range(len(graded)) if graded.rows is None else graded.rows.tolist()
    for row, score in zip(rows, graded.to_scores(), strict=True):
        yield row, Outcome(score.status, score.score, grader.common.weight, grader.common.required)


def _judge_runner(loaded: LoadedSuite) -> Any:
    if not any(isinstance(grader.grader, JudgeGrader) for grader in loaded.graders):
        return None
    from graders.judges.limits import limits_of, run_limits
    from graders.judges.memory_ledger import MemoryLedger
    from graders.judges.routing import route_problems, used_routes
    from graders.judges.runner import JudgeRunner

    limits = loaded.suite.limits
    problems = route_problems(loaded.graders, loaded.suite.routes, max_cost_usd=limits.max_cost_usd, environ=os.environ)
    if problems:
        raise ConfigError(problems)
    routes = used_routes(loaded.graders, loaded.suite.routes)
    for name, route in routes.items():
        if route.mode == "batch":
            message = "a filter can't wait for a provider's batch: use `gradebeam run`"
            raise ConfigError(message, ("routes", name, "mode"))
    whole = run_limits(limits.max_calls, limits.max_cost_usd)
    ledger = MemoryLedger({name: limits_of(route) for name, route in routes.items()}, whole)
    return JudgeRunner(routes, ledger=ledger)


def _refuse_grouped(container: Container) -> None:
    if container.grouping != "record":
        raise ConfigError(f"{_grouped_words(container)}: use `gradebeam run`", ("input", "format"))


def _grouped_reject(container: Container, line: bytes, offset: int) -> Reject:
    detail = f"{_grouped_words(container)}, which a filter of lines can't put together: use `gradebeam run`"
    head = line[: 4 * 512].decode("utf-8", "replace")[:512]
    return Reject(STREAM_URI, offset, container.name, RejectReason.UNKNOWN_FORMAT, detail, head, len(line))


def _grouped_words(container: Container) -> str:
    what = "a whole file" if container.grouping == "file" else "several records"
    return f"in the format {container.name} {what} make one trajectory"
