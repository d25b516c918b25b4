"""The steps of the graph: thin DoFns over the pure functions of reading, grading, writing and committing."""

from __future__ import annotations

import hashlib
import pickle
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import apache_beam as beam
import orjson
from apache_beam.metrics import Metrics

from graders.configured import ConfiguredGrader
from graders.grade_batch import GradeBatch
from graders.grading import grade
from graders.judges import JudgeGrader
from graders.judges.batch_pending import BatchPending
from pipelines import storage
from pipelines.commit.committing import commit
from pipelines.commit.publishing import PublishedFile, PublishTask, plan_tasks, publish
from pipelines.memory import keep_memory
from pipelines.packing import unpacked
from pipelines.plan import RunPlan
from pipelines.reading.block import Block, Segment
from pipelines.reading.loaded import LoadedBlock
from pipelines.reading.reader import BlockReader
from pipelines.reading.splitting import split
from pipelines.writing.parts import BlockResult, complete_blocks, read_marker, write_parts
from schemas.manifest import InputFile

NAMESPACE = "gradebeam"
REUSED = "reused"
SPILLED = "spilled"
CHOSEN = "chosen"


@dataclass(frozen=True, slots=True)
class GradedBlock:
    """A block on its way through the graders."""

    loaded: LoadedBlock
    outcomes: dict[str, GradeBatch] = field(default_factory=dict)
    grader_us: dict[str, int] = field(default_factory=dict)


class GradedBlockCoder(beam.coders.Coder):
    """Pickles blocks, and tells their size without: Beam samples the size of elements at every step, and would pickle them for it."""

    def encode(self, value: GradedBlock) -> bytes:
        """Only where a runner does break the chain of graders."""
        return pickle.dumps(value, protocol=5)

    def decode(self, encoded: bytes) -> GradedBlock:
        """The block again."""
        block: GradedBlock = pickle.loads(encoded)
        return block

    def estimate_size(self, value: GradedBlock) -> int:
        """Bytes of its trajectories."""
        return int(value.loaded.batch.record_batch.nbytes)

    def is_deterministic(self) -> bool:
        """No: a block is no key."""
        return False


beam.coders.registry.register_coder(GradedBlock, GradedBlockCoder)


class UnpackDoFn(beam.DoFn):
    """Packed inputs → InputFiles."""

    def process(self, element: bytes) -> Iterator[InputFile]:
        yield from unpacked(element)


class SplitDoFn(beam.DoFn):
    """InputFile → its blocks; blocks whose records are grouped by key go to the tag `spilled`."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan

    def process(self, element: InputFile) -> Iterator[Any]:
        for block in split(element, self.plan.suite.input):
            if block.container is not None and block.container.grouping == "key":
                yield beam.pvalue.TaggedOutput(SPILLED, block)
            else:
                yield block


class SpillDoFn(beam.DoFn):
    """Block → (bucket, (container, segment, bytes)): its records lie by bucket in one spill file; only pointers cross the shuffle."""

    def __init__(self, plan: RunPlan, buckets: int) -> None:
        self.plan = plan
        self.buckets = buckets

    def process(self, element: Block) -> Iterator[tuple[str, tuple[Any, Segment, int]]]:
        assert element.container is not None
        reader = BlockReader(self.plan.suite.input, hash_seed(self.plan.run_id))
        for packed in reader.spill(element, self.buckets):
            uri = storage.join(self.plan.staging, f"spill-{element.key}-{uuid.uuid4().hex[:12]}.bin")
            storage.write_bytes(uri, b"".join(packed.values()))
            start = 0
            for bucket, data in packed.items():
                segment = Segment(uri, start, len(data))
                yield f"{element.container.name}/{bucket}", (element.container, segment, element.size // len(packed))
                start += len(data)


class BucketDoFn(beam.DoFn):
    """(bucket, pointers) → a block that stands for all records of the bucket, sorted by their source."""

    def process(self, element: tuple[str, Iterable[tuple[Any, Segment, int]]]) -> Iterator[Block]:
        name, pointers = element
        listed = list(pointers)
        segments = tuple(
            sorted((segment for _, segment, _ in listed), key=lambda segment: (segment.uri, segment.start))
        )
        size = sum(share for _, _, share in listed)
        yield Block(f"bucket:{name}", "bucket", listed[0][0], size=size, segments=segments)


class ReadDoFn(beam.DoFn):
    """Block → its pieces as `GradedBlock` without outcomes; results of pieces that an earlier execution finished go to the tag `reused`."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan

    def setup(self) -> None:
        keep_memory()
        self.finished = complete_blocks(self.plan.staging)
        self.reader = BlockReader(self.plan.suite.input, hash_seed(self.plan.run_id))

    def process(self, element: Block) -> Iterator[Any]:
        reused: list[str] = []

        def is_done(key: str) -> bool:
            if key in self.finished:
                reused.append(self.finished[key])
                return True
            return False

        for loaded in self.reader.load(element, is_done):
            Metrics.counter(NAMESPACE, "records").inc(loaded.records)
            Metrics.counter(NAMESPACE, "rejects").inc(len(loaded.rejects))
            yield GradedBlock(loaded)
        for marker in reused:
            yield beam.pvalue.TaggedOutput(REUSED, read_marker(marker))


