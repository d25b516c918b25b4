"""The graph of a run: named stages, each grader visible; only descriptors and counts cross a shuffle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from pipelines import steps
from pipelines.plan import RunPlan

#: A bucket of records that are grouped by key stands for about this many bytes of input.
BUCKET_BYTES = 32 * 2**20


@dataclass
class GradeRun(beam.PTransform):  # type: ignore[misc]
    """A pipeline's start → the run's id, once its commit stands."""

    plan: RunPlan

    def expand(self, begin: Any) -> Any:
        """Read, grade, write, commit."""
        results = begin | "Blocks" >> Blocks(self.plan) | "GradeBlocks" >> GradeBlocks(self.plan)
        seed = begin | "AlwaysCommit" >> beam.Create([None])
        together = (*results, seed) | "AllResults" >> beam.Flatten() | "OneKey" >> beam.Map(_with_no_key)
        published = (
            together
            | "CollectParts" >> beam.GroupByKey()
            | "Compact" >> beam.ParDo(steps.PlanPublishingDoFn(self.plan))
            | "ReshardFiles" >> beam.Reshuffle()
            | "Publish" >> beam.ParDo(steps.PublishDoFn(self.plan))
        )
        return (
            {"results": together, "published": published}
            | "CollectFiles" >> beam.CoGroupByKey()
            | "Commit" >> beam.ParDo(steps.CommitDoFn(self.plan))
        )


@dataclass
class Blocks(beam.PTransform):  # type: ignore[misc]
    """A pipeline's start → block descriptors, spread over the workers."""

    plan: RunPlan

    def expand(self, begin: Any) -> Any:
        """Split files; group records of one-event-per-line logs into buckets."""
        buckets = max(1, -(-sum(file.size for file in self.plan.inputs) // BUCKET_BYTES))
        split = (
            begin
            | "MatchInputs" >> beam.Create(list(self.plan.inputs))
            | "SpreadInputs" >> beam.Reshuffle()
            | "SplitIntoBlocks" >> beam.ParDo(steps.SplitDoFn(self.plan)).with_outputs(steps.SPILLED, main="blocks")
        )
        grouped = (
            split[steps.SPILLED]
            | "ReshardSpills" >> beam.Reshuffle()
            | "SpillByKey" >> beam.ParDo(steps.SpillDoFn(self.plan, buckets))
            | "GroupByTrajectory" >> beam.GroupByKey()
            | "Buckets" >> beam.ParDo(steps.BucketDoFn())
        )
        return (split["blocks"], grouped) | "AllBlocks" >> beam.Flatten() | "ReshardBlocks" >> beam.Reshuffle()


@dataclass
class GradeBlocks(beam.PTransform):  # type: ignore[misc]
    """Block descriptors → (results of blocks graded now, results reused from an earlier execution)."""

    plan: RunPlan

    def expand(self, blocks: Any) -> Any:
        """One step a grader, judges last among those that may run."""
        read = blocks | "ReadBlock" >> beam.ParDo(steps.ReadDoFn(self.plan)).with_outputs(steps.REUSED, main="loaded")
        graded = read["loaded"]
        for grader in self.plan.graders:
            kind = "Judge" if steps.is_judge(grader) else "Grade"
            graded = graded | f"{kind}/{grader.name}" >> beam.ParDo(steps.GradeDoFn(grader))
        written = graded | "WriteBlock" >> beam.ParDo(steps.WriteDoFn(self.plan))
        return written, read[steps.REUSED]


def _with_no_key(result: Any) -> tuple[None, Any]:
    return None, result
