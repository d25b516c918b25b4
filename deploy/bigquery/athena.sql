CREATE DATABASE IF NOT EXISTS gradebeam;

CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.commits (
  `run_id` string,
  `tables` struct<scores:array<struct<path:string>>,trajectories:array<struct<path:string>>,rejects:array<struct<path:string>>,graders:array<struct<path:string>>,runs:array<struct<path:string>>>
)
ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'
LOCATION 's3://BUCKET/graded/_commits/';

CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.scores_files (
  `schema_version` int,
  `run_id` string,
  `trajectory_uid` string,
  `trajectory_id` string,
  `group_id` string,
  `source_uri` string,
  `source_offset` bigint,
  `event_time` timestamp,
  `event_date` date,
  `grader_name` string,
  `grader_type` string,
  `grader_hash` string,
  `status` string,
  `passed` boolean,
  `score` double,
  `native_score` double,
  `label` string,
  `explanation` string,
  `evidence` array<struct<`message_index`:int, `start`:bigint, `end`:bigint, `quote`:string>>,
  `details_json` string,
  `error_type` string,
  `error_message` string,
  `skip_reason` string,
  `graded_at` timestamp,
  `duration_us` bigint,
  `attempts` int,
  `cached` boolean,
  `judge_route` string,
  `judge_model` string,
  `judge_response_id` string,
  `input_tokens` bigint,
  `output_tokens` bigint,
  `cached_input_tokens` bigint,
  `cost_usd` decimal(18,9)
)
PARTITIONED BY (`run` string)
STORED AS PARQUET
LOCATION 's3://BUCKET/graded/scores/';

MSCK REPAIR TABLE gradebeam.scores_files;

CREATE OR REPLACE VIEW gradebeam.scores AS
SELECT "schema_version", "run_id", "trajectory_uid", "trajectory_id", "group_id", "source_uri", "source_offset", "event_time", "event_date", "grader_name", "grader_type", "grader_hash", "status", "passed", "score", "native_score", "label", "explanation", "evidence", "details_json", "error_type", "error_message", "skip_reason", "graded_at", "duration_us", "attempts", "cached", "judge_route", "judge_model", "judge_response_id", "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"
FROM gradebeam.scores_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM gradebeam.commits CROSS JOIN UNNEST(commits."tables"."scores") AS listed("path")
);

CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.trajectories_files (
  `schema_version` int,
  `run_id` string,
  `trajectory_uid` string,
  `trajectory_id` string,
  `group_id` string,
  `parent_id` string,
  `source_uri` string,
  `source_offset` bigint,
  `source_format` string,
  `event_time` timestamp,
  `event_date` date,
  `model` string,
  `agent` string,
  `outcome` string,
  `parse_status` string,
  `bytes` bigint,
  `message_count` int,
  `turn_count` int,
  `tool_call_count` int,
  `tool_error_count` int,
  `input_tokens` bigint,
  `output_tokens` bigint,
  `cached_input_tokens` bigint,
  `cost_usd` decimal(18,9),
  `latency_ms` bigint,
  `issues` array<string>,
  `metadata` map<string,string>
)
PARTITIONED BY (`run` string)
STORED AS PARQUET
LOCATION 's3://BUCKET/graded/trajectories/';

MSCK REPAIR TABLE gradebeam.trajectories_files;

CREATE OR REPLACE VIEW gradebeam.trajectories AS
SELECT "schema_version", "run_id", "trajectory_uid", "trajectory_id", "group_id", "parent_id", "source_uri", "source_offset", "source_format", "event_time", "event_date", "model", "agent", "outcome", "parse_status", "bytes", "message_count", "turn_count", "tool_call_count", "tool_error_count", "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd", "latency_ms", "issues", "metadata"
FROM gradebeam.trajectories_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM gradebeam.commits CROSS JOIN UNNEST(commits."tables"."trajectories") AS listed("path")
);

CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.rejects_files (
  `schema_version` int,
  `run_id` string,
  `source_uri` string,
  `source_offset` bigint,
  `source_format` string,
  `reason` string,
  `detail` string,
  `excerpt` string,
  `bytes` bigint
)
PARTITIONED BY (`run` string)
STORED AS PARQUET
LOCATION 's3://BUCKET/graded/rejects/';

MSCK REPAIR TABLE gradebeam.rejects_files;

CREATE OR REPLACE VIEW gradebeam.rejects AS
SELECT "schema_version", "run_id", "source_uri", "source_offset", "source_format", "reason", "detail", "excerpt", "bytes"
FROM gradebeam.rejects_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM gradebeam.commits CROSS JOIN UNNEST(commits."tables"."rejects") AS listed("path")
);

CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.graders_files (
  `schema_version` int,
  `run_id` string,
  `grader_name` string,
  `grader_type` string,
  `grader_hash` string,
  `profile` string,
  `determinism` string,
  `cost` string,
  `reference` string,
  `temporal_scope` string,
  `score_kind` string,
  `native_min` double,
  `native_max` double,
  `threshold` double,
  `higher_is_better` boolean,
  `weight` double,
  `required` boolean,
  `config_json` string,
  `duration_us` bigint
)
PARTITIONED BY (`run` string)
STORED AS PARQUET
LOCATION 's3://BUCKET/graded/graders/';

MSCK REPAIR TABLE gradebeam.graders_files;

CREATE OR REPLACE VIEW gradebeam.graders AS
SELECT "schema_version", "run_id", "grader_name", "grader_type", "grader_hash", "profile", "determinism", "cost", "reference", "temporal_scope", "score_kind", "native_min", "native_max", "threshold", "higher_is_better", "weight", "required", "config_json", "duration_us"
FROM gradebeam.graders_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM gradebeam.commits CROSS JOIN UNNEST(commits."tables"."graders") AS listed("path")
);

CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.runs_files (
  `schema_version` int,
  `run_id` string,
  `suite_name` string,
  `suite_hash` string,
  `code_version` string,
  `runner` string,
  `started_at` timestamp,
  `finished_at` timestamp,
  `inputs` bigint,
  `records` bigint,
  `trajectories` bigint,
  `rejects` bigint,
  `scores` bigint,
  `pass` bigint,
  `fail` bigint,
  `scored` bigint,
  `error` bigint,
  `skipped` bigint,
  `judge_calls` bigint,
  `cost_usd` decimal(18,9)
)
PARTITIONED BY (`run` string)
STORED AS PARQUET
LOCATION 's3://BUCKET/graded/runs/';

MSCK REPAIR TABLE gradebeam.runs_files;

CREATE OR REPLACE VIEW gradebeam.runs AS
SELECT "schema_version", "run_id", "suite_name", "suite_hash", "code_version", "runner", "started_at", "finished_at", "inputs", "records", "trajectories", "rejects", "scores", "pass", "fail", "scored", "error", "skipped", "judge_calls", "cost_usd"
FROM gradebeam.runs_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM gradebeam.commits CROSS JOIN UNNEST(commits."tables"."runs") AS listed("path")
);
