"""What can be told before any work is done: a format that is not there, input that can't be opened, output that can't be written."""

from __future__ import annotations

import os
from pathlib import Path

from graders.errors import ConfigError, Problem
from pipelines import storage
from pipelines.formats.detection import CSV, container_by_name
from pipelines.judging.plan import check_keys
from pipelines.plan import RunPlan

#: So many unreadable inputs are named; the rest are counted.
_NAMED = 5


def check_access(plan: RunPlan) -> None:
    """Look at the input's format, local inputs and the local output folder; remote ones show when they are used.

    Raises:
        ConfigError: there is no such format, an input is not readable, or the output folder is a file, below a file or not writable,
            or a judge's key is not in the environment.
    """
    config = plan.suite.input
    problems = [*format_problems(config.format, config.fields), *_input_problems(plan), *_output_problems(plan)]
    if problems:
        raise ConfigError(problems)
    if plan.judges is not None:
        check_keys(plan.judges)


def format_problems(name: object, fields: object) -> list[Problem]:
    """What is wrong with the `format` and `fields` of a suite's input; paths from the suite's root.

    What is not even text or a mapping of texts is for the suite's own checks.
    """
    try:
        if isinstance(fields, dict) and all(isinstance(each, str) for each in (*fields, *fields.values())):
            container_by_name("mapped_rows", {"fields": fields})
        elif fields is None and isinstance(name, str) and name not in ("auto", CSV):
            container_by_name(name)
    except ConfigError as error:
        return list(error.problems)
    return []


def _input_problems(plan: RunPlan) -> list[Problem]:
    local = (file.uri for file in plan.inputs if not storage.is_remote(file.uri))
    unreadable = [uri for uri in local if not os.access(storage.local_path(uri), os.R_OK)]
    problems = [Problem(("input",), f"{uri} can't be read: no permission") for uri in unreadable[:_NAMED]]
    if len(unreadable) > _NAMED:
        problems.append(Problem(("input",), f"{len(unreadable) - _NAMED:,} more files can't be read"))
    return problems


def _output_problems(plan: RunPlan) -> list[Problem]:
    if storage.is_remote(plan.output):
        return []
    output = Path(storage.local_path(plan.output))
    there = next(place for place in (output, *output.parents) if place.exists())
    if not there.is_dir():
        return [
            Problem(("output",), f"{output} can't be a folder: {there} is a file", "name another folder with --output")
        ]
    if not os.access(there, os.W_OK | os.X_OK):
        return [Problem(("output",), f"{there} can't be written: no permission", "name another folder with --output")]
    return []
