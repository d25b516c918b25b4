"""Foreign logs through a whole run: every file of the samples accounted for, traces in any order, foreign graders on foreign trials."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from graders import evaluate
from pipelines import normalise
from pipelines.formats.container import Container, Normalised, SourceRecord, normalised_safely
from tests.pipelines.runs import only_manifest, run_suite, statuses, table, write_lines, write_suite
from tests.shared_files import shared_file

SAMPLES = shared_file("samples")
ANY_TEXT = [{"name": "says-something", "type": "length", "min": 1}]


def span(trace: int, number: int, parent: str, attributes: dict[str, Any]) -> dict[str, Any]:
    values = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    one = {
        "traceId": f"{trace:032x}",
        "spanId": f"{trace:012x}{number:04x}",
        "parentSpanId": parent,
        "name": "chat",
        "startTimeUnixNano": str(1_764_489_600_000_000_000 + number),
        "endTimeUnixNano": str(1_764_489_600_000_000_500 + number),
        "attributes": values,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}


def trace_lines(trace: int) -> list[dict[str, Any]]:
    question = orjson.dumps([{"role": "user", "parts": [{"type": "text", "content": f"question {trace}"}]}]).decode()
    answer = orjson.dumps([{"role": "assistant", "parts": [{"type": "text", "content": f"answer {trace}"}]}]).decode()
    root = f"{trace:012x}0000"
    return [
        span(trace, 0, "", {"gen_ai.operation.name": "invoke_agent"}),
        span(
            trace,
            1,
            root,
            {"gen_ai.operation.name": "chat", "gen_ai.input.messages": question, "gen_ai.output.messages": answer},
        ),
    ]


def told(output: Path) -> list[tuple[Any, ...]]:
    read = table(output, "trajectories").to_pylist()
    names = ("trajectory_id", "message_count", "turn_count", "event_time", "parse_status")
    return sorted(tuple(row[name] for name in names) for row in read)


def test_shuffled_spans_in_three_files_give_the_same_trajectories(tmp_path: Path) -> None:
    lines = [line for trace in range(1, 41) for line in trace_lines(trace)]
    write_lines(tmp_path / "ordered.jsonl", lines)
    random.Random(3).shuffle(lines)
    for number in range(3):
        write_lines(tmp_path / f"part-{number}.jsonl", lines[number::3])
    graders = [{"name": "answers", "type": "contains", "texts": ["answer"]}]
    assert run_suite(write_suite(tmp_path, ["ordered.jsonl"], graders), tmp_path / "ordered") == 0
    assert run_suite(write_suite(tmp_path, ["part-*.jsonl"], graders), tmp_path / "shuffled") == 0
    assert told(tmp_path / "shuffled") == told(tmp_path / "ordered")
    assert statuses(tmp_path / "shuffled") == statuses(tmp_path / "ordered")
    assert set(statuses(tmp_path / "ordered").values()) == {"pass"}
    assert only_manifest(tmp_path / "shuffled").trajectories == 40


@pytest.mark.parametrize("samples", [SAMPLES] if SAMPLES else [], ids=["samples"] if SAMPLES else [])
def test_every_record_of_every_sample_is_accounted_for(samples: Path, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, [str(samples)], ANY_TEXT)
    assert run_suite(suite, tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert len(manifest.inputs) > 250
    assert manifest.trajectories > 1000
    assert (
        len(table(tmp_path / "out", "trajectories")) == manifest.trajectories + manifest.duplicates + manifest.rejects
    )
    seen = set(table(tmp_path / "out", "trajectories")["source_uri"].to_pylist())
    assert len(seen) > 200
    assert len(manifest.formats) > 25


def test_an_aludel_grader_over_vally_trials_says_what_evaluate_says(tmp_path: Path) -> None:
    outputs = ["Confidence: 92%", "confidence: high", '{"answer": "Mars"}', ""]
    trials = [
        {
            "type": "trial-result",
            "variant": "main",
            "stimulus": f"s{number}",
            "trialIndex": 0,
            "totalTrials": 1,
            "status": "success",
            "trajectory": {
                "id": f"trial-{number}",
                "events": [{"type": "assistant_message", "data": {"content": output}}],
                "output": output,
            },
        }
        for number, output in enumerate(outputs)
    ]
    graders = [
        {"profile": "aludel", "name": "confidence", "type": "regex", "value": "(?i)^confidence: \\d+%$"},
        {"profile": "aludel", "name": "mars", "type": "json_field", "field": "answer", "expected": "Mars"},
        {"profile": "aludel", "name": "no-error", "type": "not_contains", "value": "error"},
    ]
    write_lines(tmp_path / "trials.jsonl", trials)
    assert run_suite(write_suite(tmp_path, ["trials.jsonl"], graders), tmp_path / "out") == 0
    assert only_manifest(tmp_path / "out").formats == {"vally": 4}
    ids = table(tmp_path / "out", "trajectories").sort_by("source_offset")["trajectory_id"].to_pylist()
    expected = {
        (trajectory_id, grader["name"]): evaluate(grader, {"output": output}).status.value
        for trajectory_id, output in zip(ids, outputs, strict=True)
        for grader in graders
    }
    assert statuses(tmp_path / "out") == expected
    assert expected[(ids[0], "confidence")] == "pass"
    assert expected[(ids[2], "mars")] == "pass"


def test_a_foreign_record_can_be_evaluated_in_python() -> None:
    record = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    trajectory = normalise(record)
    assert (trajectory.input, trajectory.output, trajectory.source_format) == ("hi", "hello", "messages")


@pytest.mark.parametrize("order", ["foreign first", "spans first"])
def test_a_record_that_is_no_export_request_is_rejected_and_not_skipped(tmp_path: Path, order: str) -> None:
    spans = [line for trace in range(1, 4) for line in trace_lines(trace)]
    foreign = [
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]},
        {"k": 1},
        [1],
        "x",
    ]
    write_lines(tmp_path / "a.jsonl", [*foreign, *spans] if order == "foreign first" else [*spans, *foreign])
    assert run_suite(write_suite(tmp_path, ["a.jsonl"], ANY_TEXT), tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert (manifest.trajectories, manifest.rejects, manifest.skipped_by_rule) == (3, 4, {})
    assert manifest.records == 10


def test_two_spans_with_one_id_and_other_content_are_told(tmp_path: Path) -> None:
    lines = trace_lines(1)
    other = orjson.loads(orjson.dumps(lines[1]).replace(b"answer 1", b"answer 9"))
    write_lines(tmp_path / "a.jsonl", [*lines, lines[1], other])
    assert run_suite(write_suite(tmp_path, ["a.jsonl"], ANY_TEXT), tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert manifest.rejects_by_reason == {"duplicate_id": 1}
    assert manifest.skipped_by_rule == {"duplicate_span": 1}


def test_two_rows_of_one_span_are_both_accounted_for(tmp_path: Path) -> None:
    row = {
        "root_span_id": "r",
        "span_id": "s",
        "span_attributes": {"name": "chat", "type": "llm"},
        "input": "hi",
        "output": "ho",
    }
    write_lines(tmp_path / "a.jsonl", [{**row, "id": "1"}, {**row, "id": "2", "output": "hey"}])
    assert run_suite(write_suite(tmp_path, ["a.jsonl"], ANY_TEXT), tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert (manifest.records, manifest.trajectories, manifest.rejects_by_reason) == (2, 1, {"duplicate_id": 1})


class Forgetful(Container):
    """A reader that loses a record without a word."""

    name = "forgetful"

    def detect(self, value: Any) -> str | None:
        return None

    def normalise(self, records: Sequence[SourceRecord]) -> Normalised:
        return Normalised()


def test_a_reader_that_loses_records_is_found_out() -> None:
    made = normalised_safely(Forgetful(), [SourceRecord({}, "a", number, 2) for number in range(3)])
    assert [(each.reason.value, each.detail[:12]) for each in made.rejects] == [("adapter_error", "3 of 3 recor")]


def test_growing_calls_of_one_conversation_join_whichever_file_they_stand_in(tmp_path: Path) -> None:
    turns: list[dict[str, Any]] = []
    calls = []
    for number in range(3):
        turns.append({"role": "user", "content": f"question {number}"})
        answer = {"role": "assistant", "content": f"answer {number}"}
        usage = {"prompt_tokens": 10 * (number + 1), "completion_tokens": 5}
        response = {"object": "chat.completion", "choices": [{"index": 0, "message": answer}], "usage": usage}
        request = {"model": "m", "messages": [dict(turn) for turn in turns]}
        calls.append({"conversation_id": "c", "request": request, "response": response})
        turns.append(answer)
    write_lines(tmp_path / "a.jsonl", [calls[0], calls[2]])
    write_lines(tmp_path / "b.jsonl", [calls[1]])
    assert run_suite(write_suite(tmp_path, ["*.jsonl"], ANY_TEXT), tmp_path / "out") == 0
    (row,) = table(tmp_path / "out", "trajectories").to_pylist()
    assert (row["message_count"], row["input_tokens"], row["output_tokens"]) == (6, 60, 15)
