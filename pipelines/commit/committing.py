"""The commit: the small tables of the run, then its manifest, written last and only if there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa

from graders.grade_batch import STATUSES
from graders.judges.limits import Totals
from pipelines import storage
from pipelines.commit.publishing import PublishedFile, total_removed
from pipelines.plan import RunPlan, commit_uri
from pipelines.writing.parquet import parquet_bytes
from pipelines.writing.parts import BlockResult
from schemas.manifest import GraderCounts, Manifest, TableFile
from schemas.score import SCHEMA_VERSION
from schemas.tables import GRADERS, RUNS, TABLES


def commit(plan: RunPlan, results: Sequence[BlockResult], published: Sequence[PublishedFile]) -> Manifest:
    """Commit a run; of several that try, one wins, and all get the winner's manifest.

    Raises:
        ValueError: the published files do not hold the rows that were graded (nothing is committed then).
    """
    manifest = build_manifest(plan, results, published)
    _check_rows(manifest, results)
    if not storage.create_if_absent(
        plan.commit_uri, orjson.dumps(manifest.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE)
    ):
        winner = read_manifest(plan.output, plan.run_id)
        assert winner is not None
        clean_up(plan, winner)
        return winner
    clean_up(plan, manifest)
    return manifest


def clean_up(plan: RunPlan, manifest: Manifest) -> None:
    """After the commit: delete the run's staging, and files of its table folders that the manifest does not list.

    Those are of another execution that lost the commit, or was stopped while it published.
    """
    listed = {storage.join(plan.output, *file.path.split("/")) for files in manifest.tables.values() for file in files}
    for table in TABLES:
        found = storage.list_folder(plan.table_folder(table))
        storage.delete([file.uri for file in found if file.uri not in listed])
    storage.delete_folder(plan.staging)


def read_manifest(output: str, run_id: str) -> Manifest | None:
    """The manifest of a committed run, None where there is none."""
    uri = commit_uri(output, run_id)
    return Manifest.model_validate_json(storage.read_bytes(uri)) if storage.exists(uri) else None


def committed_runs(output: str) -> list[Manifest]:
    """All committed runs of a folder, oldest first."""
    files = storage.list_folder(storage.join(output, "_commits"))
    manifests = [
        Manifest.model_validate_json(storage.read_bytes(file.uri)) for file in files if file.uri.endswith(".json")
    ]
    return sorted(manifests, key=lambda manifest: (manifest.finished_at, manifest.run_id))


def build_manifest(plan: RunPlan, results: Sequence[BlockResult], published: Sequence[PublishedFile]) -> Manifest:
    """The manifest of what was published; writes the tables `graders` and `runs`, which it lists."""
    duplicates = sum(file.duplicates for file in published)
    trajectories = sum(result.trajectories for result in results) - duplicates
    statuses = _grader_statuses(plan, results, total_removed(published))
    finished = datetime.now(timezone.utc)
    started = datetime.fromisoformat(plan.started_at)
    tables: dict[str, list[TableFile]] = {name: [] for name in TABLES}
    for file in sorted(published, key=lambda each: each.file.path):
        tables[file.table].append(file.file)
    for name in ("scores", "trajectories", "rejects"):
        if not tables[name]:
            tables[name].append(_write_table(plan, name, TABLES[name].empty_table()))
    counts = {
        grader.name: GraderCounts(
            counts=statuses[grader.name],
            not_sampled_or_due=trajectories - sum(statuses[grader.name].values()),
            duration_us=sum(result.grader_us.get(grader.name, 0) for result in results),
        )
        for grader in plan.graders
    }
    totals = {status.value: sum(each.get(status.value, 0) for each in statuses.values()) for status in STATUSES}
    paid = _paid(plan)
    manifest = Manifest(
        run_id=plan.run_id,
        suite_name=plan.suite.name,
        suite_hash=plan.suite_hash,
        suite=plan.normalised_suite,
        code_version=plan.code_version,
        versions=plan.versions,
        runner=plan.runner,
        started_at=plan.started_at,
        finished_at=finished.isoformat(),
        wall_seconds=round((finished - started).total_seconds(), 3),
        inputs=list(plan.inputs),
        inputs_fingerprint=plan.inputs_fingerprint,
        tables=tables,
        records=sum(result.records for result in results),
        trajectories=trajectories,
        duplicates=duplicates,
        rejects=sum(sum(result.rejects.values()) for result in results),
        rejects_by_reason=_summed(result.rejects for result in results),
        skipped_by_rule=_summed(result.skipped for result in results),
        formats=_summed(result.formats for result in results),
        graders=counts,
        judge_calls=max(sum(result.judge_calls for result in results), paid.calls if paid else 0),
        cost_usd=max(
            Decimal(sum(result.cost_nano_usd for result in results)).scaleb(-9), paid.cost_usd if paid else Decimal(0)
        ),
    )
    small = {"graders": _graders_table(plan, counts), "runs": _runs_table(plan, manifest, totals, finished)}
    written = {name: [_write_table(plan, name, table)] for name, table in small.items()}
    return manifest.model_copy(update={"tables": {**tables, **written}})


def _grader_statuses(
    plan: RunPlan, results: Sequence[BlockResult], removed: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    statuses: dict[str, dict[str, int]] = {}
    for grader in plan.graders:
        counts = _summed(result.statuses.get(grader.name, {}) for result in results)
        for status, count in removed.get(grader.name, {}).items():
            counts[status] -= count
        statuses[grader.name] = {status: count for status, count in counts.items() if count}
    return statuses


def _check_rows(manifest: Manifest, results: Sequence[BlockResult]) -> None:
    graded = sum(sum(counts.counts.values()) for counts in manifest.graders.values())
    expected = {
        "scores": graded,
        "trajectories": manifest.trajectories + manifest.duplicates + manifest.rejects,
        "rejects": manifest.rejects,
    }
    for table, rows in expected.items():
        found = sum(file.rows for file in manifest.tables[table])
        if found != rows:
            raise ValueError(f"the files of `{table}` hold {found} rows, {rows} were graded: the run is not committed")


def _graders_table(plan: RunPlan, counts: Mapping[str, GraderCounts]) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for grader in plan.graders:
        taxonomy = grader.grader.taxonomy
        rows.append(
            {
                "schema_version": SCHEMA_VERSION,
                "run_id": plan.run_id,
                "grader_name": grader.name,
                "grader_type": grader.type,
                "grader_hash": grader.grader_hash,
                "profile": grader.profile,
                "determinism": taxonomy.determinism,
                "cost": taxonomy.cost,
                "reference": taxonomy.reference,
                "temporal_scope": taxonomy.temporal_scope,
                "score_kind": taxonomy.score_kind,
                "native_min": taxonomy.native_min,
                "native_max": taxonomy.native_max,
                "threshold": grader.grader.threshold,
                "higher_is_better": taxonomy.higher_is_better,
                "weight": grader.common.weight,
                "required": grader.common.required,
                "config_json": orjson.dumps(dict(grader.config), option=orjson.OPT_SORT_KEYS).decode(),
                "duration_us": counts[grader.name].duration_us,
            }
        )
    return pa.Table.from_pylist(rows, schema=GRADERS)


def _runs_table(plan: RunPlan, manifest: Manifest, totals: Mapping[str, int], finished: datetime) -> pa.Table:
    row = {
        "schema_version": SCHEMA_VERSION,
        "run_id": plan.run_id,
        "suite_name": plan.suite.name,
        "suite_hash": plan.suite_hash,
        "code_version": plan.code_version,
        "runner": plan.runner,
        "started_at": datetime.fromisoformat(plan.started_at),
        "finished_at": finished,
        "inputs": len(plan.inputs),
        "records": manifest.records,
        "trajectories": manifest.trajectories,
        "rejects": manifest.rejects,
        "scores": sum(totals.values()),
        **totals,
        "judge_calls": manifest.judge_calls,
        "cost_usd": manifest.cost_usd,
    }
    return pa.Table.from_pylist([row], schema=RUNS)


def _write_table(plan: RunPlan, name: str, table: pa.Table) -> TableFile:
    """Write a small table under a name that follows from its content, so that two attempts never overwrite each other's."""
    data = parquet_bytes(table)
    digest = hashlib.sha256(data).hexdigest()
    file_name = f"{name}-{digest[:20]}.parquet"
    storage.write_bytes(storage.join(plan.table_folder(name), file_name), data)
    return TableFile(path=f"{name}/run={plan.run_id}/{file_name}", rows=len(table), bytes=len(data), sha256=digest)


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items()))


def _paid(plan: RunPlan) -> Totals | None:
    """What the run's judges have cost, in killed executions of it too; None where no ledger tells."""
    if plan.judges is None:
        return None
    from pipelines.judging.process import spent  # with an HTTP client, which a run without judges need not load

    return spent(plan.judges)