class GradeDoFn(beam.DoFn):
    """GradedBlock → the same with one more grader's outcomes."""

    def __init__(self, grader: ConfiguredGrader) -> None:
        self.grader = grader

    def process(self, element: GradedBlock) -> Iterator[GradedBlock]:
        outcome, duration_us = grade(self.grader, element.loaded.batch, element.outcomes)
        yield replace(
            element,
            outcomes={**element.outcomes, self.grader.name: outcome},
            grader_us={**element.grader_us, self.grader.name: duration_us},
        )


class WriteDoFn(beam.DoFn):
    """GradedBlock → BlockResult: its parts are in staging."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan

    def process(self, element: GradedBlock) -> Iterator[BlockResult]:
        yield write_parts(
            self.plan.staging, element.loaded, self.plan.graders, element.outcomes, element.grader_us, self.plan.run_id
        )


class PlanPublishingDoFn(beam.DoFn):
    """(nothing, all BlockResults) → what is to be published, one task a file of a table; to the tag `chosen` the results that it is made of.

    The commit counts these and no others: were it to collect the results for itself, a block that is executed again in between could
    give it counts of other parts than those that were published.
    """

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan

    def process(self, element: tuple[None, Iterable[BlockResult | None]]) -> Iterator[Any]:
        given = list(element[1])
        if waiting_for(given):
            for result in given:
                yield beam.pvalue.TaggedOutput(CHOSEN, (None, result))
            return
        results = one_result_a_key(given)
        for result in results:
            yield beam.pvalue.TaggedOutput(CHOSEN, (None, result))
        yield from plan_tasks(self.plan, results)


class PublishDoFn(beam.DoFn):
    """PublishTask → the file in its table's folder."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan

    def process(self, element: PublishTask) -> Iterator[tuple[None, PublishedFile]]:
        yield None, publish(self.plan, element)


class CommitDoFn(beam.DoFn):
    """(nothing, (chosen BlockResults, PublishedFiles, packed inputs)) → the run's id, once its manifest is written."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan

    def process(self, element: tuple[None, dict[str, Iterable[Any]]]) -> Iterator[str]:
        given = list(element[1]["results"])
        batches = waiting_for(given)
        if batches:
            storage.write_bytes(self.plan.waiting_uri, orjson.dumps({"batches": batches}))
            return
        results = one_result_a_key(given)
        inputs = sorted((file for pack in element[1]["inputs"] for file in unpacked(pack)), key=lambda file: file.uri)
        commit(replace(self.plan, inputs=tuple(inputs)), results, list(element[1]["published"]))
        yield self.plan.run_id


def waiting_for(results: Iterable[Any]) -> list[str]:
    """The provider's batches that blocks of the run wait for; empty where all blocks are graded."""
    return sorted({str(batch) for result in results if isinstance(result, BatchPending) for batch in result.args})


def one_result_a_key(results: Iterable[BlockResult | None]) -> list[BlockResult]:
    """One of the results of each block (a block may have been executed twice), the same one whatever their order, in order of source."""
    chosen: dict[str, BlockResult] = {}
    for result in results:
        if result is None:
            continue
        known = chosen.get(result.key)
        if known is None or _name(result) < _name(known):
            chosen[result.key] = result
    return sorted(chosen.values(), key=lambda result: (result.source_uri, result.source_offset, result.key))


def is_judge(grader: ConfiguredGrader) -> bool:
    """Whether a grader asks an LLM."""
    return isinstance(grader.grader, JudgeGrader)


def hash_seed(run_id: str) -> int:
    """The key of the run's record hashes: who writes a log can't know it beforehand."""
    return int.from_bytes(hashlib.blake2b(run_id.encode(), digest_size=8).digest(), "big")


def _name(result: BlockResult) -> str:
    return min((part.uri for part in result.parts.values()), default="")
