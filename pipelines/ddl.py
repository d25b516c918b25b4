"""Tables and views over a folder of runs for other engines, made from the Arrow schemas.

Each table is an external table `<name>_files` over everything below `<root>/<name>/`, committed or not, and a view `<name>` of the
files that a manifest in `_commits/` lists. A manifest is one line of JSON, so every engine reads it as a table of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from graders.errors import ConfigError
from schemas.tables import TABLES

#: A file's path below the root, as manifests list it: `scores/run=…/part-….parquet`.
_BELOW_ROOT = "[^/]+/run=[^/]+/[^/]+$"


@dataclass(frozen=True, slots=True)
class _Types:
    """How an engine names Arrow's types."""

    names: dict[pa.DataType, str]
    timestamp: str
    array: str
    """`{0}` is the type of the items."""
    struct: str
    """`{0}` are the fields."""
    field: str
    """`{0}` is a field's name, `{1}` its type."""
    quote: str
    """Around a name."""
    map_of_text: str

    def of(self, arrow: pa.DataType) -> str:
        """The engine's type for an Arrow type."""
        if pa.types.is_timestamp(arrow):
            return self.timestamp
        if pa.types.is_map(arrow):
            return self.map_of_text
        if pa.types.is_list(arrow):
            return self.array.format(self.of(arrow.value_type))
        if pa.types.is_struct(arrow):
            return self.struct.format(
                ", ".join(self.field.format(self.quoted(field.name), self.of(field.type)) for field in arrow)
            )
        return self.names[arrow]

    def quoted(self, name: str) -> str:
        """A column's or field's name."""
        return f"{self.quote}{name}{self.quote}"

    def columns(self, schema: pa.Schema) -> str:
        """One column a line."""
        return ",\n".join(f"  {self.quoted(field.name)} {self.of(field.type)}" for field in schema)


def _names(
    text: str, boolean: str, int32: str, int64: str, double: str, date: str, money: str
) -> dict[pa.DataType, str]:
    arrow = (pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.float64(), pa.date32(), pa.decimal128(18, 9))
    return dict(zip(arrow, (text, boolean, int32, int64, double, date, money), strict=True))


_BIGQUERY = _Types(
    names=_names("STRING", "BOOL", "INT64", "INT64", "FLOAT64", "DATE", "NUMERIC"),
    timestamp="TIMESTAMP",
    array="ARRAY<{0}>",
    struct="STRUCT<{0}>",
    field="{0} {1}",
    quote="`",
    map_of_text="ARRAY<STRUCT<`key` STRING, `value` STRING>>",
)
_SPARK = _Types(
    names=_names("STRING", "BOOLEAN", "INT", "BIGINT", "DOUBLE", "DATE", "DECIMAL(18,9)"),
    timestamp="TIMESTAMP",
    array="ARRAY<{0}>",
    struct="STRUCT<{0}>",
    field="{0}: {1}",
    quote="`",
    map_of_text="MAP<STRING, STRING>",
)
_TRINO = _Types(
    names=_names("varchar", "boolean", "integer", "bigint", "double", "date", "decimal(18, 9)"),
    timestamp="timestamp(3)",
    array="array({0})",
    struct="row({0})",
    field="{0} {1}",
    quote='"',
    map_of_text="map(varchar, varchar)",
)
_ATHENA = _Types(
    names=_names("string", "boolean", "int", "bigint", "double", "date", "decimal(18,9)"),
    timestamp="timestamp",
    array="array<{0}>",
    struct="struct<{0}>",
    field="{0}:{1}",
    quote="`",
    map_of_text="map<string,string>",
)


def ddl(engine: str, root: str) -> str:
    """Statements that define the views of an engine over the folder `root` (a path or URI without a final slash, or with one).

    Raises:
        ConfigError: there is no such engine, or it can't read such a folder.
    """
    if engine not in _ENGINES:
        raise ConfigError(f'"{engine}" is none of {", ".join(_ENGINES)}')
    if "'" in root or "\\" in root or "\n" in root:
        raise ConfigError(f'"{root}" can\'t stand in SQL: it holds a quote, a backslash or a line break')
    return _ENGINES[engine](root.rstrip("/"))


def _duckdb(root: str) -> str:
    statements = []
    for name, schema in TABLES.items():
        columns = ", ".join(f'"{field.name}"' for field in schema)
        files = f"SELECT '{root}/' || file.path FROM commits, unnest(commits.tables.{name}) AS listed(file)"
        statements.append(
            f"CREATE OR REPLACE VIEW {name} AS\nSELECT {columns}\n"
            f"FROM read_parquet('{root}/{name}/*/*.parquet', filename = true, hive_partitioning = false)\n"
            f"WHERE filename IN ({files});"
        )
    listed = ", ".join(f"{name} STRUCT(path VARCHAR)[]" for name in TABLES)
    commits = (
        "CREATE OR REPLACE VIEW commits AS\n"
        f"SELECT * FROM read_json('{root}/_commits/*.json', format = 'newline_delimited', maximum_object_size = 1073741824,\n"
        f"  columns = {{run_id: 'VARCHAR', tables: 'STRUCT({listed})'}});"
    )
    return "\n\n".join([commits, *statements]) + "\n"


