"""Session files of coding agents and the logs of evaluation frameworks."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.formats.container import Container, Normalised, SourceRecord
from pipelines.formats.containers.adk import AdkEvalset, AdkSession
from pipelines.formats.containers.agents_sdk import AgentsSdk, ResponsesItems
from pipelines.formats.containers.atif import Atif
from pipelines.formats.containers.claude_code import ClaudeCode
from pipelines.formats.containers.claude_stream import ClaudeStream
from pipelines.formats.containers.codex import Codex
from pipelines.formats.containers.copilot import CopilotCli
from pipelines.formats.containers.gemini_cli import GeminiCli
from pipelines.formats.containers.inspect_logs import InspectLog, ScoutTranscripts
from pipelines.formats.containers.message_lines import MessageLines
from pipelines.formats.containers.openhands import OpenHands, OpenHandsSdk
from pipelines.formats.containers.swe_agent import MiniSweAgent, SweAgent
from pipelines.formats.containers.vally import Vally
from schemas.trajectory import Trajectory, Usage
from tests.pipelines.formats.reading_helper import run


def normalise(container: Container, *values: Any) -> Normalised:
    pieces, result = run(
        [SourceRecord(value, "dir/u.jsonl", number * 100, 10) for number, value in enumerate(values)], container
    )
    assert len(pieces) == result.records_used + len(result.rejects) + sum(result.skipped.values())
    return result


def said(made: Trajectory) -> list[tuple[str, str | None]]:
    return [(message.role, message.text) for message in made.messages]


def called(made: Trajectory) -> list[tuple[str, str, int | None]]:
    return [(call.name, call.arguments_raw, call.message_index) for call in made.tool_calls]


def answered(made: Trajectory) -> list[tuple[str | None, bool | None]]:
    return [(result.text, result.is_error) for result in made.tool_results]


def line(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    for key in ("id", "model", "usage"):
        if key in more:
            message[key] = more.pop(key)
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "type": kind,
        "timestamp": "2026-01-31T12:00:00.000Z",
        "message": message,
        **more,
    }


def test_claude_code_merges_the_lines_of_a_message_and_counts_its_usage_once() -> None:
    usage = [{"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": count} for count in (1, 9)]
    result = normalise(
        ClaudeCode(),
        {"type": "summary", "summary": "x", "leafUuid": "z"},
        line("1", None, "user", "go", cwd="/w", version="2"),
        line("2", "1", "assistant", [{"type": "text", "text": "looking"}], id="m1", model="c", usage=usage[0]),
        line("3", "2", "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"c": 1}}], id="m1", model="c", usage=usage[1]),
        line("4", "3", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}]),
        line("4", "3", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}]),
        line("5", "4", "user", "<system-reminder>be good</system-reminder>", isMeta=True),
        line("6", "5", "assistant", [{"type": "text", "text": "done"}], id="m2", model="c", usage={"input_tokens": 3, "output_tokens": 4}),
        line("7", "6", "assistant", [{"type": "text", "text": "API Error"}], id="m3", model="<synthetic>", isApiErrorMessage=True, usage={"input_tokens": 0}),
    )  # fmt: skip
    (made,) = result.trajectories
    assert [message.text for message in made.messages] == [
        "go",
        "looking",
        "no",
        "<system-reminder>be good</system-reminder>",
        "done",
        "API Error",
    ]
    assert called(made) == [("Bash", '{"c":1}', 1)]
    assert answered(made) == [("no", True)]
    assert made.usage == Usage(10, 13, 2)
    assert (made.output, made.input, made.model, made.outcome) == ("done", "go", "c", "error")
    assert [message.flags for message in made.messages] == [(), (), (), ("injected",), (), ("synthetic",)]
    assert made.metadata == {"cwd": "/w", "version": "2"}
    assert result.skipped == {"session_event_without_message": 1, "duplicate_uuid": 1}


def test_claude_code_sub_agents_clears_and_rewinds() -> None:
    result = normalise(
        ClaudeCode(),
        line("1", None, "user", "first try"),
        line("2", "1", "assistant", "answer one", id="m1"),
        line("3", None, "user", "root"),
        line("4", "3", "user", "old prompt"),
        line("5", "4", "assistant", "old answer", id="m2"),
        line("6", "3", "user", "new prompt"),
        line("7", "6", "user", "sub task", isSidechain=True, agentId="ag"),
        line("8", "7", "assistant", "sub answer", id="m3", isSidechain=True, agentId="ag"),
        line("9", "6", "user", "<command-name>/clear</command-name>"),
        line("10", "9", "user", "fresh"),
        line("11", "10", "assistant", "fresh answer", id="m4"),
    )
    by_id = {made.trajectory_id: made for made in result.trajectories}
    assert set(by_id) == {"s", "s:ag", "s#1"}
    assert [text for _, text in said(by_id["s"])] == ["first try", "answer one", "root", "new prompt"]
    assert (by_id["s:ag"].parent_id, by_id["s:ag"].messages[0].flags) == ("s", ("sidechain",))
    assert (by_id["s#1"].input, by_id["s#1"].output) == ("fresh", "fresh answer")
    assert result.skipped == {"abandoned_branch": 2}


def test_a_web_export_is_one_record_of_many_lines() -> None:
    lines = [
        line("1", None, "user", "q"),
        line("2", "1", "user", "<command-name>/clear</command-name>"),
        line("3", "2", "user", "r"),
    ]
    result = normalise(ClaudeCode(), {"loglines": lines})
    assert [made.input for made in result.trajectories] == ["q", "r"]
    assert len({made.trajectory_uid for made in result.trajectories}) == 2


def test_a_reminder_before_the_users_words_is_a_message_of_its_own() -> None:
    text = "<system-reminder>be good</system-reminder>\n<system-reminder>x</system-reminder>the question"
    (made,) = normalise(ClaudeCode(), line("1", None, "user", text)).trajectories
    assert [(message.text, message.flags) for message in made.messages] == [
        ("<system-reminder>be good</system-reminder>", ("injected",)),
        ("<system-reminder>x</system-reminder>", ("injected",)),
        ("the question", ()),
    ]
    assert made.input == "the question"


def test_claude_stream_takes_the_results_totals() -> None:
    (made,) = normalise(
        ClaudeStream(),
        {"type": "system", "subtype": "init", "session_id": "s", "model": "c", "cwd": "/w"},
        {"type": "assistant", "session_id": "s", "message": {"id": "m", "role": "assistant", "content": "hi", "usage": {"input_tokens": 1}}},
        {"type": "result", "subtype": "success", "session_id": "s", "is_error": False, "result": "hi", "total_cost_usd": 0.5, "duration_ms": 9,
         "num_turns": 1, "usage": {"input_tokens": 3, "output_tokens": 2}},
    ).trajectories  # fmt: skip
    assert (made.output, made.output_rule, made.outcome, made.turn_count) == ("hi", "result_field", "ok", 1)
    assert (made.usage.input_tokens, made.usage.latency_ms, str(made.usage.cost_usd)) == (3, 9, "0.500000000")


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def count(total_in: int, total_out: int) -> dict[str, Any]:
    totals = {
        "input_tokens": total_in,
        "cached_input_tokens": 0,
        "output_tokens": total_out,
        "reasoning_output_tokens": 0,
    }
    return codex("event_msg", type="token_count", info={"total_token_usage": totals, "last_token_usage": totals})


def test_codex_rollouts_count_cumulative_tokens_once() -> None:
    result = normalise(
        Codex(),
        codex("session_meta", id="sess", cwd="/w", cli_version="1"),
        codex("turn_context", model="gpt"),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>x"}]),
        codex("event_msg", type="user_message", message="fix it"),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "fix it"}]),
        codex("response_item", type="reasoning", summary=[]),
        codex("response_item", type="function_call", name="shell", arguments='{"c":1}', call_id="c1"),
        codex("response_item", type="function_call_output", call_id="c1", output='{"output":"boom","metadata":{"exit_code":1}}'),
        count(100, 10), count(100, 10), count(150, 15),
        codex("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
        codex("response_item", type="custom_tool_call_output", call_id="c2", output="Exit code: 0\nok"),
        count(40, 4), count(40, 4), count(60, 6),
        codex("event_msg", type="token_count", info=None),
        codex("event_msg", type="agent_message", message="done"),
        codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
        codex("event_msg", type="task_complete", last_agent_message="done"),
    )  # fmt: skip
    (made,) = result.trajectories
    assert made.usage == Usage(210, 21, 0, 0)
    assert said(made) == [("user", "<environment_context>x"), ("user", "fix it"), ("assistant", None), ("tool", "boom"), ("assistant", None),
                          ("tool", "Exit code: 0\nok"), ("assistant", "done")]  # fmt: skip
    assert (made.input, made.output, made.model, made.outcome, made.trajectory_id) == (
        "fix it",
        "done",
        "gpt",
        "ok",
        "sess",
    )
    assert called(made) == [("shell", '{"c":1}', 2), ("apply_patch", '{"input":"*** Begin"}', 4)]
    assert answered(made) == [("boom", True), ("Exit code: 0\nok", False)]
    assert result.skipped == {"event_repeated_by_response_items": 2}


def test_codex_exec_events() -> None:
    (made,) = normalise(
        Codex(),
        {"type": "thread.started", "thread_id": "th"},
        {"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "ls"}},
        {
            "type": "item.completed",
            "item": {"id": "i", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 0},
        },
        {"type": "item.completed", "item": {"id": "j", "type": "agent_message", "text": "done"}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}},
    ).trajectories
    assert (made.trajectory_id, made.output, made.outcome, made.usage) == ("th", "done", "ok", Usage(5, 2, 1))
    assert answered(made) == [("a", False)]


def inspect_sample(**more: Any) -> dict[str, Any]:
    messages = [
        {"role": "user", "content": "attachment://h"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}], "tool_calls": [{"id": "c", "function": "bash", "arguments": {"x": 1}}]},
        {"role": "tool", "tool_call_id": "c", "function": "bash", "content": "", "error": {"type": "timeout", "message": "slow"}},
        {"role": "assistant", "content": "a"},
    ]  # fmt: skip
    return {"id": 1, "epoch": 2, "input": "attachment://h", "target": ["a", "b"], "messages": messages, "output": {"completion": "a"},
            "scores": {"match": {"value": "C"}}, "attachments": {"h": "the question"}, "metadata": {"k": "v"}, "total_time": 1.5,
            "model_usage": {"m": {"input_tokens": 10, "input_tokens_cache_read": 5, "output_tokens": 2}}, **more}  # fmt: skip


HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"eval_id": "e", "model": "m", "task": "t", "created": "2025-01-01T00:00:00+00:00"},
}


def test_inspect_logs_and_archives_give_the_same() -> None:
    (of_log,) = normalise(InspectLog(), {**HEADER, "samples": [inspect_sample()]}).trajectories
    (of_archive,) = normalise(InspectLog(), {"header": HEADER, "sample": inspect_sample()}).trajectories
    assert of_log == of_archive
    assert (of_log.trajectory_id, of_log.input, of_log.output, of_log.reference) == (
        "e:1:2",
        "the question",
        "a",
        '["a","b"]',
    )
    assert of_log.messages[0].text == "the question"
    assert called(of_log) == [("bash", '{"x":1}', 1)]
    assert answered(of_log) == [("", True)]
    assert of_log.usage == Usage(15, 2, 5, None, None, 1500)
    assert of_log.native_scores_json == '[{"name":"match","value":"C"}]'
    assert of_log.metadata == {"epoch": "2", "eval_id": "e", "k": "v", "sample_id": "1", "task": "t"}


def test_inspect_limits_errors_and_empty_logs() -> None:
    samples = [inspect_sample(limit={"type": "token"}), inspect_sample(error={"message": "boom"})]
    assert [made.outcome for made in normalise(InspectLog(), {**HEADER, "samples": samples}).trajectories] == [
        "limit",
        "error",
    ]
    result = normalise(InspectLog(), {**HEADER, "samples": []}, HEADER, {"header": HEADER})
    assert (result.trajectories, result.skipped) == ([], {"log_without_samples": 3})


def test_scout_tables() -> None:
    row = {"transcript_id": "t", "source_id": "e", "date": "2025-05-13 00:27:36+00:00", "model": "m", "score": "C", "success": True,
           "total_time": 2.0, "total_tokens": 9, "messages": '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]', "error": "",
           "limit": "", "custom": "x", "events": "[]"}  # fmt: skip
    (made,) = normalise(ScoutTranscripts(), row).trajectories
    assert (made.trajectory_id, made.group_id, made.output, made.outcome, made.usage.latency_ms) == (
        "t",
        "e",
        "a",
        None,
        2000,
    )
    assert made.metadata == {"custom": "x", "total_tokens": "9"}


def test_atif() -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "old", "is_copied_context": True},
        {"step_id": 2, "source": "user", "message": "go", "timestamp": "2025-01-20T10:00:00Z"},
        {"step_id": 3, "source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "a", "function_name": "f", "arguments": {"x": 1}}, {"tool_call_id": "b", "function_name": "g", "arguments": {}}],
         "observation": {"results": [{"source_call_id": "b", "content": "two"}, {"source_call_id": "a"}, {"content": "env"}]}},
        {"step_id": 4, "source": "agent", "message": [{"type": "text", "text": "done"}]},
    ]  # fmt: skip
    child = {"schema_version": "ATIF-v1.7", "trajectory_id": "kid", "agent": {"name": "sub"}, "steps": steps[:2]}
    root, sub = normalise(
        Atif(),
        {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "n", "version": "1", "model_name": "m"}, "steps": steps,
         "final_metrics": {"total_prompt_tokens": 9, "total_cached_tokens": 3, "total_cost_usd": 0.1}, "subagent_trajectories": [child]},
    ).trajectories  # fmt: skip
    assert said(root) == [
        ("user", "old"),
        ("user", "go"),
        ("assistant", None),
        ("tool", "two"),
        ("tool", None),
        ("user", "env"),
        ("assistant", "done"),
    ]
    assert root.messages[0].flags == ("copied_context",)
    assert root.messages[5].flags == ("injected",)
    assert (root.input, root.output, root.agent, root.model, root.usage.input_tokens, root.usage.output_tokens) == (
        "go",
        "done",
        "n@1",
        "m",
        9,
        None,
    )
    assert answered(root) == [("two", None), (None, None)]
    assert (sub.trajectory_id, sub.parent_id) == ("kid", "s")


def test_vally_trials() -> None:
    events = [
        {"type": "turn_start", "timestamp": "2025-01-15T10:29:59Z", "data": {"turnId": "1"}},
        {"type": "user_message", "data": {"content": "do it"}},
        {"type": "skill_activation", "data": {"name": "csv", "path": "/s"}},
        {"type": "assistant_message", "data": {"content": "looking"}},
        {"type": "tool_call", "data": {"toolName": "f", "toolCallId": "c", "arguments": {"x": 1}}},
        {"type": "tool_result", "data": {"toolName": "f", "toolCallId": "c", "success": False, "result": "no"}},
        {"type": "token_usage", "data": {"inputTokens": 100, "outputTokens": 9}},
        {"type": "error", "data": {"message": "bad"}},
        {"type": "turn_end", "data": {"turnId": "1"}},
    ]
    metrics = {
        "wallTimeMs": 2000,
        "turnCount": 2,
        "toolCallCount": 1,
        "tokenUsage": {"inputTokens": 12, "outputTokens": 3, "totalTokens": 15},
    }
    trial = {"type": "trial-result", "variant": "main", "stimulus": "s", "status": "success", "trialIndex": 1, "durationMs": 1,
             "gradeResult": {"name": "g", "passed": True, "score": 1, "evidence": "ok"},
             "trajectory": {"id": "run", "stimulus": {"name": "s", "prompt": "do it"}, "events": events, "metrics": metrics, "output": "Created",
                            "metadata": {"model": "m"}, "endReason": "completed"}}  # fmt: skip
    failed = {
        "type": "trial-result",
        "stimulus": "s",
        "status": "error",
        "error": "timeout",
        "trajectory": None,
        "gradeResult": None,
        "durationMs": 9,
    }
    result = normalise(Vally(), trial, failed, {"type": "run-summary"}, {"type": "future"})
    made, broken = result.trajectories
    assert said(made) == [("user", "do it"), ("assistant", "looking"), ("tool", "no")]
    assert (made.trajectory_id, made.group_id, made.output, made.output_rule, made.turn_count) == (
        "run:1",
        "s",
        "Created",
        "field",
        2,
    )
    assert (made.usage, made.model, made.outcome) == (Usage(12, 3, None, None, None, 2000), "m", "ok")
    assert answered(made) == [("no", True)]
    assert [event.type for event in made.events] == ["turn_start", "skill_activation", "error", "turn_end"]
    assert made.extra_json is not None
    assert '"metrics":{"wallTimeMs":2000' in made.extra_json
    assert made.native_scores_json == '[{"name":"g","value":1,"passed":true,"explanation":"ok"}]'
    assert (broken.outcome, broken.messages, broken.usage.latency_ms, [event.text for event in broken.events]) == (
        "error",
        (),
        9,
        ["timeout"],
    )
    assert result.skipped == {"record_kind_without_trial": 2}


def test_agents_sdk_states_and_responses_items() -> None:
    items = [{"type": "tool_call_item", "raw_item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}},
             {"type": "tool_call_output_item", "raw_item": {"type": "function_call_output", "call_id": "c", "output": "r"}}]  # fmt: skip
    (made,) = normalise(AgentsSdk(), {"$schemaVersion": "1.9", "generated_items": items, "original_input": "q", "current_agent": {"name": "n"},
                                      "context": {"usage": {"input_tokens": 5, "input_tokens_details": [{"cached_tokens": 2}]}}}).trajectories  # fmt: skip
    assert (said(made), made.agent, made.usage) == (
        [("user", "q"), ("assistant", None), ("tool", "r")],
        "n",
        Usage(5, None, 2),
    )
    response = {
        "id": "r",
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}],
    }
    stream = normalise(
        ResponsesItems(),
        {"type": "response.created", "sequence_number": 0, "response": {}},
        {"type": "response.output_text.delta", "sequence_number": 1},
        {"type": "response.completed", "sequence_number": 2, "response": response},
    )
    assert [made.output for made in stream.trajectories] == ["a"]
    assert stream.skipped == {"stream_event_repeated_by_response": 2}


def test_adk_sessions_and_evalsets() -> None:
    events = [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "q"}]}, "timestamp": 1743768000.5},
        {"author": "n", "content": {"role": "model", "parts": [{"text": "partial"}]}, "partial": True},
        {"author": "n", "content": {"role": "model", "parts": [{"function_call": {"id": "c", "name": "f", "args": {}}, "text": None}]}},
        {"author": "n", "content": {"role": "user", "parts": [{"function_response": {"id": "c", "name": "f", "response": {"result": "r"}}}]}},
        {"author": "n", "content": {"role": "model", "parts": [{"text": "a"}]}, "usage_metadata": {"prompt_token_count": 3, "candidates_token_count": 2}},
    ]  # fmt: skip
    (made,) = normalise(AdkSession(), {"id": "s", "app_name": "app", "user_id": "u", "events": events}).trajectories
    assert said(made) == [("user", "q"), ("assistant", None), ("tool", "r"), ("assistant", "a")]
    assert (made.usage.input_tokens, made.usage.output_tokens, made.agent) == (3, 2, "n")
    case = {"eval_id": "1", "conversation": [{"user_content": {"parts": [{"text": "q"}]}, "final_response": {"parts": [{"text": "gold"}]},
            "intermediate_data": {"tool_uses": [{"name": "f", "args": {"x": 1}}]}}]}  # fmt: skip
    (reference,) = normalise(AdkEvalset(), {"eval_set_id": "e", "eval_cases": [case]}).trajectories
    assert (reference.input, reference.output, reference.reference) == ("q", None, "gold")
    assert reference.extra_json == '{"reference_tool_calls":[{"name":"f","arguments":{"x":1}}]}'


def test_gemini_cli_lines_keep_the_last_of_an_id() -> None:
    call = {
        "id": "c",
        "name": "f",
        "args": {},
        "status": "error",
        "result": [{"functionResponse": {"id": "c", "name": "f", "response": {"error": "no"}}}],
    }
    (made,) = normalise(
        GeminiCli(),
        {"sessionId": "s", "projectHash": "h", "startTime": "2024-01-01T10:00:00Z"},
        {"type": "user", "id": "u", "content": "q"},
        {"type": "gemini", "id": "g", "content": "draft"},
        {
            "type": "gemini",
            "id": "g",
            "content": "",
            "toolCalls": [call],
            "tokens": {"input": 5, "output": 2, "thoughts": 3},
            "model": "m",
        },
        {"type": "gemini", "id": "h", "content": "a"},
        {"$set": {"lastUpdated": "x"}},
    ).trajectories
    assert said(made) == [("user", "q"), ("assistant", ""), ("tool", "no"), ("assistant", "a")]
    assert (answered(made), made.usage, made.trajectory_id) == ([("no", True)], Usage(5, 5, None, 3), "s")


def test_copilot_cli_counts_a_call_once() -> None:
    def event(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "id": kind, "parentId": None, "timestamp": "2026-01-01T00:00:00Z", "data": data}

    result = normalise(
        CopilotCli(),
        event("session.start", sessionId="s", selectedModel="m"),
        event("user.message", content="q", transformedContent="sent"),
        event(
            "assistant.message",
            content="",
            toolRequests=[{"toolCallId": "c", "name": "f", "arguments": '{"x":1}'}],
            outputTokens=4,
        ),
        event("tool.execution_start", toolCallId="c", toolName="f", arguments={"x": 1}),
        event("tool.execution_complete", toolCallId="c", success=True, result={"content": "r"}),
        event("assistant.message", content="a", outputTokens=5),
        event("hook.start"),
    )
    (made,) = result.trajectories
    assert said(made) == [("user", "q"), ("assistant", None), ("tool", "r"), ("assistant", "a")]
    assert (called(made), answered(made), made.usage.output_tokens) == ([("f", '{"x":1}', 1)], [("r", False)], 9)


def test_openhands_counts_a_response_once() -> None:
    response = {"id": "r1", "model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 1}, "choices": [{"message": {"content": "hm", "tool_calls": [
        {"id": "c1", "function": {"name": "execute_bash", "arguments": '{"command":"ls"}'}},
        {"id": "c2", "function": {"name": "str_replace_editor", "arguments": "{}"}}]}}]}  # fmt: skip
    meta = [{"function_name": "x", "tool_call_id": call, "model_response": response} for call in ("c1", "c2")]
    (made,) = normalise(
        OpenHands(),
        {"id": 0, "source": "user", "action": "message", "args": {"content": "q"}, "timestamp": "2025-02-01T00:14:10Z"},
        {
            "id": 1,
            "source": "agent",
            "action": "run",
            "args": {"command": "ls", "thought": ""},
            "tool_call_metadata": meta[0],
        },
        {"id": 2, "source": "agent", "action": "edit", "args": {"path": "/x"}, "tool_call_metadata": meta[1]},
        {
            "id": 3,
            "source": "agent",
            "cause": 1,
            "observation": "run",
            "content": "a",
            "extras": {"metadata": {"exit_code": 1}},
            "tool_call_metadata": meta[0],
        },
        {"id": 4, "source": "agent", "cause": 2, "observation": "edit", "content": "b", "tool_call_metadata": meta[1]},
        {"id": 5, "source": "environment", "observation": "agent_state_changed", "content": ""},
        {"id": 6, "source": "agent", "action": "finish", "args": {"final_thought": "done"}},
    ).trajectories
    assert said(made) == [("user", "q"), ("assistant", "hm"), ("tool", "a"), ("tool", "b"), ("assistant", "done")]
    assert called(made) == [("execute_bash", '{"command":"ls"}', 1), ("str_replace_editor", "{}", 1)]
    assert (made.usage, answered(made), made.output) == (Usage(9, 1), [("a", True), ("b", None)], "done")


def test_openhands_sdk_events() -> None:
    action = {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"type": "text", "text": "hm"}],
        "tool_name": "f",
        "llm_response_id": "r",
    }
    (made,) = normalise(
        OpenHandsSdk(),
        {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"type": "text", "text": "sys"}},
        {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": "q"}]}},
        {**action, "tool_call_id": "a", "tool_call": {"arguments": "{}"}},
        {**action, "tool_call_id": "b", "tool_call": {"arguments": "{}"}},
        {"kind": "ObservationEvent", "source": "environment", "tool_call_id": "a", "tool_name": "f",
         "observation": {"content": [{"type": "text", "text": "r"}], "is_error": False}},
        {"kind": "AgentErrorEvent", "source": "agent", "tool_call_id": "b", "tool_name": "f", "error": "no"},
    ).trajectories  # fmt: skip
    assert said(made) == [("system", "sys"), ("user", "q"), ("assistant", "hm"), ("tool", "r"), ("tool", "no")]
    assert answered(made) == [("r", False), ("no", True)]


def test_swe_agents_actions_in_text() -> None:
    history = [
        {"role": "system", "content": "sys", "agent": "main"},
        {"role": "user", "content": "a demo", "agent": "main", "is_demo": True},
        {"role": "user", "content": "issue", "agent": "main"},
        {"role": "assistant", "content": "look ```\nls\n```", "agent": "main"},
        {"role": "user", "content": "files", "agent": "main"},
        {"role": "assistant", "content": "submit ```\nsubmit\n```", "agent": "main"},
    ]
    steps = [
        {"action": "ls\n", "observation": "files", "response": "look"},
        {"action": "submit\n", "observation": "", "response": "submit"},
    ]
    info = {
        "exit_status": "submitted",
        "submission": "the diff",
        "model_stats": {"instance_cost": 0.2, "tokens_sent": 5, "tokens_received": 1},
    }
    (made,) = normalise(SweAgent(), {"history": history, "trajectory": steps, "info": info}).trajectories
    assert [message.role for message in made.messages] == ["system", "user", "user", "assistant", "tool", "assistant"]
    assert (made.messages[1].flags, made.input) == (("demonstration",), "issue")
    assert [call.parsed[0] for call in made.tool_calls] == [{"command": "ls\n"}, {"command": "submit\n"}]
    assert (made.output, made.output_rule, made.outcome, made.extra_json) == (
        "the diff",
        "submission",
        "ok",
        '{"diff":"the diff"}',
    )


@pytest.mark.parametrize("as_lines", [True, False])
def test_shell_blocks_of_mini_swe_agent(as_lines: bool) -> None:
    messages = [
        {"role": "user", "content": "issue"},
        {"role": "assistant", "content": "THOUGHT\n```bash\nls\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\nno\n</output>"},
        {"role": "assistant", "content": "done"},
    ]
    whole = {"trajectory_format": "mini-swe-agent-1", "info": {"exit_status": "Submitted"}, "messages": messages}
    result = normalise(MessageLines(), *messages) if as_lines else normalise(MiniSweAgent(), whole)
    (made,) = result.trajectories
    assert [(call.name, call.parsed[0]) for call in made.tool_calls] == [("bash", {"command": "ls"})]
    assert (answered(made), made.output) == ([("no", True)], "done")


def test_message_lines_are_grouped_by_their_conversation() -> None:
    lines = [{"session_id": own, "role": role, "content": text} for own, role, text in
             (("a", "user", "1"), ("b", "user", "2"), ("a", "assistant", "3"), ("b", "assistant", "4"))]  # fmt: skip
    assert [[m.text for m in made.messages] for made in normalise(MessageLines(), *lines).trajectories] == [
        ["1", "3"],
        ["2", "4"],
    ]
