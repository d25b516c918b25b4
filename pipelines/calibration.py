"""Judges against human labels: how far they agree, where they err, and what the measured rate means given those errors.

"Pass" is the positive class. Intervals are 95 %: Wilson's for rates; for the corrected prevalence the central interval of
the Rogan-Gladen estimate when both rates and the apparent prevalence are drawn from their Jeffreys posteriors.
"""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graders.errors import ConfigError
from pipelines.sql import Session

_Z = 1.959963984540054
_DRAWS = 20_000
_PASS = frozenset({"pass", "passed", "true", "yes", "1", "good", "ok"})
_FAIL = frozenset({"fail", "failed", "false", "no", "0", "bad"})


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its n and its interval; all None where n is 0."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Confusion:
    """Judge against human: counts by (human, judge)."""

    pass_pass: int = 0
    pass_fail: int = 0
    fail_pass: int = 0
    fail_fail: int = 0

    @property
    def n(self) -> int:
        """All pairs."""
        return self.pass_pass + self.pass_fail + self.fail_pass + self.fail_fail


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The native score from which on passing agrees best with the humans, on these labels themselves."""

    threshold: float
    agreement: float
    present: float | None
    """The threshold in use."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One trajectory's outcome by one judge."""

    status: str
    native_score: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """One judge against the labels."""

    grader: str
    labelled: int
    """Labels for this judge whose trajectory it has a row for."""
    without_verdict: Mapping[str, int]
    """Of those, how many have no pass or fail, by status: they are in none of the rates below."""
    confusion: Confusion
    agreement: Rate
    kappa: float | None
    """Cohen's; None where one side never varies."""
    true_positive_rate: Rate
    true_negative_rate: Rate
    best_threshold: BestThreshold | None
    apparent_pass_rate: Rate
    """Over all rows of the run, labelled or not."""
    corrected_pass_rate: Rate | None
    """None where the judge tells nothing (both rates together are not above 1) or a class has no label."""


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """All judges, and what became of the labels."""

    run_id: str
    labels: int
    unmatched: int
    """Labels whose trajectory or grader the run does not have."""
    ambiguous: int
    """Labels by an id that several trajectories have: use trajectory_uid."""
    contradictory: int
    """Pairs of trajectory and grader with both labels."""
    judges: tuple[Calibration, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)

    def to_text(self) -> str:
        """The report for a terminal."""
        lines = [
            f"run {self.run_id}: {self.labels} labels, {self.unmatched} unmatched, {self.ambiguous} ambiguous, "
            f"{self.contradictory} contradictory"
        ]
        for judge in self.judges:
            lines += ["", *_judge_lines(judge)]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Label:
    """One human label; `grader` None is for every judge."""

    trajectory: str
    by_uid: bool
    grader: str | None
    passed: bool


