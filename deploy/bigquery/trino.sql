CREATE SCHEMA IF NOT EXISTS hive.gradebeam;

CREATE TABLE hive.gradebeam.commits (
  "run_id" varchar,
  "tables" row("scores" array(row("path" varchar)), "trajectories" array(row("path" varchar)), "rejects" array(row("path" varchar)), "graders" array(row("path" varchar)), "runs" array(row("path" varchar)))
)
WITH (external_location = 's3://BUCKET/graded/_commits', format = 'JSON');

CREATE TABLE hive.gradebeam.scores_files (
  "schema_version" integer,
  "run_id" varchar,
  "trajectory_uid" varchar,
  "trajectory_id" varchar,
  "group_id" varchar,
  "source_uri" varchar,
  "source_offset" bigint,
  "event_time" timestamp(3),
  "event_date" date,
  "grader_name" varchar,
  "grader_type" varchar,
  "grader_hash" varchar,
  "status" varchar,
  "passed" boolean,
  "score" double,
  "native_score" double,
  "label" varchar,
  "explanation" varchar,
  "evidence" array(row("message_index" integer, "start" bigint, "end" bigint, "quote" varchar)),
  "details_json" varchar,
  "error_type" varchar,
  "error_message" varchar,
  "skip_reason" varchar,
  "graded_at" timestamp(3),
  "duration_us" bigint,
  "attempts" integer,
  "cached" boolean,
  "judge_route" varchar,
  "judge_model" varchar,
  "judge_response_id" varchar,
  "input_tokens" bigint,
  "output_tokens" bigint,
  "cached_input_tokens" bigint,
  "cost_usd" decimal(18, 9),
  "run" varchar
)
WITH (external_location = 's3://BUCKET/graded/scores', format = 'PARQUET', partitioned_by = ARRAY['run']);

CALL hive.system.sync_partition_metadata('gradebeam', 'scores_files', 'FULL');

CREATE OR REPLACE VIEW hive.gradebeam.scores AS
SELECT "schema_version", "run_id", "trajectory_uid", "trajectory_id", "group_id", "source_uri", "source_offset", "event_time", "event_date", "grader_name", "grader_type", "grader_hash", "status", "passed", "score", "native_score", "label", "explanation", "evidence", "details_json", "error_type", "error_message", "skip_reason", "graded_at", "duration_us", "attempts", "cached", "judge_route", "judge_model", "judge_response_id", "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"
FROM hive.gradebeam.scores_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM hive.gradebeam.commits CROSS JOIN UNNEST(commits."tables"."scores") AS listed("path")
);

CREATE TABLE hive.gradebeam.trajectories_files (
  "schema_version" integer,
  "run_id" varchar,
  "trajectory_uid" varchar,
  "trajectory_id" varchar,
  "group_id" varchar,
  "parent_id" varchar,
  "source_uri" varchar,
  "source_offset" bigint,
  "source_format" varchar,
  "event_time" timestamp(3),
  "event_date" date,
  "model" varchar,
  "agent" varchar,
  "outcome" varchar,
  "parse_status" varchar,
  "bytes" bigint,
  "message_count" integer,
  "turn_count" integer,
  "tool_call_count" integer,
  "tool_error_count" integer,
  "input_tokens" bigint,
  "output_tokens" bigint,
  "cached_input_tokens" bigint,
  "cost_usd" decimal(18, 9),
  "latency_ms" bigint,
  "issues" array(varchar),
  "metadata" map(varchar, varchar),
  "run" varchar
)
WITH (external_location = 's3://BUCKET/graded/trajectories', format = 'PARQUET', partitioned_by = ARRAY['run']);

CALL hive.system.sync_partition_metadata('gradebeam', 'trajectories_files', 'FULL');

CREATE OR REPLACE VIEW hive.gradebeam.trajectories AS
SELECT "schema_version", "run_id", "trajectory_uid", "trajectory_id", "group_id", "parent_id", "source_uri", "source_offset", "source_format", "event_time", "event_date", "model", "agent", "outcome", "parse_status", "bytes", "message_count", "turn_count", "tool_call_count", "tool_error_count", "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd", "latency_ms", "issues", "metadata"
FROM hive.gradebeam.trajectories_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM hive.gradebeam.commits CROSS JOIN UNNEST(commits."tables"."trajectories") AS listed("path")
);

