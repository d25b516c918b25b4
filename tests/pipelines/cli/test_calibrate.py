from __future__ import annotations

import json
from pathlib import Path

from tests.pipelines.cli.conftest import Command


def test_prints_the_report(gradebeam: Command, graded: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("trajectory_id,label\nconv-28-0000,pass\nconv-28-0001,fail\n")
    code, out, _ = gradebeam("calibrate", graded, labels, "--run", "support")
    assert code == 0
    assert out.startswith("run support: 2 labels, ")
    report = json.loads(gradebeam("calibrate", graded, labels, "--run", "support", "--json")[1])
    assert (report["labels"], report["judges"]) == (2, [])


def test_labels_and_runs_that_cannot_be_used_are_exit_2(gradebeam: Command, graded: Path, tmp_path: Path) -> None:
    assert gradebeam("calibrate", graded, tmp_path / "none.csv")[0] == 2
    labels = tmp_path / "labels.csv"
    labels.write_text("trajectory_id,label\na,maybe\n")
    assert gradebeam("calibrate", graded, labels)[0] == 2
    labels.write_text("trajectory_id,label\na,pass\n")
    code, _, err = gradebeam("calibrate", graded, labels, "--run", "r_none")
    assert code == 2
    assert "r_none" in err
