"""Arrow schemas of the tables: explicit, the same in every file, every column always there and nullable.

Types follow one rule: what DuckDB, Polars, Spark, BigQuery and pyarrow all read alike (plain strings, microseconds in UTC, no unsigned
integers, no null-typed columns, decimals for money).
"""

from __future__ import annotations

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
MONEY = pa.decimal128(18, 9)
EVIDENCE = pa.list_(
    pa.struct([("message_index", pa.int32()), ("start", pa.int64()), ("end", pa.int64()), ("quote", pa.string())])
)

#: Columns of `scores` that are the same for all rows of one trajectory.
TRAJECTORY_COLUMNS = (
    "trajectory_uid",
    "trajectory_id",
    "group_id",
    "source_uri",
    "source_offset",
    "event_time",
    "event_date",
)
#: Columns of `scores` that are the same for all rows of one grader.
GRADER_COLUMNS = ("grader_name", "grader_type", "grader_hash")
#: Columns of `scores` that one grader fills in for one trajectory, in table order.
OUTCOME_COLUMNS = (
    "status",
    "passed",
    "score",
    "native_score",
    "label",
    "explanation",
    "evidence",
    "details_json",
    "error_type",
    "error_message",
    "skip_reason",
    "graded_at",
    "duration_us",
    "attempts",
    "cached",
    "judge_route",
    "judge_model",
    "judge_response_id",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cost_usd",
)

SCORES = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("run_id", pa.string()),
        ("trajectory_uid", pa.string()),
        ("trajectory_id", pa.string()),
        ("group_id", pa.string()),
        ("source_uri", pa.string()),
        ("source_offset", pa.int64()),
        ("event_time", TIMESTAMP),
        ("event_date", pa.date32()),
        ("grader_name", pa.string()),
        ("grader_type", pa.string()),
        ("grader_hash", pa.string()),
        ("status", pa.string()),
        ("passed", pa.bool_()),
        ("score", pa.float64()),
        ("native_score", pa.float64()),
        ("label", pa.string()),
        ("explanation", pa.string()),
        ("evidence", EVIDENCE),
        ("details_json", pa.string()),
        ("error_type", pa.string()),
        ("error_message", pa.string()),
        ("skip_reason", pa.string()),
        ("graded_at", TIMESTAMP),
        ("duration_us", pa.int64()),
        ("attempts", pa.int32()),
        ("cached", pa.bool_()),
        ("judge_route", pa.string()),
        ("judge_model", pa.string()),
        ("judge_response_id", pa.string()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cached_input_tokens", pa.int64()),
        ("cost_usd", MONEY),
    ]
)

TRAJECTORIES = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("run_id", pa.string()),
        ("trajectory_uid", pa.string()),
        ("trajectory_id", pa.string()),
        ("group_id", pa.string()),
        ("parent_id", pa.string()),
        ("source_uri", pa.string()),
        ("source_offset", pa.int64()),
        ("source_format", pa.string()),
        ("event_time", TIMESTAMP),
        ("event_date", pa.date32()),
        ("model", pa.string()),
        ("agent", pa.string()),
        ("outcome", pa.string()),
        ("parse_status", pa.string()),
        ("bytes", pa.int64()),
        ("message_count", pa.int32()),
        ("turn_count", pa.int32()),
        ("tool_call_count", pa.int32()),
        ("tool_error_count", pa.int32()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cached_input_tokens", pa.int64()),
        ("cost_usd", MONEY),
        ("latency_ms", pa.int64()),
        ("issues", pa.list_(pa.string())),
        ("metadata", pa.map_(pa.string(), pa.string())),
    ]
)

REJECTS = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("run_id", pa.string()),
        ("source_uri", pa.string()),
        ("source_offset", pa.int64()),
        ("source_format", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("excerpt", pa.string()),
        ("bytes", pa.int64()),
    ]
)

GRADERS = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("run_id", pa.string()),
        ("grader_name", pa.string()),
        ("grader_type", pa.string()),
        ("grader_hash", pa.string()),
        ("profile", pa.string()),
        ("determinism", pa.string()),
        ("cost", pa.string()),
        ("reference", pa.string()),
        ("temporal_scope", pa.string()),
        ("score_kind", pa.string()),
        ("native_min", pa.float64()),
        ("native_max", pa.float64()),
        ("threshold", pa.float64()),
        ("higher_is_better", pa.bool_()),
        ("weight", pa.float64()),
        ("required", pa.bool_()),
        ("config_json", pa.string()),
        ("duration_us", pa.int64()),
    ]
)

RUNS = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("run_id", pa.string()),
        ("suite_name", pa.string()),
        ("suite_hash", pa.string()),
        ("code_version", pa.string()),
        ("runner", pa.string()),
        ("started_at", TIMESTAMP),
        ("finished_at", TIMESTAMP),
        ("inputs", pa.int64()),
        ("records", pa.int64()),
        ("trajectories", pa.int64()),
        ("rejects", pa.int64()),
        ("scores", pa.int64()),
        ("pass", pa.int64()),
        ("fail", pa.int64()),
        ("scored", pa.int64()),
        ("error", pa.int64()),
        ("skipped", pa.int64()),
        ("judge_calls", pa.int64()),
        ("cost_usd", MONEY),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "scores": SCORES,
    "trajectories": TRAJECTORIES,
    "rejects": REJECTS,
    "graders": GRADERS,
    "runs": RUNS,
}
