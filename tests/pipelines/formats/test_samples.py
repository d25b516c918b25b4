"""The shared samples: every record is accounted for, detection needs no name, and the oracles hold."""

from __future__ import annotations

import dataclasses
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats.container import SourceRecord
from pipelines.formats.containers.langfuse import read_observation
from pipelines.formats.containers.otlp import Otlp
from pipelines.formats.dialects.conversation import Conversation
from pipelines.formats.json_values import compact_json
from schemas.trajectory import Trajectory
from schemas.trajectory_batch import from_record_batch, to_record_batch
from tests.pipelines.formats.reading_helper import read, records_of, run
from tests.shared_files import shared_file

_FOLDER = shared_file("samples")
_FILES = sorted(path for path in _FOLDER.rglob("*") if path.is_file() and path.name != "INDEX.tsv") if _FOLDER else []

#: Which container reads the files of each folder; None: rejects only.
_CONTAINERS: dict[str, set[str]] = {
    "adk_evalset": {"adk_evalset", "unknown"},
    "adk_session": {"adk_session"},
    "agentv": {"agentv"},
    "anthropic_batch": {"llm_calls"},
    "anthropic_managed_agents": {"managed_agents"},
    "anthropic_messages": {"llm_calls", "messages"},
    "atif": {"atif"},
    "azure_ai_eval": {"azure_ai_eval"},
    "braintrust": {"braintrust", "question_answer", "unknown"},
    "claude_agent_sdk_stream": {"claude_stream"},
    "claude_code": {"claude_code"},
    "codex_rollout": {"codex"},
    "copilot_cli": {"agentv"},
    "copilot_vscode_chat": {"vscode_chat"},
    "gemini_api": {"llm_calls"},
    "gemini_cli": {"gemini_cli"},
    "hf_parquet": {"messages", "swe_agent_rows"},
    "inspect_ai": {"inspect"},
    "inspect_scout_parquet": {"inspect_scout"},
    "langfuse": {"langfuse", "messages", "unknown"},
    "langsmith": {"langsmith"},
    "litellm_completion_log": {"llm_calls", "message_lines"},
    "mini_swe_agent": {"message_lines", "unknown"},
    "mlflow": {"mlflow"},
    "openai_agents_run_state": {"agents_sdk"},
    "openai_batch": {"llm_calls"},
    "openai_chat": {"llm_calls", "messages"},
    "openai_finetune": {"messages", "question_answer"},
    "openai_responses": {"llm_calls", "responses_items", "unknown"},
    "openhands": {"openhands"},
    "openinference": {"otel_spans"},
    "otel_genai": {"otlp", "otel_spans", "unknown"},
    "otel_vercel_ai_sdk": {"otel_spans"},
    "other_cli_agents": {"openclaw"},
    "phoenix": {"phoenix"},
    "quirks_derived": {"messages"},
    "sharegpt": {"messages", "preference_pairs"},
    "swe_agent": {"swe_agent", "unknown"},
    "tau2_bench": {"tau2_bench", "unknown"},
    "tau_bench": {"unknown"},
    "toolbench": {"toolbench"},
    "vally": {"vally"},
    "vercel_ui_messages": {"unknown"},
}


def name_of(path: Path) -> str:
    assert _FOLDER is not None
    return path.relative_to(_FOLDER).as_posix()


def sample(name: str) -> bytes:
    path = shared_file("samples", *name.split("/"))
    assert path is not None
    return path.read_bytes()


needs_samples = pytest.mark.parametrize("present", [True] if _FILES else [])


@pytest.mark.parametrize("path", _FILES, ids=name_of)
def test_every_record_is_accounted_for_and_every_format_is_told(path: Path) -> None:
    name = name_of(path)
    outcome = read(path.read_bytes(), name)
    assert outcome.records == outcome.accounted
    assert outcome.records > 0
    found = outcome.detected.container.name if outcome.detected else None
    assert found is None or found in _CONTAINERS[name.split("/")[0]]
    uids = [made.trajectory_uid for made in outcome.normalised.trajectories]
    assert len(set(uids)) == len(uids)
    assert all(entry.detail for entry in (*outcome.normalised.rejects, *outcome.unreadable))
    renamed = read(gzip.compress(path.read_bytes()), "x.jsonl")
    assert (renamed.detected.container.name if renamed.detected else None) == found
    assert len(renamed.normalised.trajectories) == len(uids)


