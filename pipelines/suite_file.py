"""Reading a suite file: YAML or JSON, checked whole, every problem with its line."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import yaml
from pydantic import ValidationError

from graders.configured import ConfiguredGrader, configure_all, problems_of
from graders.errors import ConfigError, Problem, nearest
from graders.judges.judge_grader import DEFAULT_ROUTE, JudgeGrader
from schemas.suite import Suite

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class LoadedSuite:
    """A suite that can be run."""

    suite: Suite
    graders: tuple[ConfiguredGrader, ...]
    """In the order in which they are graded."""
    folder: Path
    """That of the file; the suite's own input paths are relative to it."""
    normalised: dict[str, Any]
    """The whole suite with canonical graders: what the manifest keeps and the hash covers."""
    warnings: tuple[Problem, ...] = ()

    @property
    def suite_hash(self) -> str:
        """16 hex digits over what decides the run's rows (where they are written to does not)."""
        decisive = {
            key: value for key, value in self.normalised.items() if key not in ("output", "description", "allow")
        }
        return hashlib.sha256(orjson.dumps(decisive, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


class SuiteError(ConfigError):
    """A suite file that can't be run; problems say their line."""

    def __init__(self, problems: Sequence[Problem], lines: Sequence[int | None], path: str) -> None:
        super().__init__(problems)
        self.lines = tuple(lines)
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the lines when the error crosses a process."""
        return (type(self), (self.problems, self.lines, self.path))

    def rendered(self) -> list[str]:
        """`suite.yaml:12: graders[2].pattern: …` for every problem, in order of line."""
        pairs = sorted(zip(self.lines, self.problems, strict=True), key=lambda pair: pair[0] or 0)
        return [f"{self.path}:{line}: {problem}" if line else f"{self.path}: {problem}" for line, problem in pairs]


def load_suite(path: str) -> LoadedSuite:
    """Read and check a suite file.

    Raises:
        SuiteError: with every problem of the file and its line.
    """
    root, values = _parsed(path)
    problems: list[Problem] = list(_duplicate_keys(root, ()))
    suite: Suite | None = None
    graders: list[ConfiguredGrader] = []
    try:
        suite = Suite.model_validate(values)
    except ValidationError as error:
        problems.extend(problems_of(error, Suite))
    if isinstance(values, dict) and isinstance(values.get("graders"), list):
        if not values["graders"]:
            problems.append(Problem(("graders",), "there are no graders", "name at least one"))
        plugins = values.get("plugins")
        names = tuple(name for name in plugins if isinstance(name, str)) if isinstance(plugins, list) else ()
        profile = values.get("profile")
        try:
            graders = configure_all(
                values["graders"], profile=profile if isinstance(profile, str) else None, plugins=names
            )
        except ConfigError as error:
            problems.extend(_placed(problem) for problem in error.problems)
    if suite is not None:
        problems.extend(_route_problems(suite, graders))
    if problems or suite is None:
        distinct = list(dict.fromkeys(problems))
        raise SuiteError(distinct, [line_of(root, problem.path) for problem in distinct], path)
    normalised = suite.model_dump(mode="json")
    normalised["graders"] = [_normalised_grader(grader) for grader in graders]
    warnings = tuple(
        replace(problem.below("graders", grader.place), warning=True)
        for grader in graders
        for problem in grader.warnings
    )
    return LoadedSuite(suite, tuple(graders), Path(path).resolve().parent, normalised, warnings)


def line_of(root: yaml.Node | None, path: Sequence[str | int]) -> int | None:
    """The line (from 1) of a path in the file; of the nearest parent where the path itself is not there."""
    if root is None:
        return None
    node = root
    line = root.start_mark.line
    for part in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1


def _parsed(path: str) -> tuple[yaml.Node | None, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SuiteError([Problem((), "there is no such file")], [None], path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError([Problem((), f"it can't be read: {error}")], [None], path) from None
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        values = None if root is None else loader.construct_document(root)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        line = None if mark is None else mark.line + 1
        raise SuiteError([Problem((), f"it is not YAML: {what}")], [line], path) from None
    finally:
        loader.dispose()
    if not isinstance(values, dict):
        what = "it is empty" if values is None else "a suite is a mapping with `graders:`"
        raise SuiteError([Problem((), what)], [1], path)
    return root, values


def _duplicate_keys(node: yaml.Node | None, path: tuple[str | int, ...], depth: int = 0) -> list[Problem]:
    if depth > 100:
        return []
    problems = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                problems.append(
                    Problem((*path, key.value), "this key is there twice", "the last one would win silently")
                )
            seen.add(key.value)
            problems += _duplicate_keys(value, (*path, key.value), depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            problems += _duplicate_keys(value, (*path, number), depth + 1)
    return problems


def _placed(problem: Problem) -> Problem:
    """A problem of the list of graders, seen from the suite. Plugins stand beside the list, not in it."""
    inner = problem.path[1:] if problem.path and isinstance(problem.path[0], int) else problem.path
    if inner[:1] == ("plugins",):
        return replace(problem, path=inner)
    return problem if problem.path[:1] == ("profile",) else problem.below("graders")


def _route_problems(suite: Suite, graders: Sequence[ConfiguredGrader]) -> list[Problem]:
    problems = []
    for grader in graders:
        if not isinstance(grader.grader, JudgeGrader):
            continue
        place = ("graders", grader.place, "route")
        for route in grader.grader.routes:
            if route not in suite.routes and not (route == DEFAULT_ROUTE and len(suite.routes) == 1):
                suggestion = nearest(route, suite.routes) or "name it under `routes:`"
                problems.append(Problem(place, f'there is no route "{route}"', suggestion))
    return problems


def _normalised_grader(grader: ConfiguredGrader) -> dict[str, Any]:
    common = grader.common.model_dump(mode="json", exclude_defaults=True)
    return {
        **{key: value for key, value in common.items() if key != "name"},
        **dict(grader.config),
        "name": grader.name,
        "type": grader.type,
        "grader_hash": grader.grader_hash,
    }
