"""JSON Schema, drafts 4 to 2020-12, compiled to closures: fast, exact, and bounded for any schema and any instance.

`compile_schema` checks a schema against its meta-schema and compiles it; nothing is ever fetched.
`SchemaValidator.validate_all` judges many values at once, so that the strings that meet a `pattern` go through
`graders.matching` in whole arrays.
"""

from graders.json_validation.compiling import CompiledSchema as CompiledSchema
from graders.json_validation.compiling import compile_schema as compile_schema
from graders.json_validation.drafts import DRAFT_NAMES as DRAFT_NAMES
from graders.json_validation.outcome import Open as Open
from graders.json_validation.outcome import Violation as Violation
from graders.json_validation.validating import validate_all as validate_all