@needs_samples
def test_every_trajectory_can_be_stored_and_comes_back(present: bool) -> None:
    made = [entry for path in _FILES for entry in read(path.read_bytes(), name_of(path)).normalised.trajectories]
    assert len(made) > 1_200
    for entry, again in zip(made, from_record_batch(to_record_batch(made)), strict=True):
        assert again.messages == entry.messages
        assert [call.arguments_raw for call in again.tool_calls] == [call.arguments_raw for call in entry.tool_calls]
        assert (again.usage, dict(again.metadata), again.issues) == (entry.usage, dict(entry.metadata), entry.issues)
        for call in entry.tool_calls:
            assert call.message_index is not None
            assert entry.messages[call.message_index].role == "assistant"
        for result in entry.tool_results:
            assert result.message_index is not None
            assert entry.messages[result.message_index].role == "tool"


def chatml(item: dict[str, Any]) -> tuple[str, str]:
    content = item.get("content")
    if isinstance(content, list):
        content = "\n".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    roles = {"model": "assistant", "developer": "system"}
    return roles.get(item["role"], item["role"]), (content or "") if isinstance(content, str) else compact_json(content)


_TRACES = sorted(_FOLDER.glob("langfuse/*.trace.json")) if _FOLDER else []


@pytest.mark.parametrize("path", _TRACES, ids=lambda path: path.name)
def test_langfuse_messages_are_those_of_its_own_chatml(path: Path) -> None:
    twin = path.with_name(path.name.replace(".trace.json", ".chatml.json"))
    expected = json.loads(twin.read_bytes()) if twin.exists() else {}
    observations = {item["id"]: item for item in json.loads(path.read_bytes())["observations"]}
    for own, sides in expected.items():
        span = read_observation(SourceRecord(observations[own], "u", 0, 1), observations[own])
        for side, reader in (("input", span.add_input), ("output", span.add_output)):
            found = sides.get(side, {})
            messages = found.get("data") if found.get("success") else None
            if not messages or not all(set(item) <= {"role", "content"} and item.get("content") for item in messages):
                continue
            talk = Conversation()
            assert reader is not None
            reader(talk)
            ours = [(message.role, (message.text or "").strip()) for message in talk.messages]
            assert ours == [(role, text.strip()) for role, text in map(chatml, messages)]


def samples_of(name: str) -> list[Trajectory]:
    made = read(sample(f"inspect_ai/{name}"), "u").normalised.trajectories
    return [dataclasses.replace(entry, trajectory_uid="", source_offset=0, bytes=0) for entry in made]


@needs_samples
@pytest.mark.parametrize(
    "pair",
    [
        ("log_formats.json", "log_formats.eval"),
        ("log_message_deduplication.eval", "log_message_deduplication.rewritten-zstd93.eval"),
    ],
)
def test_inspects_twins_are_equal(pair: tuple[str, str], present: bool) -> None:
    first, second = samples_of(pair[0]), samples_of(pair[1])
    assert len(first) == 1
    assert first == second


@needs_samples
def test_two_runs_of_one_task_in_both_forms_say_the_same(present: bool) -> None:
    """These twins are two runs: their ids and times differ."""
    (first,), (second,) = samples_of("log_read_sample.json"), samples_of("log_read_sample.eval")
    for name in (
        "input",
        "output",
        "output_rule",
        "reference",
        "messages",
        "tool_calls",
        "native_scores_json",
        "model",
        "outcome",
    ):
        assert getattr(first, name) == getattr(second, name)
    assert (first.usage.input_tokens, first.usage.output_tokens) == (
        second.usage.input_tokens,
        second.usage.output_tokens,
    )


@needs_samples
def test_spans_shuffled_and_split_are_the_same(present: bool) -> None:
    def plain(records: list[SourceRecord]) -> list[Trajectory]:
        made = run(records, Otlp())[1].trajectories
        return [
            dataclasses.replace(entry, trajectory_uid="", source_uri="", source_offset=0, bytes=0) for entry in made
        ]

    records, _ = records_of(sample("otel_genai/generated-otlp-collector-file-exporter.jsonl"), "u")
    expected = plain(records)
    for seed in range(4):
        shuffled = list(records)
        random.Random(seed).shuffle(shuffled)
        assert (
            plain([dataclasses.replace(record, uri=f"f{number % 3}") for number, record in enumerate(shuffled)])
            == expected
        )


