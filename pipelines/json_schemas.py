"""The published JSON Schemas (draft 2020-12): of a suite with every grader type, of a trajectory, of a row of `scores`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, TypeAdapter

from graders.configured import CommonFields
from graders.grader import Grader
from graders.profiles import PROFILES, translations
from graders.registry import grader_types
from schemas.score import ErrorType, Status
from schemas.suite import Suite
from schemas.tables import SCORES
from schemas.trajectory import Trajectory

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def suite_schema(plugins: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema of a suite file; editors complete and check suites by it.

    A grader is one of the canonical types, or a foreign object that names its profile. In a suite that names one for all,
    graders are free in form.
    """
    schema = Suite.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    canonical = []
    for name, cls in sorted(grader_types(plugins).items()):
        definitions[f"grader-{name}"] = _grader_schema(cls, definitions)
        canonical.append({"$ref": f"#/$defs/grader-{name}"})
    definitions["foreign-grader"] = _foreign_schema()
    definitions["grader"] = {"oneOf": [*canonical, {"$ref": "#/$defs/foreign-grader"}]}
    graders = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/grader"}}
    schema["properties"]["graders"] = {"type": "array", "minItems": 1, "items": {"type": "object"}}
    schema["properties"]["profile"] = {"enum": [None, *PROFILES]}
    _let_one_path_be_text(definitions)
    schema["if"] = {"properties": {"profile": {"enum": list(PROFILES)}}, "required": ["profile"]}
    schema["else"] = {"properties": {"graders": graders}}
    return {"$schema": DRAFT, **schema, "title": "GradeBeam suite"}


def trajectory_schema() -> dict[str, Any]:
    """The schema of a trajectory, as `gradebeam inspect --json` prints it."""
    return {
        "$schema": DRAFT,
        **TypeAdapter(Trajectory).json_schema(mode="serialization"),
        "title": "GradeBeam trajectory",
    }


def score_schema() -> dict[str, Any]:
    """The schema of a row of `scores`, as `gradebeam grade` prints it: every column is there, null where it says nothing."""
    properties = {field.name: _nullable(field.type) for field in SCORES}
    properties["status"] = {"enum": [status.value for status in Status]}
    properties["error_type"] = {"enum": [None, *(kind.value for kind in ErrorType)]}
    properties["score"] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    return {
        "$schema": DRAFT,
        "title": "GradeBeam score",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _grader_schema(cls: type[Grader[Any]], definitions: dict[str, Any]) -> dict[str, Any]:
    own = cls.config_model.model_json_schema(ref_template=f"#/$defs/{cls.type}-{{model}}")
    common = CommonFields.model_json_schema()
    for name, definition in own.pop("$defs", {}).items():
        definitions[f"{cls.type}-{name}"] = definition
    for name in _rewritten_fields(cls.config_model):
        own["properties"][name] = {
            key: own["properties"][name][key] for key in ("title", "default") if key in own["properties"][name]
        }
    definitions.update(common.pop("$defs", {}))
    return {
        "title": cls.type,
        "type": "object",
        "properties": {
            "type": {"const": cls.type},
            "profile": {"enum": [None, "gradebeam"]},
            **common["properties"],
            **own.get("properties", {}),
        },
        "required": ["type", *own.get("required", [])],
        "additionalProperties": False,
    }


def _rewritten_fields(model: type[BaseModel]) -> set[str]:
    """Fields that a `before` validator rewrites (a text into a list of one): the type says less than they take."""
    validators = model.__pydantic_decorators__.field_validators.values()
    names = {name for validator in validators if validator.info.mode == "before" for name in validator.info.fields}
    return {field.alias or name for name, field in model.model_fields.items() if name in names}


def _foreign_schema() -> dict[str, Any]:
    """An object of another system: its types are known, its fields are checked by that system's translation."""
    return {
        "type": "object",
        "required": ["profile", "type"],
        "oneOf": [
            {"properties": {"profile": {"const": profile}, "type": {"enum": sorted(translations(profile))}}}
            for profile in PROFILES
        ],
    }


def _let_one_path_be_text(definitions: dict[str, Any]) -> None:
    paths = definitions["InputConfig"]["properties"]["paths"]
    definitions["InputConfig"]["properties"]["paths"] = {"anyOf": [{"type": "string"}, paths]}


def _nullable(kind: pa.DataType) -> dict[str, Any]:
    return {"anyOf": [_typed(kind), {"type": "null"}]}


def _typed(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        return {"type": "array", "items": _typed(kind.value_type)}
    if pa.types.is_struct(kind):
        return {"type": "object", "properties": {field.name: _nullable(field.type) for field in kind}}
    return dict(_PLAIN[str(kind)])


_PLAIN: Mapping[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer"},
    "int64": {"type": "integer"},
    "double": {"type": "number"},
    "timestamp[us, tz=UTC]": {"type": "string", "format": "date-time"},
    "date32[day]": {"type": "string", "format": "date"},
    "decimal128(18, 9)": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$", "description": "an exact decimal"},
}
