"""`code-fence-valid`: every fenced code block of a known language in the text parses."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from graders.code_blocks import CodeBlock, code_blocks
from graders.errors import ConfigError, Problem, nearest
from graders.json_values import JsonTooLarge, NotJson, decode_json
from graders.scoped_text import PlacedText, ScopedTextConfig, ScopedTextGrader
from graders.taxonomy import Taxonomy
from schemas.score import ErrorType, Score, error, skipped, verdict
from schemas.trajectory import Trajectory

_LANGUAGE_OF_TAG = {
    "json": "json",
    "python": "python",
    "py": "python",
    "python3": "python",
    "sql": "sql",
    "postgres": "sql",
    "postgresql": "sql",
    "mysql": "sql",
    "sqlite": "sql",
    "bigquery": "sql",
    "snowflake": "sql",
}
_SQL_DIALECT_OF_TAG = {"postgres": "postgres", "postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite"}
_SQL_DIALECT_OF_TAG |= {"bigquery": "bigquery", "snowflake": "snowflake"}
_MOST_CODE_POINTS = {"json": 1_000_000, "python": 50_000, "sql": 10_000}


class CodeFenceConfig(ScopedTextConfig):
    """Which languages are parsed."""

    languages: list[Literal["json", "python", "sql"]] = Field(default=["json", "python", "sql"], min_length=1)
    sql_dialect: str | None = None
    """A dialect of sqlglot (`postgres`, `bigquery`…); absent, the fence's tag decides, else a common SQL."""
    untagged: Literal["ignore", "json", "python", "sql"] = "ignore"
    """What a block without a language is taken for."""
    on_no_code: Literal["skip", "pass", "fail"] = "skip"
    """The outcome where there is no block to parse."""


class CodeFenceValid(ScopedTextGrader[CodeFenceConfig]):
    """Passes when all blocks parse. The score is the share that does. Slow: it runs the languages' own parsers.

    Python is parsed by the Python that runs the grader, so a newer one accepts more.
    """

    type = "code-fence-valid"
    config_model = CodeFenceConfig
    taxonomy = Taxonomy(determinism="complex-static", cost="low")
    example: ClassVar[Mapping[str, Any]] = {"languages": ["json", "python"], "untagged": "json"}

    def __init__(self, config: CodeFenceConfig) -> None:
        super().__init__(config)
        known = set() if config.sql_dialect is None else _sql_dialects()
        if config.sql_dialect is not None and config.sql_dialect not in known:
            suggestion = nearest(config.sql_dialect, known) or "one of " + ", ".join(sorted(known))
            problem = Problem(("sql_dialect",), f'unknown dialect "{config.sql_dialect}"', suggestion)
            raise ConfigError([problem])

    def grade_text(self, placed: PlacedText, trajectory: Trajectory) -> Score:
        """Parse each block."""
        invalid: list[dict[str, Any]] = []
        parsed = 0
        for number, block in enumerate(code_blocks(placed.text)):
            language = self._language_of(block)
            if language is None:
                continue
            if len(block.code) > _MOST_CODE_POINTS[language]:
                return error(ErrorType.SCHEMA_RESOURCE_LIMIT, f"a block of {language} is too long to parse")
            parsed += 1
            try:
                problem = "the closing fence is missing" if not block.closed else self._problem(language, block)
            except (RecursionError, MemoryError, JsonTooLarge):
                return error(ErrorType.SCHEMA_RESOURCE_LIMIT, f"a block of {language} is nested too deep to parse")
            if problem is not None:
                invalid.append({"block": number, "language": language, "problem": problem, "start": block.start})
        if parsed == 0:
            return self._nothing()
        score = (parsed - len(invalid)) / parsed
        if not invalid:
            return verdict(True, f"all {parsed} code blocks parse", score=score)
        first = invalid[0]
        text = (
            f"{len(invalid)} of {parsed} code blocks do not parse; the first: {first['language']}, {first['problem']}"
        )
        return verdict(False, text, score=score, details={"invalid": invalid[:20]})

    def _language_of(self, block: CodeBlock) -> str | None:
        if not block.tag:
            return None if self.config.untagged == "ignore" else self.config.untagged
        language = _LANGUAGE_OF_TAG.get(block.tag)
        return language if language in self.config.languages else None

    def _problem(self, language: str, block: CodeBlock) -> str | None:
        if language == "json":
            try:
                decode_json(block.code)
            except NotJson as problem:
                return str(problem)
            return None
        if language == "python":
            return _python_problem(block.code)
        return _sql_problem(block.code, self.config.sql_dialect or _SQL_DIALECT_OF_TAG.get(block.tag))

    def _nothing(self) -> Score:
        reason = "there is no code block to parse"
        return (
            skipped(reason) if self.config.on_no_code == "skip" else verdict(self.config.on_no_code == "pass", reason)
        )


def _python_problem(code: str) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(code)
        except SyntaxError as problem:
            return f"not Python {sys.version_info.major}.{sys.version_info.minor}: line {problem.lineno or 1}"
        except ValueError:
            return "not Python: it holds a null character"
    return None


def _sql_dialects() -> set[str]:
    import sqlglot  # slow to import, and only suites with SQL need it

    return {dialect.value for dialect in sqlglot.Dialects if dialect.value}


def _sql_problem(code: str, dialect: str | None) -> str | None:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        statements = sqlglot.parse(code, read=dialect)
    except SqlglotError as problem:
        line = next((item.get("line") for item in getattr(problem, "errors", []) if item.get("line")), None)
        return "not SQL" + (f": line {line}" if line else "")
    return None if any(statement is not None for statement in statements) else "there is no statement"
