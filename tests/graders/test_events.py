from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from schemas.trajectory import Event, Trajectory
from tests.graders.run_grader import graded_one

RUN = Trajectory(
    events=(
        Event("skill_activation", name="code-review"),
        Event("system", name="compaction"),
        Event("system", data_json='{"kind":"handoff"}'),
        Event("system", data_json="broken"),
    )
)


@pytest.mark.parametrize(
    ("config", "status"),
    [
        ({"type": "skill-invocation", "require": ["code-review"]}, "pass"),
        ({"type": "skill-invocation", "require": ["code"]}, "fail"),
        ({"type": "skill-invocation", "require": ["code-review", "deploy"]}, "fail"),
        ({"type": "skill-invocation", "forbid": ["deploy"]}, "pass"),
        ({"type": "skill-invocation", "forbid": ["code-review"]}, "fail"),
        ({"type": "system-event", "require": ["compaction", "handoff"]}, "pass"),
        ({"type": "system-event", "forbid": ["compaction"]}, "fail"),
        ({"type": "system-event", "require": ["code-review"]}, "fail"),
    ],
)
def test_names(config: dict[str, Any], status: str) -> None:
    assert graded_one(config, RUN).status.value == status


def test_absence_is_satisfied_by_nothing() -> None:
    assert graded_one({"type": "skill-invocation", "forbid": ["deploy"]}, Trajectory()).passed is True


@pytest.mark.parametrize("config", [{}, {"require": ["a"], "forbid": ["a"]}, {"require": "a"}])
def test_refuses_a_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure({"type": "skill-invocation", **config})
