CREATE OR REPLACE EXTERNAL TABLE gradebeam.commits (
  run_id STRING,
  tables STRUCT<scores ARRAY<STRUCT<path STRING>>, trajectories ARRAY<STRUCT<path STRING>>, rejects ARRAY<STRUCT<path STRING>>, graders ARRAY<STRUCT<path STRING>>, runs ARRAY<STRUCT<path STRING>>>
)
OPTIONS (
  format = 'NEWLINE_DELIMITED_JSON',
  ignore_unknown_values = true,
  uris = ['gs://BUCKET/graded/_commits/*.json']
);

CREATE OR REPLACE EXTERNAL TABLE gradebeam.scores_files (
  `schema_version` INT64,
  `run_id` STRING,
  `trajectory_uid` STRING,
  `trajectory_id` STRING,
  `group_id` STRING,
  `source_uri` STRING,
  `source_offset` INT64,
  `event_time` TIMESTAMP,
  `event_date` DATE,
  `grader_name` STRING,
  `grader_type` STRING,
  `grader_hash` STRING,
  `status` STRING,
  `passed` BOOL,
  `score` FLOAT64,
  `native_score` FLOAT64,
  `label` STRING,
  `explanation` STRING,
  `evidence` ARRAY<STRUCT<`message_index` INT64, `start` INT64, `end` INT64, `quote` STRING>>,
  `details_json` STRING,
  `error_type` STRING,
  `error_message` STRING,
  `skip_reason` STRING,
  `graded_at` TIMESTAMP,
  `duration_us` INT64,
  `attempts` INT64,
  `cached` BOOL,
  `judge_route` STRING,
  `judge_model` STRING,
  `judge_response_id` STRING,
  `input_tokens` INT64,
  `output_tokens` INT64,
  `cached_input_tokens` INT64,
  `cost_usd` NUMERIC
)
WITH PARTITION COLUMNS (run STRING)
OPTIONS (
  format = 'PARQUET',
  enable_list_inference = true,
  map_target_type = 'ARRAY_OF_STRUCT',
  hive_partition_uri_prefix = 'gs://BUCKET/graded/scores',
  uris = ['gs://BUCKET/graded/scores/*']
);

CREATE OR REPLACE VIEW gradebeam.scores AS
SELECT * EXCEPT (run)
FROM gradebeam.scores_files
WHERE _FILE_NAME IN (
  SELECT CONCAT('gs://BUCKET/graded/', file.path)
  FROM gradebeam.commits, UNNEST(commits.tables.scores) AS file
);

CREATE OR REPLACE EXTERNAL TABLE gradebeam.trajectories_files (
  `schema_version` INT64,
  `run_id` STRING,
  `trajectory_uid` STRING,
  `trajectory_id` STRING,
  `group_id` STRING,
  `parent_id` STRING,
  `source_uri` STRING,
  `source_offset` INT64,
  `source_format` STRING,
  `event_time` TIMESTAMP,
  `event_date` DATE,
  `model` STRING,
  `agent` STRING,
  `outcome` STRING,
  `parse_status` STRING,
  `bytes` INT64,
  `message_count` INT64,
  `turn_count` INT64,
  `tool_call_count` INT64,
  `tool_error_count` INT64,
  `input_tokens` INT64,
  `output_tokens` INT64,
  `cached_input_tokens` INT64,
  `cost_usd` NUMERIC,
  `latency_ms` INT64,
  `issues` ARRAY<STRING>,
  `metadata` ARRAY<STRUCT<`key` STRING, `value` STRING>>
)
WITH PARTITION COLUMNS (run STRING)
OPTIONS (
  format = 'PARQUET',
  enable_list_inference = true,
  map_target_type = 'ARRAY_OF_STRUCT',
  hive_partition_uri_prefix = 'gs://BUCKET/graded/trajectories',
  uris = ['gs://BUCKET/graded/trajectories/*']
);

CREATE OR REPLACE VIEW gradebeam.trajectories AS
SELECT * EXCEPT (run)
FROM gradebeam.trajectories_files
WHERE _FILE_NAME IN (
  SELECT CONCAT('gs://BUCKET/graded/', file.path)
  FROM gradebeam.commits, UNNEST(commits.tables.trajectories) AS file
);

CREATE OR REPLACE EXTERNAL TABLE gradebeam.rejects_files (
  `schema_version` INT64,
  `run_id` STRING,
  `source_uri` STRING,
  `source_offset` INT64,
  `source_format` STRING,
  `reason` STRING,
  `detail` STRING,
  `excerpt` STRING,
  `bytes` INT64
)
WITH PARTITION COLUMNS (run STRING)
OPTIONS (
  format = 'PARQUET',
  enable_list_inference = true,
  map_target_type = 'ARRAY_OF_STRUCT',
  hive_partition_uri_prefix = 'gs://BUCKET/graded/rejects',
  uris = ['gs://BUCKET/graded/rejects/*']
);

CREATE OR REPLACE VIEW gradebeam.rejects AS
SELECT * EXCEPT (run)
FROM gradebeam.rejects_files
WHERE _FILE_NAME IN (
  SELECT CONCAT('gs://BUCKET/graded/', file.path)
  FROM gradebeam.commits, UNNEST(commits.tables.rejects) AS file
);

CREATE OR REPLACE EXTERNAL TABLE gradebeam.graders_files (
  `schema_version` INT64,
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
  `native_min` FLOAT64,
  `native_max` FLOAT64,
  `threshold` FLOAT64,
  `higher_is_better` BOOL,
  `weight` FLOAT64,
  `required` BOOL,
  `config_json` STRING,
  `duration_us` INT64
)
WITH PARTITION COLUMNS (run STRING)
OPTIONS (
  format = 'PARQUET',
  enable_list_inference = true,
  map_target_type = 'ARRAY_OF_STRUCT',
  hive_partition_uri_prefix = 'gs://BUCKET/graded/graders',
  uris = ['gs://BUCKET/graded/graders/*']
);

CREATE OR REPLACE VIEW gradebeam.graders AS
SELECT * EXCEPT (run)
FROM gradebeam.graders_files
WHERE _FILE_NAME IN (
  SELECT CONCAT('gs://BUCKET/graded/', file.path)
  FROM gradebeam.commits, UNNEST(commits.tables.graders) AS file
);

CREATE OR REPLACE EXTERNAL TABLE gradebeam.runs_files (
  `schema_version` INT64,
  `run_id` STRING,
  `suite_name` STRING,
  `suite_hash` STRING,
  `code_version` STRING,
  `runner` STRING,
  `started_at` TIMESTAMP,
  `finished_at` TIMESTAMP,
  `inputs` INT64,
  `records` INT64,
  `trajectories` INT64,
  `rejects` INT64,
  `scores` INT64,
  `pass` INT64,
  `fail` INT64,
  `scored` INT64,
  `error` INT64,
  `skipped` INT64,
  `judge_calls` INT64,
  `cost_usd` NUMERIC
)
WITH PARTITION COLUMNS (run STRING)
OPTIONS (
  format = 'PARQUET',
  enable_list_inference = true,
  map_target_type = 'ARRAY_OF_STRUCT',
  hive_partition_uri_prefix = 'gs://BUCKET/graded/runs',
  uris = ['gs://BUCKET/graded/runs/*']
);

CREATE OR REPLACE VIEW gradebeam.runs AS
SELECT * EXCEPT (run)
FROM gradebeam.runs_files
WHERE _FILE_NAME IN (
  SELECT CONCAT('gs://BUCKET/graded/', file.path)
  FROM gradebeam.commits, UNNEST(commits.tables.runs) AS file
);