CREATE TABLE hive.gradebeam.rejects_files (
  "schema_version" integer,
  "run_id" varchar,
  "source_uri" varchar,
  "source_offset" bigint,
  "source_format" varchar,
  "reason" varchar,
  "detail" varchar,
  "excerpt" varchar,
  "bytes" bigint,
  "run" varchar
)
WITH (external_location = 's3://BUCKET/graded/rejects', format = 'PARQUET', partitioned_by = ARRAY['run']);

CALL hive.system.sync_partition_metadata('gradebeam', 'rejects_files', 'FULL');

CREATE OR REPLACE VIEW hive.gradebeam.rejects AS
SELECT "schema_version", "run_id", "source_uri", "source_offset", "source_format", "reason", "detail", "excerpt", "bytes"
FROM hive.gradebeam.rejects_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM hive.gradebeam.commits CROSS JOIN UNNEST(commits."tables"."rejects") AS listed("path")
);

CREATE TABLE hive.gradebeam.graders_files (
  "schema_version" integer,
  "run_id" varchar,
  "grader_name" varchar,
  "grader_type" varchar,
  "grader_hash" varchar,
  "profile" varchar,
  "determinism" varchar,
  "cost" varchar,
  "reference" varchar,
  "temporal_scope" varchar,
  "score_kind" varchar,
  "native_min" double,
  "native_max" double,
  "threshold" double,
  "higher_is_better" boolean,
  "weight" double,
  "required" boolean,
  "config_json" varchar,
  "duration_us" bigint,
  "run" varchar
)
WITH (external_location = 's3://BUCKET/graded/graders', format = 'PARQUET', partitioned_by = ARRAY['run']);

CALL hive.system.sync_partition_metadata('gradebeam', 'graders_files', 'FULL');

CREATE OR REPLACE VIEW hive.gradebeam.graders AS
SELECT "schema_version", "run_id", "grader_name", "grader_type", "grader_hash", "profile", "determinism", "cost", "reference", "temporal_scope", "score_kind", "native_min", "native_max", "threshold", "higher_is_better", "weight", "required", "config_json", "duration_us"
FROM hive.gradebeam.graders_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM hive.gradebeam.commits CROSS JOIN UNNEST(commits."tables"."graders") AS listed("path")
);

CREATE TABLE hive.gradebeam.runs_files (
  "schema_version" integer,
  "run_id" varchar,
  "suite_name" varchar,
  "suite_hash" varchar,
  "code_version" varchar,
  "runner" varchar,
  "started_at" timestamp(3),
  "finished_at" timestamp(3),
  "inputs" bigint,
  "records" bigint,
  "trajectories" bigint,
  "rejects" bigint,
  "scores" bigint,
  "pass" bigint,
  "fail" bigint,
  "scored" bigint,
  "error" bigint,
  "skipped" bigint,
  "judge_calls" bigint,
  "cost_usd" decimal(18, 9),
  "run" varchar
)
WITH (external_location = 's3://BUCKET/graded/runs', format = 'PARQUET', partitioned_by = ARRAY['run']);

CALL hive.system.sync_partition_metadata('gradebeam', 'runs_files', 'FULL');

CREATE OR REPLACE VIEW hive.gradebeam.runs AS
SELECT "schema_version", "run_id", "suite_name", "suite_hash", "code_version", "runner", "started_at", "finished_at", "inputs", "records", "trajectories", "rejects", "scores", "pass", "fail", "scored", "error", "skipped", "judge_calls", "cost_usd"
FROM hive.gradebeam.runs_files
WHERE regexp_extract("$path", '[^/]+/run=[^/]+/[^/]+$') IN (
  SELECT listed."path" FROM hive.gradebeam.commits CROSS JOIN UNNEST(commits."tables"."runs") AS listed("path")
);
