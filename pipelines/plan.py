"""A run's plan: everything that the steps of the graph need to know, small and picklable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from graders.configured import ConfiguredGrader
from pipelines import storage
from pipelines.judging.plan import JudgePlan
from schemas.manifest import InputFile
from schemas.suite import Suite


@dataclass(frozen=True)
class RunPlan:
    """One suite over one input set at one version of the code."""

    run_id: str
    output: str
    """The folder that holds all runs' tables."""
    suite: Suite
    suite_hash: str
    normalised_suite: dict[str, Any]
    graders: tuple[ConfiguredGrader, ...]
    """In the order in which they are graded."""
    inputs: tuple[InputFile, ...]
    inputs_fingerprint: str
    code_version: str
    versions: dict[str, str]
    runner: str
    started_at: str
    """ISO 8601, UTC."""
    judges: JudgePlan | None = None
    """How judges are asked; None in a suite without any."""

    def for_steps(self) -> RunPlan:
        """The plan without what only the commit needs. Steps are pickled into the job, which must stay small."""
        return replace(
            self.for_commit(), graders=(), normalised_suite={}, suite=self.suite.model_copy(update={"graders": []})
        )

    def for_writing(self) -> RunPlan:
        """The plan of the step that writes graded blocks: it needs the graders, too."""
        return replace(self.for_steps(), graders=self.graders)

    def for_commit(self) -> RunPlan:
        """The plan without its inputs, which reach the commit as elements."""
        return replace(self, inputs=())

    @property
    def staging(self) -> str:
        """Where parts lie until the commit; outside the tables' folders, for readers glob those."""
        return storage.join(self.output, "_staging", self.run_id)

    @property
    def waiting_uri(self) -> str:
        """Where a run that ended waiting for a provider's batches says so."""
        return storage.join(self.output, "_staging", f"{self.run_id}.waiting.json")

    @property
    def commit_uri(self) -> str:
        """The manifest, written last."""
        return commit_uri(self.output, self.run_id)

    def table_folder(self, table: str) -> str:
        """Where the run's files of a table lie."""
        return storage.join(self.output, table, f"run={self.run_id}")


def commit_uri(output: str, run_id: str) -> str:
    """Where the manifest of a run lies."""
    return storage.join(output, "_commits", f"{run_id}.json")
