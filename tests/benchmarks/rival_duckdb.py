"""The same job in DuckDB's SQL: the same long table, all columns, zstd. `python -m tests.benchmarks.rival_duckdb LOG OUT THREADS`."""

from __future__ import annotations

import sys

import duckdb

_LAST = "output"
_SPOKEN = "list_transform(list_filter(messages, lambda m: m.role = 'assistant'), lambda m: m.content)"


def _any(pattern: str) -> str:
    return f"list_bool_or(list_transform(spoken, lambda t: regexp_matches(t, '{pattern}')))"


CHECKS = [
    ("refusal", "regex", f"regexp_matches({_LAST}, '(?i)i (can''t|cannot|will not)')"),
    ("ticket", "regex", f"regexp_matches({_LAST}, 'BUG-[0-9]{{4}}')"),
    ("citation", "regex", f"regexp_matches({_LAST}, '\\[[0-9]+\\]')"),
    ("apology", "transcript-not-matches", f"NOT {_any('(?i)sorry|apolog')}"),
    ("tool-error", "transcript-not-matches", f"NOT {_any('(error|exception): [a-z]+')}"),
    ("money", "transcript-matches", _any("[0-9]+\\.[0-9]{2} (USD|EUR)")),
    ("greets", "contains", f"contains({_LAST}, 'hello')"),
    ("no-password", "not-contains", f"NOT contains({_LAST}, 'password')"),
    ("short", "length", f"len(string_split_regex(trim({_LAST}), '\\s+')) <= 100"),
    ("right", "exact", f"{_LAST} = reference"),
]


def query(log: str, out: str) -> str:
    """The statement that grades a log and writes the long table."""
    checks = ", ".join(f"{{'n': '{name}', 't': '{kind}', 'p': {sql}}}" for name, kind, sql in CHECKS)
    return f"""
    COPY (
      SELECT 1::INTEGER schema_version, 'r_bench' run_id, trajectory_uid, trajectory_id, NULL::VARCHAR group_id,
        source_uri, source_offset, event_time, event_time::DATE event_date, g.n grader_name, g.t grader_type, '0123456789abcdef' grader_hash,
        CASE WHEN g.p THEN 'pass' ELSE 'fail' END status, g.p passed, g.p::INT::DOUBLE score, NULL::DOUBLE native_score, NULL::VARCHAR label,
        CASE WHEN g.p THEN 'passes' ELSE 'fails' END explanation,
        NULL::STRUCT(message_index INTEGER, "start" BIGINT, "end" BIGINT, quote VARCHAR)[] evidence, NULL::VARCHAR details_json,
        NULL::VARCHAR error_type, NULL::VARCHAR error_message, NULL::VARCHAR skip_reason, now() graded_at, NULL::BIGINT duration_us,
        1::INTEGER attempts, false cached, NULL::VARCHAR judge_route, NULL::VARCHAR judge_model, NULL::VARCHAR judge_response_id,
        NULL::BIGINT input_tokens, NULL::BIGINT output_tokens, NULL::BIGINT cached_input_tokens, NULL::DECIMAL(18,9) cost_usd
      FROM (
        SELECT *, unnest([{checks}]) g FROM (
          SELECT md5(id) trajectory_uid, id trajectory_id, '{log}' source_uri, 0::BIGINT source_offset, created_at::TIMESTAMPTZ event_time,
            messages[-1].content AS output, reference, {_SPOKEN} AS spoken
          FROM read_json('{log}', format='newline_delimited', columns={{id:'VARCHAR', created_at:'VARCHAR', model:'VARCHAR',
            messages:'STRUCT(role VARCHAR, content VARCHAR)[]', reference:'VARCHAR'}})))
    ) TO '{out}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)
    """


if __name__ == "__main__":
    connection = duckdb.connect()
    connection.execute(f"SET threads={sys.argv[3]}; SET preserve_insertion_order=false; SET TimeZone='UTC'")
    connection.execute(query(sys.argv[1], sys.argv[2]))
