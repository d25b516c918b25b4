"""Calibration against values worked out by hand, and end to end over a committed folder."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.errors import ConfigError
from pipelines.calibration import (
    Confusion,
    Judged,
    Label,
    best_threshold,
    calibrate,
    calibration_of,
    cohens_kappa,
    corrected_rate,
    rate,
    read_labels,
    report_of,
)
from schemas.manifest import Manifest, TableFile
from schemas.tables import TABLES


def test_cohens_kappa_is_the_textbooks() -> None:
    assert cohens_kappa(Confusion(20, 5, 10, 15)) == pytest.approx(0.4)
    assert cohens_kappa(Confusion(5, 0, 0, 5)) == 1.0
    assert cohens_kappa(Confusion(5, 0, 0, 0)) is None
    assert cohens_kappa(Confusion()) is None


def test_wilsons_interval() -> None:
    nine = rate(9, 10)
    assert nine.value == 0.9
    assert nine.low == pytest.approx(0.5958, abs=1e-4)
    assert nine.high == pytest.approx(0.9821, abs=1e-4)
    assert rate(0, 10).low == 0.0
    assert rate(0, 0).value is None


def test_the_best_threshold_and_its_ties() -> None:
    scored = [(1.0, False), (2.0, False), (3.0, True), (4.0, True), (5.0, False)]
    best = best_threshold(scored, present=4.0)
    assert best is not None
    assert (best.threshold, best.agreement, best.present) == (3.0, 0.8, 4.0)
    lenient = best_threshold([(0.0, True), (1.0, True)], None)
    assert lenient is not None
    assert lenient.threshold == 0.0
    assert best_threshold([], 1.0) is None


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=30))
def test_no_threshold_agrees_better_than_the_best(scored: list[tuple[int, bool]]) -> None:
    best = best_threshold([(float(score), passed) for score, passed in scored], None)
    assert best is not None

    def agreement(threshold: float) -> float:
        return sum((score >= threshold) == passed for score, passed in scored) / len(scored)

    assert best.agreement == pytest.approx(agreement(best.threshold))
    assert best.agreement == pytest.approx(max(agreement(score) for score, _ in scored))


def test_the_prevalence_is_corrected_for_the_judges_errors() -> None:
    corrected = corrected_rate(300, 1_000, Confusion(90, 10, 20, 80))
    assert corrected is not None
    assert corrected.value == pytest.approx((0.3 + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert corrected.low is not None
    assert corrected.high is not None
    assert corrected.value is not None
    assert 0.0 <= corrected.low < 0.1 < corrected.value < 0.2 < corrected.high < 0.3
    assert corrected == corrected_rate(300, 1_000, Confusion(90, 10, 20, 80))
    perfect = corrected_rate(300, 1_000, Confusion(1_000, 0, 0, 1_000))
    assert perfect is not None
    assert perfect.value == pytest.approx(0.3)


def test_a_judge_that_tells_nothing_corrects_nothing() -> None:
    assert corrected_rate(300, 1_000, Confusion(50, 50, 60, 40)) is None
    assert corrected_rate(300, 1_000, Confusion(50, 50, 0, 0)) is None


def test_rows_without_a_verdict_are_named_not_counted() -> None:
    judged = {"a": Judged("pass", 2), "b": Judged("error"), "c": Judged("skipped"), "d": Judged("fail", 0)}
    found = calibration_of("tone", {"a": True, "b": True, "c": False}, judged, 1.0)
    assert found.confusion == Confusion(1, 0, 0, 0)
    assert found.without_verdict == {"error": 1, "skipped": 1}
    assert (found.labelled, found.agreement.n, found.apparent_pass_rate.n) == (3, 1, 2)


def test_labels_are_matched_or_told() -> None:
    judged = {
        "tone": {"u1": Judged("pass"), "u2": Judged("fail"), "u3": Judged("pass")},
        "other": {"u1": Judged("fail")},
    }
    uids = {"t1": {"u1"}, "t2": {"u2", "u3"}}
    labels = [
        Label("t1", False, None, True),
        Label("t2", False, None, True),
        Label("t9", False, None, True),
        Label("u2", True, "tone", True),
        Label("u2", True, "tone", False),
        Label("u3", True, "nobody", True),
    ]
    report = report_of("r", labels, judged, uids, {})
    assert (report.labels, report.unmatched, report.ambiguous, report.contradictory) == (6, 2, 1, 1)
    assert [(judge.grader, judge.labelled, judge.confusion) for judge in report.judges] == [
        ("other", 1, Confusion(0, 1, 0, 0)),
        ("tone", 1, Confusion(1, 0, 0, 0)),
    ]


def test_labels_are_read_strictly() -> None:
    text = "trajectory_id,grader,label\nt1,tone,PASS\nt2,,no\n"
    assert read_labels(text) == [Label("t1", False, "tone", True), Label("t2", False, None, False)]
    assert read_labels("label,trajectory_uid\n1,u\n") == [Label("u", True, None, True)]
    with pytest.raises(ConfigError, match=r"line 3 .* neither pass nor fail"):
        read_labels("trajectory_id,label\nt1,pass\nt2,maybe\n")
    with pytest.raises(ConfigError, match="columns"):
        read_labels("id,label\n")


def _committed(folder: Path) -> None:
    scores: list[dict[str, object]] = [
        {"grader_name": "tone", "trajectory_uid": f"u{n}", "trajectory_id": f"t{n}", "native_score": float(n % 3),
         "status": "pass" if n % 3 else "fail", "run_id": "r_1"}
        for n in range(30)
    ]  # fmt: skip
    rows: dict[str, list[dict[str, object]]] = {
        "scores": scores,
        "graders": [{"run_id": "r_1", "grader_name": "tone", "score_kind": "llm", "threshold": 1.0}],
        "runs": [{"run_id": "r_1", "finished_at": datetime(2026, 11, 30, tzinfo=timezone.utc)}],
    }
    tables = {}
    for name, schema in TABLES.items():
        path = folder / name / "run=r_1" / "part.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows.get(name, []), schema), path)
        data = path.read_bytes()
        count = len(rows.get(name, []))
        relative = str(path.relative_to(folder))
        tables[name] = [TableFile(path=relative, rows=count, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())]
    manifest = Manifest(
        run_id="r_1", suite_name="s", suite_hash="h", suite={}, code_version="c", versions={}, runner="FnApiRunner",
        started_at="2026-11-30T00:00:00+00:00", finished_at="2026-11-30T00:00:01+00:00", wall_seconds=1.0, inputs=[],
        inputs_fingerprint="f", tables=tables, records=30, trajectories=30, duplicates=0, rejects=0,
        rejects_by_reason={}, skipped_by_rule={}, formats={}, graders={},
    )  # fmt: skip
    commits = folder / "_commits"
    commits.mkdir()
    (commits / "r_1.json").write_text(manifest.model_dump_json())


def test_a_committed_run_is_compared_with_a_file_of_labels(tmp_path: Path) -> None:
    _committed(tmp_path)
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "trajectory_id,label\n" + "".join(f"t{n},{'pass' if n % 3 == 2 else 'fail'}\n" for n in range(12))
    )
    report = calibrate(str(tmp_path), str(labels))
    (tone,) = report.judges
    assert tone.confusion == Confusion(4, 0, 4, 4)
    assert tone.best_threshold is not None
    assert (tone.best_threshold.threshold, tone.best_threshold.agreement, tone.best_threshold.present) == (
        2.0,
        1.0,
        1.0,
    )
    assert tone.apparent_pass_rate.value == pytest.approx(2 / 3)
    assert tone.corrected_pass_rate is not None
    assert tone.corrected_pass_rate.value == pytest.approx((2 / 3 + 0.5 - 1) / 0.5)
    text = report.to_text()
    assert "agreement           0.667 [0.391, 0.862] (n = 12)" in text
    assert "best threshold      2 (agreement 1.000 on these labels, now 1)" in text
    assert json.loads(json.dumps(report.to_json()))["judges"][0]["kappa"] == pytest.approx(0.4)
    with pytest.raises(ConfigError, match="no committed run r_2"):
        calibrate(str(tmp_path), str(labels), "r_2")
