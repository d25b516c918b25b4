"""Benchmarks, preference pairs, and the logs of further agents."""

from __future__ import annotations

from typing import Any

from pipelines.formats.container import Container, Normalised, SourceRecord
from pipelines.formats.containers.agentv import AgentV
from pipelines.formats.containers.benchmarks import AgentBench, PreferencePairs, Tau2Bench, TauBench, ToolBench
from pipelines.formats.containers.copilot import VsCodeChat, VsCodeChatReplay
from pipelines.formats.containers.managed_agents import ManagedAgents
from pipelines.formats.containers.openclaw import OpenClaw
from pipelines.formats.containers.swe_agent import SweAgentRows
from schemas.reject import RejectReason
from schemas.trajectory import Trajectory, Usage
from tests.pipelines.formats.reading_helper import run


def normalise(container: Container, *values: Any) -> Normalised:
    pieces, result = run([SourceRecord(value, "u", number * 100, 10) for number, value in enumerate(values)], container)
    assert len(pieces) == result.records_used + len(result.rejects) + sum(result.skipped.values())
    return result


def said(made: Trajectory) -> list[tuple[str, str | None]]:
    return [(message.role, message.text) for message in made.messages]


def answered(made: Trajectory) -> list[tuple[str | None, bool | None]]:
    return [(result.text, result.is_error) for result in made.tool_results]


def test_tau_bench() -> None:
    task = {"actions": [{"name": "f", "kwargs": {"x": 1}}], "instruction": "i", "outputs": ["10"]}
    (made,) = normalise(
        TauBench(),
        {
            "task_id": 3,
            "trial": 0,
            "reward": 1.0,
            "info": {"task": task},
            "traj": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
        },
    ).trajectories
    assert (made.trajectory_id, made.group_id, made.reference, made.output) == ("3:0", "3", "10", "a")
    assert made.extra_json == '{"reference_tool_calls":[{"name":"f","arguments":{"x":1}}]}'
    assert made.native_scores_json == '[{"name":"reward","value":1.0}]'


def test_tau2_leaves_the_users_own_tools_out() -> None:
    messages = [
        {
            "role": "user",
            "content": None,
            "tool_calls": [{"id": "u", "name": "look", "arguments": {}, "requestor": "user"}],
        },
        {"role": "tool", "id": "u", "content": "seen", "requestor": "user"},
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "name": "f", "arguments": {}, "requestor": "assistant"}],
        },
        {
            "role": "tool",
            "tool_messages": [{"role": "tool", "id": "a", "content": "r", "requestor": "assistant", "error": True}],
        },
        {"role": "assistant", "content": "done", "usage": {"prompt_tokens": 4, "completion_tokens": 1}},
    ]
    simulation = {"id": "s", "task_id": "t", "messages": messages, "reward_info": {"reward": 0}, "duration": 2.5}
    (made,) = normalise(
        Tau2Bench(), {"tasks": [], "simulations": [simulation], "info": {"agent_info": {"llm": "m"}}}
    ).trajectories
    assert said(made) == [("user", "q"), ("assistant", None), ("tool", "r"), ("assistant", "done")]
    assert (answered(made), made.usage, made.model) == ([("r", True)], Usage(4, 1, latency_ms=2500), "m")
    (rejected,) = normalise(Tau2Bench(), {"tasks": [], "simulation_index": []}).rejects
    assert rejected.reason is RejectReason.NO_MESSAGES


def test_toolbench_takes_the_longest_prefix() -> None:
    talk = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    ]
    answer = {
        "train_messages": [talk[:1], talk],
        "query": "q",
        "final_answer": '{"return_type":"give_answer","final_answer":"done"}',
        "valid_data": True,
    }
    (made,) = normalise(ToolBench(), {"win": True, "tree": {}, "answer_generation": answer}).trajectories
    assert said(made) == [("user", "q"), ("assistant", None), ("tool", "r")]
    assert (made.output, made.output_rule, made.outcome) == ("done", "final_answer", "ok")


def test_agentbench() -> None:
    (made,) = normalise(
        AgentBench(),
        {
            "index": 1,
            "output": {
                "history": [{"role": "user", "content": "q"}, {"role": "agent", "content": "a"}],
                "result": {"ok": 1},
                "status": "completed",
            },
        },
    ).trajectories
    assert (said(made), made.trajectory_id) == ([("user", "q"), ("assistant", "a")], "1")


def test_preference_pairs_are_refused_with_a_mapping() -> None:
    (rejected,) = normalise(
        PreferencePairs(), {"chosen_messages": [{"role": "user", "content": "q"}], "rejected_messages": []}
    ).rejects
    assert "fields: {messages: $.chosen_messages}" in rejected.detail


def test_swe_agents_rows() -> None:
    steps = [
        {"role": "system", "system_prompt": "sys", "text": None},
        {"role": "user", "text": "issue"},
        {"role": "ai", "text": "look\n```\nls\n```"},
        {"role": "user", "text": "files"},
    ]
    (made,) = normalise(
        SweAgentRows(),
        {"instance_id": "i", "trajectory": steps, "target": True, "exit_status": "submitted (exit_cost)"},
    ).trajectories
    assert [message.role for message in made.messages] == ["system", "user", "assistant", "tool"]
    assert (made.outcome, made.native_scores_json) == ("ok", '[{"name":"target","passed":true}]')


