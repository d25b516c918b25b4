CREATE DATABASE IF NOT EXISTS gradebeam;

CREATE TABLE IF NOT EXISTS gradebeam.commits (run_id STRING, tables STRUCT<scores: ARRAY<STRUCT<path: STRING>>, trajectories: ARRAY<STRUCT<path: STRING>>, rejects: ARRAY<STRUCT<path: STRING>>, graders: ARRAY<STRUCT<path: STRING>>, runs: ARRAY<STRUCT<path: STRING>>>)
USING json LOCATION 's3a://BUCKET/graded/_commits';

CREATE TABLE IF NOT EXISTS gradebeam.scores_files (
  `schema_version` INT,
  `run_id` STRING,
  `trajectory_uid` STRING,
  `trajectory_id` STRING,
  `group_id` STRING,
  `source_uri` STRING,
  `source_offset` BIGINT,
  `event_time` TIMESTAMP,
  `event_date` DATE,
  `grader_name` STRING,
  `grader_type` STRING,
  `grader_hash` STRING,
  `status` STRING,
  `passed` BOOLEAN,
  `score` DOUBLE,
  `native_score` DOUBLE,
  `label` STRING,
  `explanation` STRING,
  `evidence` ARRAY<STRUCT<`message_index`: INT, `start`: BIGINT, `end`: BIGINT, `quote`: STRING>>,
  `details_json` STRING,
  `error_type` STRING,
  `error_message` STRING,
  `skip_reason` STRING,
  `graded_at` TIMESTAMP,
  `duration_us` BIGINT,
  `attempts` INT,
  `cached` BOOLEAN,
  `judge_route` STRING,
  `judge_model` STRING,
  `judge_response_id` STRING,
  `input_tokens` BIGINT,
  `output_tokens` BIGINT,
  `cached_input_tokens` BIGINT,
  `cost_usd` DECIMAL(18,9)
)
USING parquet OPTIONS (recursiveFileLookup 'true') LOCATION 's3a://BUCKET/graded/scores';

CREATE OR REPLACE VIEW gradebeam.scores AS
SELECT `schema_version`, `run_id`, `trajectory_uid`, `trajectory_id`, `group_id`, `source_uri`, `source_offset`, `event_time`, `event_date`, `grader_name`, `grader_type`, `grader_hash`, `status`, `passed`, `score`, `native_score`, `label`, `explanation`, `evidence`, `details_json`, `error_type`, `error_message`, `skip_reason`, `graded_at`, `duration_us`, `attempts`, `cached`, `judge_route`, `judge_model`, `judge_response_id`, `input_tokens`, `output_tokens`, `cached_input_tokens`, `cost_usd`
FROM gradebeam.scores_files
WHERE substring_index(url_decode(_metadata.file_path), '/', -3) IN (
  SELECT file.path FROM (SELECT explode(tables.scores) AS file FROM gradebeam.commits)
);

CREATE TABLE IF NOT EXISTS gradebeam.trajectories_files (
  `schema_version` INT,
  `run_id` STRING,
  `trajectory_uid` STRING,
  `trajectory_id` STRING,
  `group_id` STRING,
  `parent_id` STRING,
  `source_uri` STRING,
  `source_offset` BIGINT,
  `source_format` STRING,
  `event_time` TIMESTAMP,
  `event_date` DATE,
  `model` STRING,
  `agent` STRING,
  `outcome` STRING,
  `parse_status` STRING,
  `bytes` BIGINT,
  `message_count` INT,
  `turn_count` INT,
  `tool_call_count` INT,
  `tool_error_count` INT,
  `input_tokens` BIGINT,
  `output_tokens` BIGINT,
  `cached_input_tokens` BIGINT,
  `cost_usd` DECIMAL(18,9),
  `latency_ms` BIGINT,
  `issues` ARRAY<STRING>,
  `metadata` MAP<STRING, STRING>
)
USING parquet OPTIONS (recursiveFileLookup 'true') LOCATION 's3a://BUCKET/graded/trajectories';

