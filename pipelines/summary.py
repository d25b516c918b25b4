"""The summary of a committed run: pass rates that say how many rows they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable

from schemas.manifest import GraderCounts, Manifest
from schemas.suite import Allowance

_Z = 1.959964


def wilson_interval(passed: int, n: int) -> tuple[float, float] | None:
    """The 95 % Wilson score interval of a rate; None without rows (Wilson 1927)."""
    if n == 0:
        return None
    rate = passed / n
    centre = rate + _Z * _Z / (2 * n)
    half = _Z * math.sqrt(rate * (1 - rate) / n + _Z * _Z / (4 * n * n))
    scale = 1 + _Z * _Z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def coverage(counts: GraderCounts) -> float | None:
    """Graded of gradable: outcomes that are no error, of those that are not skipped. None where there are none."""
    graded = sum(counts.counts.get(status, 0) for status in ("pass", "fail", "scored"))
    gradable = graded + counts.counts.get("error", 0)
    return graded / gradable if gradable else None


def summary_rows(manifest: Manifest) -> tuple[list[str], list[list[str]]]:
    """Header and one row a grader."""
    header = ["grader", "pass rate", "95 % interval", "n", "fail", "scored", "error", "skipped", "coverage", "µs each"]
    rows = []
    for name, grader in manifest.graders.items():
        count = grader.counts
        passed, failed = count.get("pass", 0), count.get("fail", 0)
        interval = wilson_interval(passed, passed + failed)
        covered = coverage(grader)
        graded = sum(count.values())
        rows.append(
            [
                name,
                f"{passed / (passed + failed):.1%}" if passed + failed else "–",
                f"{interval[0]:.1%} – {interval[1]:.1%}" if interval else "–",
                f"{passed + failed:,}",
                f"{failed:,}",
                f"{count.get('scored', 0):,}",
                f"{count.get('error', 0):,}",
                f"{count.get('skipped', 0):,}",
                f"{covered:.1%}" if covered is not None else "–",
                f"{grader.duration_us / graded:.2f}" if graded else "–",
            ]
        )
    return header, rows


def over_allowance(manifest: Manifest, allow: Allowance) -> list[str]:
    """What exceeds the suite's allowance, in words; empty where nothing does."""
    found = []
    if manifest.records and manifest.rejects / manifest.records > allow.rejects:
        found.append(
            f"{manifest.rejects:,} of {manifest.records:,} records were rejected, more than allow.rejects = {allow.rejects:g}"
        )
    for name, grader in manifest.graders.items():
        errors, total = grader.counts.get("error", 0), sum(grader.counts.values())
        if total and errors / total > allow.errors:
            found.append(f'"{name}" could not grade {errors:,} of {total:,}, more than allow.errors = {allow.errors:g}')
    return found


def facts(manifest: Manifest) -> Iterable[str]:
    """The lines that stand below the table."""
    parts = [
        f"{manifest.trajectories:,} trajectories of {manifest.records:,} records in {len(manifest.inputs):,} files"
    ]
    if manifest.rejects:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in manifest.rejects_by_reason.items())
        parts.append(f"{manifest.rejects:,} rejected ({reasons})")
    if manifest.duplicates:
        parts.append(f"{manifest.duplicates:,} byte-identical duplicates not graded again")
    if manifest.skipped_by_rule:
        rules = ", ".join(f"{rule} {count:,}" for rule, count in manifest.skipped_by_rule.items())
        parts.append(f"records left out by rule: {rules}")
    yield "; ".join(parts)
    for name, grader in manifest.graders.items():
        if grader.not_sampled_or_due:
            yield f"{name}: {grader.not_sampled_or_due:,} trajectories not sampled or not due"
    if manifest.judge_calls:
        yield f"{manifest.judge_calls:,} judge calls, {manifest.cost_usd} USD"
    yield from manifest.notes
