"""`gradebeam graders`: the grader types with their taxonomy, or one of them in full."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import orjson
import yaml

from graders.configured import CommonFields
from graders.errors import nearest
from graders.grader import Grader
from graders.profiles import PROFILES, translations
from graders.registry import grader_class, grader_types
from pipelines.cli.exit_codes import BAD_USAGE, DONE
from pipelines.cli.tables import print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("type", nargs="?", help="describe this type: fields, defaults, an example")
    parser.add_argument("--profile", choices=PROFILES, help="list the types of a foreign vocabulary instead")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(options: argparse.Namespace) -> int:
    """List or describe; 2 for a type that is not there."""
    if options.profile:
        known = sorted(translations(options.profile))
        if options.type and options.type not in known:
            suggestion = nearest(options.type, known) or "its types are " + ", ".join(known)
            print(f'gradebeam graders: {options.profile} has no type "{options.type}" ({suggestion})', file=sys.stderr)
            return BAD_USAGE
        print("\n".join([options.type] if options.type else known))
        return DONE
    if options.type is None:
        rows = list(taxonomy_rows())
        if options.json:
            print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        else:
            header = list(rows[0])
            print_table(header, [[row[name] for name in header] for row in rows], [False] * len(header))
            print("\n`gradebeam graders TYPE` shows fields, defaults and an example.")
        return DONE
    cls = grader_class(options.type)
    if options.json:
        schema = cls.config_model.model_json_schema()
        print(
            orjson.dumps(
                {**_taxonomy(cls), "config": schema, "example": dict(cls.example)}, option=orjson.OPT_INDENT_2
            ).decode()
        )
    else:
        _describe(cls)
    return DONE


def taxonomy_rows() -> Iterator[dict[str, str]]:
    """What each grader type says of itself, in order of name."""
    for name in sorted(grader_types()):
        yield _taxonomy(grader_types()[name])


def _taxonomy(cls: type[Grader[Any]]) -> dict[str, str]:
    taxonomy = cls.taxonomy
    return {
        "type": cls.type,
        "determinism": taxonomy.determinism,
        "cost": taxonomy.cost,
        "reference": taxonomy.reference,
        "temporal_scope": taxonomy.temporal_scope,
        "score_kind": taxonomy.score_kind,
        "native_scale": f"{taxonomy.native_min:g}..{taxonomy.native_max:g}",
    }


def summary_line(cls: type[Grader[Any]]) -> str:
    """The first sentence of a grader's documentation: its class's, or that of its module."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or sys.modules[cls.__module__].__doc__ or "")
    return " ".join(text.split("\n\n")[0].split())


def _describe(cls: type[Grader[Any]]) -> None:
    print(f"{cls.type}: {summary_line(cls)}\n")
    print(", ".join(f"{key.replace('_', ' ')} {value}" for key, value in _taxonomy(cls).items() if key != "type"))
    print("\nFields:")
    schema = cls.config_model.model_json_schema()
    rows = [_field_row(name, field, schema) for name, field in schema.get("properties", {}).items()]
    for name, kind, default in rows or [["(none)", "", ""]]:
        print(f"  {name:24} {kind}{default}")
    print("\nBeside them, any grader may say:")
    common = CommonFields.model_json_schema()
    for name, field in common["properties"].items():
        print(f"  {name:24} {_kind(field, common['$defs'])}")
    print("\nExample:")
    example = {"name": f"my-{cls.type}", "type": cls.type, **cls.example}
    text = yaml.safe_dump([example], sort_keys=False, allow_unicode=True, width=100)
    print("\n".join("  " + line for line in text.splitlines()))


def _field_row(name: str, field: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    required = name in schema.get("required", ())
    default = " (required)" if required else f", default {orjson.dumps(field.get('default')).decode()}"
    return [name, _kind(field, schema.get("$defs", {})), default]


def _kind(field: dict[str, Any], definitions: dict[str, Any] | None = None) -> str:
    """A JSON Schema as a few words."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return _kind((definitions or {}).get(name, {"type": name}), definitions)
    if "anyOf" in field or "oneOf" in field:
        kinds = [_kind(each, definitions) for each in field.get("anyOf") or field["oneOf"]]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    if "enum" in field:
        return " or ".join(str(value) for value in field["enum"])
    if "const" in field:
        return str(field["const"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}), definitions)}"
    bounds = [
        f"{word} {field[key]:g}"
        for key, word in (
            ("minimum", "from"),
            ("exclusiveMinimum", "above"),
            ("maximum", "to"),
            ("exclusiveMaximum", "below"),
        )
        if key in field
    ]
    return " ".join(
        [{"string": "text", "object": "mapping"}.get(field.get("type", ""), field.get("type", "anything")), *bounds]
    )