def _bigquery(root: str) -> str:
    if not root.startswith("gs://"):
        raise ConfigError(f'BigQuery reads gs:// folders, not "{root}"')
    listed = ", ".join(f"{name} ARRAY<STRUCT<path STRING>>" for name in TABLES)
    statements = [
        "CREATE OR REPLACE EXTERNAL TABLE gradebeam.commits (\n"
        f"  run_id STRING,\n  tables STRUCT<{listed}>\n)\n"
        "OPTIONS (\n  format = 'NEWLINE_DELIMITED_JSON',\n  ignore_unknown_values = true,\n"
        f"  uris = ['{root}/_commits/*.json']\n);"
    ]
    for name, schema in TABLES.items():
        statements.append(
            f"CREATE OR REPLACE EXTERNAL TABLE gradebeam.{name}_files (\n{_BIGQUERY.columns(schema)}\n)\n"
            "WITH PARTITION COLUMNS (run STRING)\n"
            "OPTIONS (\n  format = 'PARQUET',\n  enable_list_inference = true,\n  map_target_type = 'ARRAY_OF_STRUCT',\n"
            f"  hive_partition_uri_prefix = '{root}/{name}',\n  uris = ['{root}/{name}/*']\n);"
        )
        statements.append(
            f"CREATE OR REPLACE VIEW gradebeam.{name} AS\nSELECT * EXCEPT (run)\nFROM gradebeam.{name}_files\n"
            f"WHERE _FILE_NAME IN (\n  SELECT CONCAT('{root}/', file.path)\n"
            f"  FROM gradebeam.commits, UNNEST(commits.tables.{name}) AS file\n);"
        )
    return "\n\n".join(statements) + "\n"


def _spark(root: str) -> str:
    place = root.replace("s3://", "s3a://", 1)
    listed = ", ".join(f"{name}: ARRAY<STRUCT<path: STRING>>" for name in TABLES)
    statements = [
        "CREATE DATABASE IF NOT EXISTS gradebeam;",
        f"CREATE TABLE IF NOT EXISTS gradebeam.commits (run_id STRING, tables STRUCT<{listed}>)\n"
        f"USING json LOCATION '{place}/_commits';",
    ]
    for name, schema in TABLES.items():
        columns = ", ".join(_SPARK.quoted(field.name) for field in schema)
        statements.append(
            f"CREATE TABLE IF NOT EXISTS gradebeam.{name}_files (\n{_SPARK.columns(schema)}\n)\n"
            f"USING parquet OPTIONS (recursiveFileLookup 'true') LOCATION '{place}/{name}';"
        )
        statements.append(
            f"CREATE OR REPLACE VIEW gradebeam.{name} AS\nSELECT {columns}\nFROM gradebeam.{name}_files\n"
            "WHERE substring_index(url_decode(_metadata.file_path), '/', -3) IN (\n"
            f"  SELECT file.path FROM (SELECT explode(tables.{name}) AS file FROM gradebeam.commits)\n);"
        )
    return "\n\n".join(statements) + "\n"


def _trino(root: str) -> str:
    place = _hive_place(root, "Trino")
    listed = ", ".join(f'"{name}" array(row("path" varchar))' for name in TABLES)
    statements = [
        "CREATE SCHEMA IF NOT EXISTS hive.gradebeam;",
        f'CREATE TABLE hive.gradebeam.commits (\n  "run_id" varchar,\n  "tables" row({listed})\n)\n'
        f"WITH (external_location = '{place}/_commits', format = 'JSON');",
    ]
    for name, schema in TABLES.items():
        statements.append(
            f'CREATE TABLE hive.gradebeam.{name}_files (\n{_TRINO.columns(schema)},\n  "run" varchar\n)\n'
            f"WITH (external_location = '{place}/{name}', format = 'PARQUET', partitioned_by = ARRAY['run']);"
        )
        statements.append(f"CALL hive.system.sync_partition_metadata('gradebeam', '{name}_files', 'FULL');")
        statements.append(_presto_view("hive.gradebeam.", name, schema))
    return "\n\n".join(statements) + "\n"


def _athena(root: str) -> str:
    place = _hive_place(root, "Athena")
    listed = ",".join(f"{name}:array<struct<path:string>>" for name in TABLES)
    statements = [
        "CREATE DATABASE IF NOT EXISTS gradebeam;",
        f"CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.commits (\n  `run_id` string,\n  `tables` struct<{listed}>\n)\n"
        "ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'\n"
        f"LOCATION '{place}/_commits/';",
    ]
    for name, schema in TABLES.items():
        statements.append(
            f"CREATE EXTERNAL TABLE IF NOT EXISTS gradebeam.{name}_files (\n{_ATHENA.columns(schema)}\n)\n"
            f"PARTITIONED BY (`run` string)\nSTORED AS PARQUET\nLOCATION '{place}/{name}/';"
        )
        statements.append(f"MSCK REPAIR TABLE gradebeam.{name}_files;")
        statements.append(_presto_view("gradebeam.", name, schema))
    return "\n\n".join(statements) + "\n"


def _hive_place(root: str, engine: str) -> str:
    if "://" not in root:
        raise ConfigError(f'{engine} reads a store, not the local folder "{root}"')
    return root


def _presto_view(prefix: str, name: str, schema: pa.Schema) -> str:
    columns = ", ".join(f'"{field.name}"' for field in schema)
    return (
        f"CREATE OR REPLACE VIEW {prefix}{name} AS\nSELECT {columns}\nFROM {prefix}{name}_files\n"
        f"WHERE regexp_extract(\"$path\", '{_BELOW_ROOT}') IN (\n"
        f'  SELECT listed."path" FROM {prefix}commits CROSS JOIN UNNEST(commits."tables"."{name}") AS listed("path")\n);'
    )


_ENGINES: dict[str, Callable[[str], str]] = {
    "duckdb": _duckdb,
    "bigquery": _bigquery,
    "spark": _spark,
    "trino": _trino,
    "athena": _athena,
}
