"""The graph of a run: named stages, each grader visible; only descriptors and counts cross a shuffle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from pipelines import steps
from pipelines.packing import packed
from pipelines.plan import RunPlan
from schemas.manifest import InputFile

#: A bucket of records that are grouped by key stands for about this many bytes of input.
BUCKET_BYTES = 32 * 2**20
#: What a compressed log is taken to hold for each of its bytes; exports of spans, which repeat much, come to six to twelve.
COMPRESSION_RATIO = 10
#: The steps that read or write whole logs and tables; what the others do takes less time than to set a worker up for them.
BUSY_STEPS = ("SplitIntoBlocks", "SpillByKey", "ReadBlock", "Publish")
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip")


@dataclass
class GradeRun(beam.PTransform):
    """A pipeline's start → the run's id, once its commit stands."""

    plan: RunPlan

    def expand(self, begin: Any) -> Any:
        """Read, grade, write, commit."""
        plan = self.plan.for_steps()
        inputs = begin | "MatchInputs" >> beam.Create(packed(self.plan.inputs), reshuffle=False)
        blocks = inputs | "Blocks" >> Blocks(plan, bucket_count(self.plan.inputs), spread=len(self.plan.inputs) > 1)
        results = blocks | "GradeBlocks" >> GradeBlocks(self.plan)
        seed = inputs | "AlwaysCommit" >> beam.Map(_no_result)
        planned = (
            (*results, seed)
            | "AllResults" >> beam.Flatten()
            | "OneKey" >> beam.Map(_with_no_key)
            | "CollectParts" >> beam.GroupByKey()
            | "Compact" >> beam.ParDo(steps.PlanPublishingDoFn(plan)).with_outputs(steps.CHOSEN, main="tasks")
        )
        published = (
            planned["tasks"] | "ReshardFiles" >> beam.Reshuffle() | "Publish" >> beam.ParDo(steps.PublishDoFn(plan))
        )
        together = {
            "results": planned[steps.CHOSEN],
            "published": published,
            "inputs": inputs | "InputsForCommit" >> beam.Map(_with_no_key),
        }
        return (
            together
            | "CollectFiles" >> beam.CoGroupByKey()
            | "Commit" >> beam.ParDo(steps.CommitDoFn(self.plan.for_commit()))
        )


@dataclass
class Blocks(beam.PTransform):
    """Packed inputs → block descriptors, spread over the workers."""

    plan: RunPlan
    buckets: int
    spread: bool
    """Whether there are several inputs, which workers then split at once."""

    def expand(self, inputs: Any) -> Any:
        """Split files; group records of one-event-per-line logs into buckets."""
        files = inputs | "UnpackInputs" >> beam.ParDo(steps.UnpackDoFn())
        if self.spread:
            files = files | "SpreadInputs" >> beam.Reshuffle()
        to_split = beam.ParDo(steps.SplitDoFn(self.plan))
        split = files | "SplitIntoBlocks" >> to_split.with_outputs(steps.SPILLED, main="blocks")
        grouped = (
            split[steps.SPILLED]
            | "ReshardSpills" >> beam.Reshuffle()
            | "SpillByKey" >> beam.ParDo(steps.SpillDoFn(self.plan, self.buckets))
            | "GroupByTrajectory" >> beam.GroupByKey()
            | "Buckets" >> beam.ParDo(steps.BucketDoFn())
        )
        return (split["blocks"], grouped) | "AllBlocks" >> beam.Flatten() | "ReshardBlocks" >> beam.Reshuffle()


@dataclass
class GradeBlocks(beam.PTransform):
    """Block descriptors → results of blocks graded now, of an earlier execution, and blocks that wait for a provider's batch."""

    plan: RunPlan

    def expand(self, blocks: Any) -> Any:
        """One step a grader, in the order of their dependencies."""
        read_block = beam.ParDo(steps.ReadDoFn(self.plan.for_steps())).with_output_types(steps.GradedBlock)
        read = blocks | "ReadBlock" >> read_block.with_outputs(steps.REUSED, main="loaded")
        graded = read["loaded"]
        waiting = []
        for grader in self.plan.graders:
            if steps.is_judge(grader) and self.plan.judges is not None:
                from pipelines.judging.step import PENDING, JudgeDoFn  # not loaded in a run without judges

                ask = beam.ParDo(JudgeDoFn(grader, self.plan.judges)).with_output_types(steps.GradedBlock)
                judged = graded | f"Judge/{grader.name}" >> ask.with_outputs(PENDING, main="judged")
                graded = judged["judged"]
                waiting.append(judged[PENDING])
            else:
                step = beam.ParDo(steps.GradeDoFn(grader)).with_output_types(steps.GradedBlock)
                graded = graded | f"Grade/{grader.name}" >> step
        written = graded | "WriteBlock" >> beam.ParDo(steps.WriteDoFn(self.plan.for_writing()))
        return written, read[steps.REUSED], *waiting


def bucket_count(inputs: Iterable[InputFile]) -> int:
    """How many buckets records that are grouped by key are spread over: a bucket's text stands in memory as a whole."""
    plain = sum(file.size * (COMPRESSION_RATIO if file.uri.endswith(_COMPRESSED) else 1) for file in inputs)
    return max(1, -(-plain // BUCKET_BYTES))


def _no_result(element: Any) -> None:
    """The commit is reached where no block has any record, too."""


def _with_no_key(element: Any) -> tuple[None, Any]:
    return None, element
