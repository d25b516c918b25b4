"""One `gradebeam run`: plan, pipeline, commit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import orjson

from graders.errors import ConfigError
from pipelines import storage
from pipelines.commit.committing import read_manifest
from pipelines.judging.plan import judge_plan
from pipelines.plan import RunPlan, commit_uri
from pipelines.suite_file import LoadedSuite
from pipelines.versions import code_version, library_versions
from schemas.manifest import InputFile, Manifest


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is asked to do beyond its suite."""

    inputs: tuple[str, ...] = ()
    """Globs instead of the suite's own, relative to the working folder."""
    output: str | None = None
    run_id: str | None = None
    refresh_judges: bool = False
    again: bool = False
    """Once more under the next free id, where the run is committed."""


def make_plan(
    loaded: LoadedSuite, request: RunRequest, runner: str, *, shares_disk: bool = True, processes: int | None = None
) -> RunPlan:
    """The plan of a run: its inputs matched, its id reckoned.

    Args:
        loaded: the suite.
        request: what was asked for beyond it.
        runner: the runner's name.
        shares_disk: whether all worker processes see one disk.
        processes: most worker processes at once, where they do not; None where that is unknown.

    Raises:
        ConfigError: nothing matches the input, or the run id is not usable.
    """
    inputs = match_inputs(loaded, request.inputs)
    fingerprint = _digest([[file.uri, file.size, file.fingerprint] for file in inputs])
    version = code_version()
    run_id = request.run_id or f"r_{_digest([loaded.suite_hash, fingerprint, version])}"
    if (
        not run_id.replace("_", "").replace("-", "").replace(".", "").isalnum()
        or not run_id[0].isalpha()
        or len(run_id) > 100
    ):
        raise ConfigError(
            f'"{run_id}" is no run id: letters, digits, `_`, `-` and `.`, a letter first, at most 100', ("run_id",)
        )
    output = request.output or resolved(loaded.suite.output.path, loaded.folder)
    root = output if storage.is_remote(output) else str(Path(storage.local_path(output)).absolute())
    earlier: list[str] = []
    if request.again:
        run_id, earlier = next_free(root, run_id)
    judges = judge_plan(
        run_id,
        root,
        loaded.graders,
        loaded.suite.routes,
        max_calls=loaded.suite.limits.max_calls,
        max_cost_usd=loaded.suite.limits.max_cost_usd,
        refresh=request.refresh_judges,
        distributed=not shares_disk,
        processes=processes,
        earlier=earlier,
    )
    return RunPlan(
        run_id=run_id,
        output=root,
        suite=loaded.suite,
        suite_hash=loaded.suite_hash,
        normalised_suite=loaded.normalised,
        graders=loaded.graders,
        inputs=tuple(inputs),
        inputs_fingerprint=fingerprint,
        code_version=version,
        versions=library_versions(),
        runner=runner,
        started_at=datetime.now(timezone.utc).isoformat(),
        judges=judges if judges.routes else None,
    )


def next_free(output: str, run_id: str) -> tuple[str, list[str]]:
    """The first of `run_id`, `run_id-2`, `run_id-3`… that is not committed, and those before it, which are."""
    taken: list[str] = []
    free = run_id
    while storage.exists(commit_uri(output, free)):
        taken.append(free)
        free = f"{run_id}-{len(taken) + 1}"
    return free, taken


def places(loaded: LoadedSuite, request: RunRequest) -> list[str]:
    """Everything that a run reads from and writes to: input patterns, and the output folder."""
    patterns = list(request.inputs) or [resolved(path, loaded.folder) for path in loaded.suite.input.paths]
    return [*patterns, request.output or resolved(loaded.suite.output.path, loaded.folder)]


def match_inputs(loaded: LoadedSuite, overriding: Sequence[str] = ()) -> list[InputFile]:
    """The files that a run reads, each once, sorted by URI.

    Raises:
        ConfigError: a pattern matches nothing, or there is no pattern at all.
    """
    patterns = list(overriding) or [resolved(path, loaded.folder) for path in loaded.suite.input.paths]
    if not patterns:
        raise ConfigError("there is no input: name files with `input.paths` or --input", ("input", "paths"))
    found: dict[str, InputFile] = {}
    for number, pattern in enumerate(patterns):
        files = storage.match(pattern)
        if not files:
            where = ("--input",) if overriding else ("input", "paths", number)
            raise ConfigError(f'nothing matches "{pattern}"', where)
        for file in files:
            found[file.uri] = InputFile(uri=file.uri, size=file.size, fingerprint=file.version)
    return [found[uri] for uri in sorted(found)]


def resolved(path: str, folder: Path) -> str:
    """A suite's path: absolute and remote ones as they are, others from the suite's folder."""
    if storage.is_remote(path):
        return path
    return str(folder / storage.local_path(path))


def already_committed(plan: RunPlan) -> Manifest | None:
    """The manifest, if this very run is committed already.

    Raises:
        ConfigError: its id is committed for another suite, other inputs or other code.
    """
    manifest = read_manifest(plan.output, plan.run_id)
    if manifest is None:
        return None
    differing = [
        what
        for what, ours, theirs in (
            ("suite", plan.suite_hash, manifest.suite_hash),
            ("inputs", plan.inputs_fingerprint, manifest.inputs_fingerprint),
            ("code", plan.code_version, manifest.code_version),
        )
        if ours != theirs
    ]
    if differing:
        raise ConfigError(
            f'the run "{plan.run_id}" is committed with other {" and ".join(differing)}: choose another --run-id',
            ("run_id",),
        )
    return manifest


def _digest(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:16]