def test_agentv_calls_hold_their_results() -> None:
    lines = [
        {"test_id": "t", "target": "x", "message_index": 1, "role": "assistant", "tool_calls": [{"tool": "Read", "input": {"p": 1}, "id": "c", "output": "r"}],
         "transcript_token_usage": {"input": 9, "output": 2}, "transcript_duration_ms": 5},
        {"test_id": "t", "target": "x", "message_index": 0, "role": "user", "content": "q", "transcript_token_usage": {"input": 9, "output": 2}},
    ]  # fmt: skip
    (made,) = normalise(AgentV(), *lines).trajectories
    assert said(made) == [("user", "q"), ("assistant", None), ("tool", "r")]
    assert ([call.name for call in made.tool_calls], made.trajectory_id) == (["Read"], "t:x")
    assert (made.usage.input_tokens, made.usage.output_tokens) == (9, 2)


def test_openclaw_sessions_are_told_apart() -> None:
    def event(session: str, kind: str, seq: int, **more: Any) -> dict[str, Any]:
        return {"type": kind, "sessionKey": session, "seq": seq, "ts": 1772830700681, **more}

    result = normalise(
        OpenClaw(),
        event("a", "tool.end", 3, toolName="exec", success=False),
        event("b", "agent.start", 4, prompt="other"),
        event("a", "agent.start", 1, prompt="q"),
        event("a", "tool.start", 2, toolName="exec", params={"c": 1}),
        {"type": "message.in", "channel": "x", "content": "q"},
    )
    first, second = sorted(result.trajectories, key=lambda made: made.trajectory_id)
    assert said(first) == [("user", "q"), ("assistant", None), ("tool", None)]
    assert (answered(first), said(second)) == ([(None, True)], [("user", "other")])
    assert result.skipped == {"event_without_session": 1}


def test_managed_agents() -> None:
    def event(kind: str, own: str, **more: Any) -> list[Any]:
        return ["client.beta.sessions.events.stream", {"type": kind, "id": own, **more}]

    text = [{"type": "text", "text": "x"}]
    result = normalise(
        ManagedAgents(),
        ["client.beta.sessions.create", {"id": "s", "agent": {"name": "n", "model": {"id": "m"}, "system": "sys"}}],
        ["client.beta.sessions.events.send", ["s", {"events": []}]],
        event("user.message", "1", content=text),
        event("agent.tool_use", "2", name="f", input={}),
        event("agent.tool_result", "3", tool_use_id="2", content=text, is_error=True),
        event(
            "span.model_request_end",
            "4",
            model_usage={"input_tokens": 2, "cache_read_input_tokens": 3, "output_tokens": 1},
        ),
        event("agent.message", "5", content=text),
        event("agent.message", "5", content=text),
        event("session.status_idle", "6", stop_reason={"type": "end_turn"}),
    )
    (made,) = result.trajectories
    assert said(made) == [("system", "sys"), ("user", "x"), ("assistant", None), ("tool", "x"), ("assistant", "x")]
    assert (made.trajectory_id, made.agent, made.model, made.outcome, made.usage) == (
        "s",
        "n",
        "m",
        "ok",
        Usage(5, 1, 3),
    )


def test_vs_code_chats_and_replays() -> None:
    request = {
        "message": {"text": "q"},
        "response": [{"value": "do"}, {"kind": "thinking", "value": "hm"}, {"value": "ne"}],
        "result": {
            "timings": {"totalElapsed": 7},
            "metadata": {
                "toolCallRounds": [{"response": "look", "toolCalls": [{"id": "c", "name": "f", "arguments": "{}"}]}],
                "toolCallResults": {"c": {"content": [{"value": "r"}]}},
            },
        },
        "modelId": "m",
    }
    (chat,) = normalise(VsCodeChat(), {"responderUsername": "x", "requests": [request]}).trajectories
    assert said(chat) == [("user", "q"), ("assistant", "look"), ("tool", "r"), ("assistant", "done")]
    assert (chat.model, chat.usage.latency_ms) == ("m", 7)
    messages = [
        {"role": 1, "content": [{"type": 1, "text": "q"}]},
        {"role": 2, "content": [], "toolCalls": [{"id": "c__vscode-1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": 3, "toolCallId": "c", "content": [{"type": 1, "text": "r"}]},
    ]
    log = {
        "kind": "request",
        "requestMessages": {"messages": messages},
        "response": {"message": ["a"]},
        "metadata": {"model": "m", "usage": {"prompt_tokens": 3}},
    }
    (replay,) = normalise(
        VsCodeChatReplay(), {"prompts": [{"prompt": "q", "logs": [log]}], "totalLogEntries": 1}
    ).trajectories
    assert said(replay) == [("user", "q"), ("assistant", None), ("tool", "r"), ("assistant", "a")]
    assert (replay.tool_calls[0].id, replay.tool_results[0].tool_call_id, replay.usage.input_tokens) == ("c", "c", 3)
