"""`skill-invocation` and `system-event`: events that have to be, or must not be, in the run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from pydantic import Field, model_validator

from graders.grader import GraderConfig, RowGrader
from schemas.score import Score, verdict
from schemas.trajectory import Event, Trajectory


class NamedEventsConfig(GraderConfig):
    """Names, compared exactly."""

    require: list[str] = Field(default_factory=list)
    forbid: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _consistent(self) -> NamedEventsConfig:
        if not self.require and not self.forbid:
            raise ValueError("give require, forbid or both")
        both = sorted(set(self.require) & set(self.forbid))
        if both:
            raise ValueError(f'"{both[0]}" is both required and forbidden')
        return self


class _NamedEvents(RowGrader[NamedEventsConfig]):
    config_model = NamedEventsConfig
    noun: ClassVar[str]

    @abstractmethod
    def names(self, trajectory: Trajectory) -> set[str]:
        """The names that occurred."""

    def grade_row(self, trajectory: Trajectory) -> Score:
        """Every required name occurred and no forbidden one did."""
        found = self.names(trajectory)
        missing = [name for name in self.config.require if name not in found]
        unwanted = [name for name in self.config.forbid if name in found]
        details = {"missing": missing, "unwanted": unwanted}
        if missing:
            return verdict(False, f"{self.noun} missing: {', '.join(missing)}", details=details)
        if unwanted:
            return verdict(False, f"{self.noun} forbidden: {', '.join(unwanted)}", details=details)
        return verdict(True, f"{self.noun} as wanted")


class SkillInvocation(_NamedEvents):
    """Passes when every required skill was activated and no forbidden one (events of type `skill_activation`)."""

    type = "skill-invocation"
    example: ClassVar[Mapping[str, Any]] = {"require": ["code-review"]}
    noun = "skills"

    def names(self, trajectory: Trajectory) -> set[str]:
        """Names of activated skills."""
        return {event.name for event in trajectory.events if event.type == "skill_activation" and event.name}


class SystemEvent(_NamedEvents):
    """Passes when every required kind of system event occurred and no forbidden one (events of type `system`)."""

    type = "system-event"
    example: ClassVar[Mapping[str, Any]] = {"forbid": ["compaction"]}
    noun = "system events"

    def names(self, trajectory: Trajectory) -> set[str]:
        """Kinds of system events: the event's name, or what its payload calls itself."""
        return {kind for event in trajectory.events if event.type == "system" for kind in _kinds(event)}


def _kinds(event: Event) -> list[str]:
    if event.name:
        return [event.name]
    try:
        data = orjson.loads(event.data_json or "null")
    except orjson.JSONDecodeError:
        return []
    if not isinstance(data, dict):
        return []
    return [data[key] for key in ("kind", "subtype", "type", "name") if isinstance(data.get(key), str)]
