"""The flex template's launcher: template parameters to `gradebeam run`. It hands the job over and does not wait for it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pipelines import storage
from pipelines.cli.main import main

#: Template parameter → option of `gradebeam run`. `suite` is the command's argument.
OPTIONS = {"input": "--input", "output": "--output", "run_id": "--run-id"}
SWITCHES = {"refresh_judges": "--refresh-judges", "again": "--again"}
SEPARATOR = ";"


def command_line(arguments: Sequence[str], folder: Path) -> list[str]:
    """The arguments of `gradebeam` for those of the template (`--name=value`); the suite file is fetched into `folder`.

    Several inputs are separated by `;`. Whatever is not ours is Beam's.

    Raises:
        ValueError: there is no suite among the arguments.
    """
    ours: list[str] = []
    beam: list[str] = []
    suite: str | None = None
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        if name == "suite":
            suite = value
        elif name in OPTIONS:
            ours += [OPTIONS[name], *(part.strip() for part in value.split(SEPARATOR) if part.strip())] if value else []
        elif name in SWITCHES:
            ours += [SWITCHES[name]] if value.lower() == "true" else []
        else:
            beam.append(argument)
    if not suite:
        raise ValueError("the template needs the parameter `suite`")
    local = folder / "suite.yaml"
    local.write_bytes(storage.read_bytes(suite))
    return ["run", str(local), *ours, "--", "--no_wait_until_finish", *beam]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(command_line(sys.argv[1:], Path(scratch))))
