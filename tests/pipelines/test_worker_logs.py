"""What worker processes log is seen where it matters: nothing where all went well."""

from __future__ import annotations

from pathlib import Path

from pipelines.runners import choose_runner
from tests.pipelines.runs import chats, run_process, write_lines, write_suite


def test_worker_processes_are_silent_where_all_goes_well(tmp_path: Path) -> None:
    write_lines(tmp_path / "log.jsonl", chats(10))
    suite = write_suite(tmp_path, ["log.jsonl"], [{"type": "length", "max": 5, "unit": "words"}])
    done = run_process(
        suite, tmp_path / "out", "--", "--direct_running_mode=multi_processing", "--direct_num_workers=2"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_another_log_level_can_be_asked_for() -> None:
    levels = [
        choose_runner(words).options.get_all_options()["default_sdk_harness_log_level"]
        for words in ([], ["--default_sdk_harness_log_level=INFO"])
    ]
    assert levels == ["WARNING", "INFO"]