CREATE OR REPLACE VIEW gradebeam.trajectories AS
SELECT `schema_version`, `run_id`, `trajectory_uid`, `trajectory_id`, `group_id`, `parent_id`, `source_uri`, `source_offset`, `source_format`, `event_time`, `event_date`, `model`, `agent`, `outcome`, `parse_status`, `bytes`, `message_count`, `turn_count`, `tool_call_count`, `tool_error_count`, `input_tokens`, `output_tokens`, `cached_input_tokens`, `cost_usd`, `latency_ms`, `issues`, `metadata`
FROM gradebeam.trajectories_files
WHERE substring_index(url_decode(_metadata.file_path), '/', -3) IN (
  SELECT file.path FROM (SELECT explode(tables.trajectories) AS file FROM gradebeam.commits)
);

CREATE TABLE IF NOT EXISTS gradebeam.rejects_files (
  `schema_version` INT,
  `run_id` STRING,
  `source_uri` STRING,
  `source_offset` BIGINT,
  `source_format` STRING,
  `reason` STRING,
  `detail` STRING,
  `excerpt` STRING,
  `bytes` BIGINT
)
USING parquet OPTIONS (recursiveFileLookup 'true') LOCATION 's3a://BUCKET/graded/rejects';

CREATE OR REPLACE VIEW gradebeam.rejects AS
SELECT `schema_version`, `run_id`, `source_uri`, `source_offset`, `source_format`, `reason`, `detail`, `excerpt`, `bytes`
FROM gradebeam.rejects_files
WHERE substring_index(url_decode(_metadata.file_path), '/', -3) IN (
  SELECT file.path FROM (SELECT explode(tables.rejects) AS file FROM gradebeam.commits)
);

CREATE TABLE IF NOT EXISTS gradebeam.graders_files (
  `schema_version` INT,
  `run_id` STRING,
  `grader_name` STRING,
  `grader_type` STRING,
  `grader_hash` STRING,
  `profile` STRING,
  `determinism` STRING,
  `cost` STRING,
  `reference` STRING,
  `temporal_scope` STRING,
  `score_kind` STRING,
  `native_min` DOUBLE,
  `native_max` DOUBLE,
  `threshold` DOUBLE,
  `higher_is_better` BOOLEAN,
  `weight` DOUBLE,
  `required` BOOLEAN,
  `config_json` STRING,
  `duration_us` BIGINT
)
USING parquet OPTIONS (recursiveFileLookup 'true') LOCATION 's3a://BUCKET/graded/graders';

CREATE OR REPLACE VIEW gradebeam.graders AS
SELECT `schema_version`, `run_id`, `grader_name`, `grader_type`, `grader_hash`, `profile`, `determinism`, `cost`, `reference`, `temporal_scope`, `score_kind`, `native_min`, `native_max`, `threshold`, `higher_is_better`, `weight`, `required`, `config_json`, `duration_us`
FROM gradebeam.graders_files
WHERE substring_index(url_decode(_metadata.file_path), '/', -3) IN (
  SELECT file.path FROM (SELECT explode(tables.graders) AS file FROM gradebeam.commits)
);

CREATE TABLE IF NOT EXISTS gradebeam.runs_files (
  `schema_version` INT,
  `run_id` STRING,
  `suite_name` STRING,
  `suite_hash` STRING,
  `code_version` STRING,
  `runner` STRING,
  `started_at` TIMESTAMP,
  `finished_at` TIMESTAMP,
  `inputs` BIGINT,
  `records` BIGINT,
  `trajectories` BIGINT,
  `rejects` BIGINT,
  `scores` BIGINT,
  `pass` BIGINT,
  `fail` BIGINT,
  `scored` BIGINT,
  `error` BIGINT,
  `skipped` BIGINT,
  `judge_calls` BIGINT,
  `cost_usd` DECIMAL(18,9)
)
USING parquet OPTIONS (recursiveFileLookup 'true') LOCATION 's3a://BUCKET/graded/runs';

CREATE OR REPLACE VIEW gradebeam.runs AS
SELECT `schema_version`, `run_id`, `suite_name`, `suite_hash`, `code_version`, `runner`, `started_at`, `finished_at`, `inputs`, `records`, `trajectories`, `rejects`, `scores`, `pass`, `fail`, `scored`, `error`, `skipped`, `judge_calls`, `cost_usd`
FROM gradebeam.runs_files
WHERE substring_index(url_decode(_metadata.file_path), '/', -3) IN (
  SELECT file.path FROM (SELECT explode(tables.runs) AS file FROM gradebeam.commits)
);