def calibrate(run_dir: str, labels_csv: str, run_id: str | None = None) -> CalibrationReport:
    """A committed run's judges against human labels.

    Args:
        run_dir: the output folder.
        labels_csv: a CSV file with a header: `trajectory_id` or `trajectory_uid`; `label` (pass/fail, true/false, yes/no,
            1/0); optionally `grader`, whose empty cells mean every judge.
        run_id: which run; None is the one that finished last.

    Raises:
        ConfigError: there is no such run, or the labels can't be read.
    """
    try:
        labels = read_labels(Path(labels_csv).read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the labels can't be read: {type(error).__name__}: {labels_csv}") from error
    session = Session(run_dir)
    runs = [str(row[0]) for row in session.query("SELECT run_id FROM runs ORDER BY finished_at, run_id").rows()]
    if not runs or (run_id is not None and run_id not in runs):
        raise ConfigError(f"there is no committed run {run_id or ''} in {run_dir}".replace("  ", " "))
    chosen = run_id or runs[-1]
    found = session.connection.execute(
        "SELECT s.grader_name, s.trajectory_uid, s.trajectory_id, s.status, s.native_score, g.threshold "
        "FROM scores s JOIN graders g USING (run_id, grader_name) WHERE s.run_id = ? AND g.score_kind = 'llm'",
        [chosen],
    ).fetchall()
    judged: defaultdict[str, dict[str, Judged]] = defaultdict(dict)
    uids: defaultdict[str, set[str]] = defaultdict(set)
    thresholds: dict[str, float | None] = {}
    for grader, uid, trajectory_id, status, native_score, threshold in found:
        judged[grader][uid] = Judged(status, native_score)
        uids[trajectory_id].add(uid)
        thresholds[grader] = threshold
    return report_of(chosen, labels, judged, uids, thresholds)


def report_of(
    run_id: str,
    labels: Sequence[Label],
    judged: Mapping[str, Mapping[str, Judged]],
    uids: Mapping[str, set[str]],
    thresholds: Mapping[str, float | None],
) -> CalibrationReport:
    """The report of a run from its judges' outcomes by grader and uid.

    Args:
        run_id: the run.
        labels: of humans.
        judged: grader → trajectory_uid → outcome.
        uids: trajectory_id → the uids of trajectories that have it.
        thresholds: the native threshold in use, by grader.
    """
    unmatched = ambiguous = 0
    given: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    for label in labels:
        known = {label.trajectory} if label.by_uid else uids.get(label.trajectory, set())
        if len(known) > 1:
            ambiguous += 1
            continue
        graders = judged if label.grader is None else (label.grader,)
        pairs = [(grader, uid) for grader in graders for uid in known if uid in judged.get(grader, {})]
        unmatched += not pairs
        for pair in pairs:
            given[pair].add(label.passed)
    contradictory = sum(len(values) > 1 for values in given.values())
    human = {pair: next(iter(values)) for pair, values in given.items() if len(values) == 1}
    judges = tuple(
        calibration_of(
            grader,
            {uid: passed for (name, uid), passed in human.items() if name == grader},
            judged[grader],
            thresholds.get(grader),
        )
        for grader in sorted(judged)
    )
    return CalibrationReport(run_id, len(labels), unmatched, ambiguous, contradictory, judges)


def calibration_of(
    grader: str, human: Mapping[str, bool], judged: Mapping[str, Judged], threshold: float | None
) -> Calibration:
    """One judge: human labels and its outcomes by trajectory_uid (outcomes of unlabelled trajectories included)."""
    verdicts = {uid: one.status == "pass" for uid, one in judged.items() if one.status in ("pass", "fail")}
    pairs = Counter((human[uid], verdicts[uid]) for uid in human if uid in verdicts)
    confusion = Confusion(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False])
    scored = [(one.native_score, human[uid]) for uid, one in judged.items() if uid in human]
    known = [(score, passed) for score, passed in scored if score is not None]
    return Calibration(
        grader=grader,
        labelled=len(human),
        without_verdict=dict(Counter(judged[uid].status for uid in human if uid not in verdicts)),
        confusion=confusion,
        agreement=rate(confusion.pass_pass + confusion.fail_fail, confusion.n),
        kappa=cohens_kappa(confusion),
        true_positive_rate=rate(confusion.pass_pass, confusion.pass_pass + confusion.pass_fail),
        true_negative_rate=rate(confusion.fail_fail, confusion.fail_pass + confusion.fail_fail),
        best_threshold=best_threshold(known, threshold),
        apparent_pass_rate=rate(sum(verdicts.values()), len(verdicts)),
        corrected_pass_rate=corrected_rate(sum(verdicts.values()), len(verdicts), confusion),
    )


def rate(hits: int, n: int) -> Rate:
    """A share with Wilson's 95 % interval (Wilson 1927)."""
    if n == 0:
        return Rate(None, None, None, 0)
    share = hits / n
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    centre = share + _Z**2 / (2 * n)
    scale = 1 + _Z**2 / n
    return Rate(share, max((centre - spread) / scale, 0.0), min((centre + spread) / scale, 1.0), n)


def cohens_kappa(confusion: Confusion) -> float | None:
    """Agreement beyond chance (Cohen 1960); None where chance alone would give full agreement, or there is no pair."""
    n = confusion.n
    if n == 0:
        return None
    observed = (confusion.pass_pass + confusion.fail_fail) / n
    human = (confusion.pass_pass + confusion.pass_fail) / n
    judge = (confusion.pass_pass + confusion.fail_pass) / n
    chance = human * judge + (1 - human) * (1 - judge)
    return None if chance == 1 else (observed - chance) / (1 - chance)


