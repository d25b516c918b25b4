"""The judge cases of the conformance file over HTTP: the endpoint gives the case's replies as a model would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from graders.configured import configure
from graders.errors import ConfigError
from graders.judges.judge_grader import JudgeGrader
from graders.record import to_trajectory
from graders.trajectory_batch import TrajectoryBatch
from schemas.score import Score
from tests.graders.conformance_runner import judge_of
from tests.graders.judges.fault_server import FaultServer, Response, Seen, completion
from tests.graders.judges.runners import route, running
from tests.shared_files import conformance_cases

_REPLIES = ("judge", "judges", "judge_reply", "judge_error")
CASES = [case for case in conformance_cases() if case["input"].keys() & set(_REPLIES)]


def _over_http(case: Mapping[str, Any]) -> Score:
    configured = configure(case["grader"], profile=case["profile"])
    grader = configured.grader
    assert isinstance(grader, JudgeGrader)
    judge = judge_of(case["input"])
    names = list(dict.fromkeys(grader.routes))

    def answer(seen: Seen) -> Response:
        name = seen.body["model"]
        request = grader.requests(trajectory)[names.index(name)]
        try:
            return Response(body=completion(judge(request)))
        except RuntimeError:
            return Response(400, {"error": {"message": "failed"}})

    trajectory = to_trajectory({key: value for key, value in case["input"].items() if key not in _REPLIES})
    with FaultServer(answer) as server:
        routes = {name: route(server.url, model=name, structured_output="json_schema") for name in names}
        with running(routes) as runner:
            block = TrajectoryBatch.from_trajectories([trajectory])
            (row,) = runner.grade(configured, block, {}).to_scores()
    return row


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_judge_case_over_http(case: Mapping[str, Any]) -> None:
    try:
        status = _over_http(case).status.value
    except ConfigError:
        status = "error"
    assert status in case["accept"], case["note"]
