"""The graders of agents' work see whole batches: a row's outcome is the one that it has alone, also in a slice."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from graders.trajectory_batch import TrajectoryBatch
from schemas.score import Score
from schemas.trajectory import Event, Message, ToolCall, ToolResult, Trajectory, Usage
from tests.graders.run_grader import graded_batch

ROWS = [
    Trajectory(),
    Trajectory(
        input="Where is my order?",
        output='{"order": {"items": [{"sku": "A-1"}]}, "status": "ok"}',
        reference="42",
        messages=(
            Message("user", "Where is my order?"),
            Message("assistant", None),
            Message("tool", "TICKET-7", tool_call_id="1"),
            Message("assistant", "It is TICKET-7, write to a@b.co"),
        ),
        tool_calls=(
            ToolCall("search", '{"query":"refund policy"}', "1", 1),
            ToolCall("bash", '{"command":"rm -rf x"}', "2", 1),
        ),
        tool_results=(ToolResult("TICKET-7", "1", is_error=False, message_index=2),),
        events=(Event("turn_end"), Event("system", name="compaction")),
        usage=Usage(10, 20, None, 5, Decimal("0.07"), 130_000),
        outcome="ok",
        extra_json='{"diff":"+TODO","custom_metrics":{"coverage":0.5},"reference_tool_calls":[{"name":"search"}]}',
    ),
    Trajectory(output=""),
    Trajectory(
        output="The answer is 42. " * 10 + "\n```json\n{\n```",
        messages=(Message("user", "hi", flags=("injected",)), Message("assistant", "The answer is 42.")),
        tool_calls=tuple(ToolCall("create_ticket", "{bad", str(number)) for number in range(25)),
        tool_results=(ToolResult(None), ToolResult("TICKET-9", "3", is_error=True)),
        events=(Event("error"), Event("skill_activation", name="code-review")),
        extra_json='{"metrics":{"totalTokens":99999,"errorCount":3,"toolCallCount":1},"diff":""}',
        turn_count=12,
    ),
]

CONFIGS: list[dict[str, Any]] = [
    {"type": "assistant-contains-tool-output", "tools": ["."], "pattern": "TICKET-[0-9]+"},
    {"type": "code-fence-valid"},
    {"type": "completed"},
    {"type": "completed", "meaning": "outcome"},
    {"type": "cost-budget", "max": 0.05},
    {"type": "custom-metrics", "assertions": [{"metric": "coverage", "min": 0.8}]},
    {"type": "diff-contains", "pattern": "TODO"},
    {"type": "diff-empty"},
    {"type": "error-count", "max": 0},
    {"type": "error-count", "max": 0, "of": "events"},
    {"type": "exit-success"},
    {"type": "json-deep-compare", "expected": {"status": "ok", "n": 1}, "threshold": 0.5},
    {"type": "json-field", "path": "order.items[0].sku", "expected": "A-1"},
    {"type": "language", "expected": ["en"]},
    {"type": "loop-outcome", "max_acceptable_retries": 2},
    {"type": "max-repeat", "max": 3, "max_cycle_period": 4},
    {"type": "numeric-close", "expected": 42, "extract": "first"},
    {"type": "one-of", "values": ["", "a"]},
    {"type": "pii"},
    {"type": "pii", "turns": "all"},
    {"type": "readability", "maximum": 8.0},
    {"type": "secrets"},
    {"type": "similarity", "metric": "token-f1", "reference": "the answer"},
    {"type": "skill-invocation", "require": ["code-review"]},
    {"type": "step-count", "max": 1},
    {"type": "step-count", "max": 1, "tools": ["search", "bash"]},
    {"type": "system-event", "forbid": ["compaction"]},
    {"type": "token-budget", "max": 25},
    {"type": "tool-args", "tools": {"search": {"required": ["query"]}, "create_ticket": True}},
    {"type": "tool-call-count", "max": 1},
    {"type": "tool-call-count", "max": 1, "tools": ["create"]},
    {"type": "tool-calls", "require": ["search"], "forbid": [{"name": "bash", "command": "sudo"}]},
    {"type": "tool-success", "unknown": "success"},
    {"type": "trajectory-match", "mode": "any-order", "arguments": "subset"},
    {"type": "turn-count", "max": 3},
    {"type": "wall-time", "max": "2m"},
]


def outcomes(config: dict[str, Any], batch: TrajectoryBatch) -> list[Score]:
    return [replace(score, duration_us=None) for score in graded_batch(config, batch)]


@pytest.mark.parametrize("config", CONFIGS, ids=[f"{number}-{config['type']}" for number, config in enumerate(CONFIGS)])
def test_a_row_has_the_same_outcome_in_any_batch(config: dict[str, Any]) -> None:
    whole = TrajectoryBatch.from_trajectories(ROWS * 2)
    together = outcomes(config, whole)
    alone = [outcomes(config, TrajectoryBatch.from_trajectories([row]))[0] for row in ROWS]
    assert together == alone * 2
    assert outcomes(config, TrajectoryBatch(whole.record_batch.slice(3, 4))) == together[3:7]
    assert outcomes(config, TrajectoryBatch(whole.record_batch.slice(0, 0))) == []


def test_none_of_these_gives_one_outcome_to_all_rows() -> None:
    batch = TrajectoryBatch.from_trajectories(ROWS)
    for config in CONFIGS:
        assert len({score.status for score in outcomes(config, batch)}) > 1, config