def best_threshold(scored: Iterable[tuple[float, bool]], present: float | None) -> BestThreshold | None:
    """The score among those given from which on passing agrees most often; of equals the nearest to the present one."""
    by_score = sorted(scored)
    if not by_score:
        return None
    right = sum(passed for _, passed in by_score)  # at the lowest threshold everything passes
    best: tuple[float, float, float] | None = None
    index = 0
    while index < len(by_score):
        threshold = by_score[index][0]
        distance = 0.0 if present is None else abs(threshold - present)
        candidate = (-right, distance, threshold)
        best = candidate if best is None or candidate < best else best
        while index < len(by_score) and by_score[index][0] == threshold:
            right += -1 if by_score[index][1] else 1
            index += 1
    assert best is not None
    return BestThreshold(best[2], -best[0] / len(by_score), present)


def corrected_rate(passes: int, n: int, confusion: Confusion) -> Rate | None:
    """The share of trajectories that humans would pass (Rogan and Gladen 1978), from the judge's share and its errors."""
    positives = confusion.pass_pass + confusion.pass_fail
    negatives = confusion.fail_pass + confusion.fail_fail
    if n == 0 or positives == 0 or negatives == 0:
        return None
    sensitivity, specificity = confusion.pass_pass / positives, confusion.fail_fail / negatives
    if sensitivity + specificity <= 1:
        return None
    value = min(max((passes / n + specificity - 1) / (sensitivity + specificity - 1), 0.0), 1.0)
    draw = np.random.default_rng(0)
    drawn_p = draw.beta(passes + 0.5, n - passes + 0.5, _DRAWS)
    drawn_se = draw.beta(confusion.pass_pass + 0.5, confusion.pass_fail + 0.5, _DRAWS)
    drawn_sp = draw.beta(confusion.fail_fail + 0.5, confusion.fail_pass + 0.5, _DRAWS)
    telling = drawn_se + drawn_sp > 1
    estimates = (drawn_p[telling] + drawn_sp[telling] - 1) / (drawn_se[telling] + drawn_sp[telling] - 1)
    low, high = np.quantile(np.clip(estimates, 0, 1), (0.025, 0.975))
    return Rate(value, min(float(low), value), max(float(high), value), n)


def read_labels(text: str) -> list[Label]:
    """Labels from CSV text.

    Raises:
        ConfigError: a column is missing or a label is neither pass nor fail; with the line's number.
    """
    reader = csv.DictReader(text.splitlines())
    columns = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = columns
    by_uid = "trajectory_uid" in columns
    key = "trajectory_uid" if by_uid else "trajectory_id"
    if key not in columns or "label" not in columns:
        raise ConfigError("the labels need the columns trajectory_id (or trajectory_uid) and label")
    grader_column = next((name for name in ("grader", "grader_name") if name in columns), None)
    labels = []
    for row in reader:
        word = (row["label"] or "").strip().lower()
        if word not in _PASS and word not in _FAIL:
            raise ConfigError(f'line {reader.line_num} of the labels: "{word[:40]}" is neither pass nor fail')
        grader = (row[grader_column] or "").strip() if grader_column else ""
        labels.append(Label((row[key] or "").strip(), by_uid, grader or None, word in _PASS))
    return labels


def _judge_lines(judge: Calibration) -> list[str]:
    table = judge.confusion
    left_out = ", ".join(f"{count} {status}" for status, count in sorted(judge.without_verdict.items()))
    lines = [
        f"{judge.grader}: {judge.labelled} labelled, {table.n} with a verdict" + (f" ({left_out})" if left_out else ""),
        "                 judge pass  judge fail",
        f"  human pass     {table.pass_pass:>10}  {table.pass_fail:>10}",
        f"  human fail     {table.fail_pass:>10}  {table.fail_fail:>10}",
        f"  agreement           {_shown(judge.agreement)}",
        f"  Cohen's kappa       {'undefined' if judge.kappa is None else f'{judge.kappa:.3f}'}",
        f"  true positive rate  {_shown(judge.true_positive_rate)}",
        f"  true negative rate  {_shown(judge.true_negative_rate)}",
    ]
    if judge.best_threshold is not None:
        best = judge.best_threshold
        present = "" if best.present is None else f", now {best.present:g}"
        lines.append(
            f"  best threshold      {best.threshold:g} (agreement {best.agreement:.3f} on these labels{present})"
        )
    corrected = judge.corrected_pass_rate
    unknown = "unknown: the labels do not show that the judge can tell"
    lines.append(f"  pass rate, judged   {_shown(judge.apparent_pass_rate)}")
    lines.append(f"  pass rate, corrected {unknown if corrected is None else _shown(corrected)}")
    return lines


def _shown(rate: Rate) -> str:
    if rate.value is None:
        return "unknown (n = 0)"
    return f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}] (n = {rate.n})"
