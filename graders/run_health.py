"""`completed` and `exit-success`: whether a run came to its end.

Both have a documented meaning (`meaning: documented`), which asks for events that few formats log, and a useful one
(`meaning: outcome`), which asks how the log says the run ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from graders.errors import Problem
from graders.grader import GraderConfig, RowGrader
from schemas.score import ErrorType, Score, error, verdict
from schemas.trajectory import Trajectory


class RunHealthConfig(GraderConfig):
    """Which meaning."""

    meaning: Literal["documented", "outcome"] = "documented"


class Completed(RowGrader[RunHealthConfig]):
    """Passes when the run ended as it should.

    `documented` (vally): the output is not empty, there is no error event, and at least one `turn_end` event.
    `outcome`: the log says that the run ended ok, and the output is not empty. A log that does not say is an error.
    """

    type = "completed"
    config_model = RunHealthConfig
    example: ClassVar[Mapping[str, Any]] = {"meaning": "outcome"}

    def warnings(self) -> Sequence[Problem]:
        """The documented meaning fails every run of a format without turn events."""
        if self.config.meaning == "outcome":
            return ()
        text = "`completed` as documented fails every run whose format logs no turn_end events"
        return (Problem(("meaning",), text, "use `meaning: outcome` for such logs", warning=True),)

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Each condition in turn."""
        if self.config.meaning == "outcome":
            return _by_outcome(trajectory)
        if not trajectory.output:
            return verdict(False, "the agent produced no output")
        errors = sum(event.type == "error" for event in trajectory.events)
        if errors:
            return verdict(False, f"{errors} error events in the trajectory")
        if not any(event.type == "turn_end" for event in trajectory.events):
            return verdict(False, "no turn_end event: the run may have stopped in the middle of a turn")
        return verdict(True, "the run completed")


class ExitSuccess(RowGrader[RunHealthConfig]):
    """Passes when the run left an output.

    `documented` (vally): the output is not empty. `outcome`: as `completed` with that meaning.
    """

    type = "exit-success"
    config_model = RunHealthConfig
    example: ClassVar[Mapping[str, Any]] = {}

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Look at the output, or at how the run ended."""
        if self.config.meaning == "outcome":
            return _by_outcome(trajectory)
        if trajectory.output:
            return verdict(True, "the agent produced an output")
        return verdict(False, "the agent produced no output")


def _by_outcome(trajectory: Trajectory) -> Score:
    if trajectory.outcome is None:
        return error(ErrorType.MISSING_FIELD, "the log does not say how the run ended")
    if trajectory.outcome != "ok":
        return verdict(False, f"the run ended with: {trajectory.outcome}", label=trajectory.outcome)
    if not trajectory.output:
        return verdict(False, "the run ended ok without an output", label="ok")
    return verdict(True, "the run ended ok", label="ok")