@needs_samples
@pytest.mark.parametrize(
    ("name", "trajectories"),
    [
        ("toolbench/G1_answer_10_ChatGPT_DFS_woFilter_w2.json", 1),
        ("claude_code/scout-clear_split_session.jsonl", 2),
        ("claude_code/cclog-edge_cases.jsonl", 2),
        ("atif/subagent_trajectories.json", 2),
        ("phoenix/pxi_turn_subagent_trace.json", 2),
        ("quirks_derived/dup_ids.jsonl", 3),
        ("quirks_derived/missing_newline_concatenated.jsonl", 3),
        ("vally/results.reconstructed.jsonl", 4),
        ("inspect_ai/2025-05-12T20-28-13-04-00_no-samples.json", 0),
        ("anthropic_messages/sdk-test_runners-TestSyncRunTools-092be1de-d3f8-4c22-a4ea-a7ad54.json", 1),
    ],
)
def test_counts(name: str, trajectories: int, present: bool) -> None:
    assert len(read(sample(name), name).normalised.trajectories) == trajectories


@needs_samples
def test_a_continuation_grades_only_its_own_steps(present: bool) -> None:
    (made,) = read(sample("atif/harbor_terminus2_continuation_cont1.json")).normalised.trajectories
    assert sum(message.own_words and message.role != "tool" for message in made.messages) == 4


@needs_samples
def test_toolbenchs_longest_prefix_is_the_run(present: bool) -> None:
    (made,) = read(sample("toolbench/G1_answer_10_ChatGPT_DFS_woFilter_w2.json")).normalised.trajectories
    assert len(made.messages) == 7


@needs_samples
@pytest.mark.parametrize(
    ("name", "issue"),
    [
        ("nan_infinity", "non_finite_number"), ("dup_keys", "duplicate_key"), ("lone_surrogate", "lone_surrogate"),
        ("invalid_utf8", "invalid_utf8"), ("nul_and_control", "control_character"),
    ],
)  # fmt: skip
def test_quirks_are_repaired_and_named(name: str, issue: str, present: bool) -> None:
    made = read(sample(f"quirks_derived/{name}.jsonl")).normalised.trajectories
    assert any(issue in entry.issues for entry in made)


def _hand_count_of_claude(data: bytes) -> int:
    last: dict[str, int] = {}
    for line in data.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("usage"):
            last[message["id"]] = message["usage"].get("output_tokens") or 0
    return sum(last.values())


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("claude_code/vsc*/**/*.jsonl")) if _FOLDER else [], ids=name_of)
def test_claude_codes_usage_is_that_of_each_messages_last_line(path: Path) -> None:
    made = read(path.read_bytes(), "x").normalised.trajectories
    assert sum(entry.usage.output_tokens or 0 for entry in made) == _hand_count_of_claude(path.read_bytes())


@needs_samples
def test_vercels_wrappers_are_not_counted(present: bool) -> None:
    spans = json.loads(sample("otel_vercel_ai_sdk/all-spans.json"))
    inner = [
        span["attributes"]
        for span in spans
        if ".do" in span["attributes"]["ai.operationId"] and "mbed" not in span["name"]
    ]
    outer_traces = {span["spanContext"]["traceId"] for span in spans if ".do" in span["attributes"]["ai.operationId"]}
    made = read(sample("otel_vercel_ai_sdk/all-spans.json")).normalised.trajectories
    counted = sum(entry.usage.input_tokens or 0 for entry in made if entry.trajectory_id in outer_traces)
    assert counted == sum(attributes["gen_ai.usage.input_tokens"] for attributes in inner)


@needs_samples
def test_openhands_responses_are_counted_once(present: bool) -> None:
    events = json.loads(sample("openhands/v0-wrong_initial_state.json"))
    responses = {event["tool_call_metadata"]["model_response"]["id"]: event["tool_call_metadata"]["model_response"]["usage"]
                 for event in events if "tool_call_metadata" in event}  # fmt: skip
    (made,) = read(sample("openhands/v0-wrong_initial_state.json")).normalised.trajectories
    assert made.usage.input_tokens == sum(usage["prompt_tokens"] for usage in responses.values())
