"""What patterns, texts and kills cannot do to a run: other graders' verdicts are all there, and no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graders.matching import worker
from pipelines.cli.exit_codes import INTERRUPTED
from pipelines.commit.committing import committed_runs
from pipelines.forked_calls import can_fork
from tests.pipelines.runs import chat, command, run_suite, statuses, table, write_lines, write_suite

_BOMB = "a" * 5000 + "!"
_EXPLODING = "(?=.)(a|aa)+$"
_QUICK = {"cpu_ms": 20}
_TREE = {
    "$ref": "#/definitions/node",
    "definitions": {
        "node": {
            "type": "object",
            "properties": {"name": {"pattern": "^(?:a|aa)+(?:b|$(?<!a))"}, "next": {"$ref": "#/definitions/node"}},
        }
    },
}
_HEALTHY: list[dict[str, Any]] = [
    {"name": "linear", "type": "regex", "pattern": "a!"},
    {"name": "backtracking", "type": "regex", "pattern": "a(?=!)", "dialect": "ecma"},
    {"name": "transcript", "type": "transcript-not-matches", "pattern": "(?i)sorry"},
    {"name": "length", "type": "length", "min": 1},
]
_HOSTILE: list[dict[str, Any]] = [
    {"name": "explodes", "type": "regex", "pattern": _EXPLODING, "limits": _QUICK},
    {"name": "explodes-negated", "type": "output-not-matches", "pattern": _EXPLODING, "limits": _QUICK},
    {"name": "explodes-in-any", "type": "transcript-matches", "pattern": _EXPLODING, "limits": _QUICK},
    {"name": "explodes-in-first", "type": "transcript-matches", "pattern": _EXPLODING, "turn": 0, "limits": _QUICK},
    {"name": "explodes-out-of-range", "type": "transcript-matches", "pattern": _EXPLODING, "turn": 7, "limits": _QUICK},
    {"name": "spent", "type": "regex", "pattern": _EXPLODING, "limits": {"cpu_ms": 20, "timeouts_per_batch": 2}},
    {"name": "too-long", "type": "regex", "pattern": "b" * 5000},
    {"name": "eats-memory", "type": "regex", "pattern": "(?=a)(?:(a)|(b)|(!))*$(?<=c)", "limits": _QUICK},
    {
        "name": "compile-bomb",
        "type": "regex",
        "pattern": "(?=a)(?:(?:(?:a{1,1000}){1,1000}){1,1000}){1,1000}b",
        "limits": _QUICK,
    },
    {"name": "schema", "type": "json-schema", "schema": _TREE, "limits": _QUICK},
]
_LIMITS_OF_BOMBS = {
    "explodes": {"timeout"},
    "explodes-negated": {"timeout"},
    "explodes-in-any": {"timeout"},
    "explodes-in-first": {"timeout"},
    "spent": {"timeout", "grader_budget"},
    "too-long": {"pattern_size"},
    "eats-memory": {"timeout", "memory"},
    "compile-bomb": {"timeout", "memory"},
}
_COUNT = 4


@pytest.fixture(scope="module")
def bombed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed run in which several graders explode on every record."""
    folder = tmp_path_factory.mktemp("bombed")
    write_lines(folder / "a.jsonl", [chat(number, _BOMB) for number in range(_COUNT)])
    suite = write_suite(folder, ["a.jsonl"], [*_HOSTILE, *_HEALTHY])
    assert run_suite(suite, folder / "out") == 0
    return folder / "out"


def test_healthy_graders_have_every_verdict_beside_exploding_ones(bombed: Path) -> None:
    found = statuses(bombed)
    assert len(found) == _COUNT * (len(_HOSTILE) + len(_HEALTHY))
    for grader in _HEALTHY:
        assert [found[f"t-{number}", grader["name"]] for number in range(_COUNT)] == ["pass"] * _COUNT


@pytest.mark.parametrize("name", _LIMITS_OF_BOMBS)
def test_an_exploding_grader_is_an_error_with_its_limit_on_every_record(bombed: Path, name: str) -> None:
    scores = [row for row in table(bombed, "scores").to_pylist() if row["grader_name"] == name]
    assert len(scores) == _COUNT
    assert {row["status"] for row in scores} == {"error"}
    assert {row["passed"] for row in scores} == {row["score"] for row in scores} == {None}
    assert {row["error_type"] for row in scores} == {"regex_resource_limit"}
    assert {json.loads(row["details_json"])["limit"] for row in scores} <= _LIMITS_OF_BOMBS[name]
    assert all("aaaa" not in (row["error_message"] or "") for row in scores)


def test_the_budget_of_a_grader_is_spent_once_in_a_batch(bombed: Path) -> None:
    scores = [row for row in table(bombed, "scores").to_pylist() if row["grader_name"] == "spent"]
    limits = Counter(json.loads(row["details_json"])["limit"] for row in scores)
    assert limits == {"timeout": 2, "grader_budget": _COUNT - 2}


def test_a_turn_that_is_not_there_is_its_own_error(bombed: Path) -> None:
    scores = [row for row in table(bombed, "scores").to_pylist() if row["grader_name"] == "explodes-out-of-range"]
    assert {row["error_type"] for row in scores} == {"turn_out_of_range"}


def test_single_hostile_texts_cost_their_own_verdict_and_no_other(tmp_path: Path) -> None:
    deep = '{"next":' * 60 + '{"name":"' + "a" * 5000 + '"}' + "}" * 60
    answers = {
        "plain": "a!",
        "bomb": _BOMB,
        "long": "a!" * 524_288,
        "over": "a!" * 524_289,
        "schema-bomb": deep,
        "schema-good": '{"next":{"name":"aab"}}',
        "schema-bad": '{"next":{"name":"b"}}',
        "last": "a!",
    }
    records = [{**chat(0, answer), "id": name} for name, answer in answers.items()]
    silent = [{"id": "silent", "messages": [{"role": "user", "content": "hello?"}]}]
    write_lines(tmp_path / "a.jsonl", [*records, *silent])
    graders = [_HOSTILE[0], _HOSTILE[1], _HOSTILE[2], _HOSTILE[-1], *_HEALTHY]
    assert run_suite(write_suite(tmp_path, ["a.jsonl"], graders), tmp_path / "out") == 0
    found = statuses(tmp_path / "out")
    by_grader = {
        grader["name"]: {one: found[one, grader["name"]] for one in [*answers, "silent"]} for grader in graders
    }
    assert by_grader["linear"]["over"] == by_grader["backtracking"]["over"] == "error"
    for one in ("plain", "bomb", "long", "last"):
        assert by_grader["linear"][one] == by_grader["backtracking"][one] == "pass"
    assert by_grader["explodes"]["bomb"] == by_grader["explodes-negated"]["bomb"] == "error"
    assert by_grader["explodes"]["plain"] == by_grader["explodes"]["last"] == "fail"
    assert by_grader["explodes-negated"]["plain"] == by_grader["explodes-negated"]["last"] == "pass"
    assert [by_grader["schema"][f"schema-{kind}"] for kind in ("bomb", "good", "bad")] == ["error", "pass", "fail"]
    assert by_grader["schema"]["plain"] == "fail"
    for name in ("linear", "backtracking", "explodes", "explodes-negated", "schema", "length"):
        assert by_grader[name]["silent"] == "error"
    assert by_grader["transcript"]["silent"] == by_grader["explodes-in-any"]["silent"] == "fail"
    kinds = {
        (row["trajectory_id"], row["grader_name"]): (row["error_type"], row["details_json"])
        for row in table(tmp_path / "out", "scores").to_pylist()
        if row["status"] == "error"
    }
    assert kinds["over", "linear"] == kinds["over", "backtracking"]
    assert kinds["over", "linear"][0] == "regex_resource_limit"
    assert json.loads(kinds["over", "linear"][1]) == {"limit": "subject_size"}
    assert kinds["silent", "explodes"][0] == "missing_output"


def _parent_and_session_of(pid: int) -> tuple[int, int] | None:
    try:
        _, parent, _, session = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:4]
    except (OSError, ValueError):
        return None
    return int(parent), int(session)


def _living(session: int) -> dict[int, str]:
    """The processes of a session that are no zombies, with their command lines."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (_parent_and_session_of(int(folder.name)) or (0, 0))[1] == session:
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if line:
                found[int(folder.name)] = line.replace(b"\0", b" ").decode("utf-8", "replace")
    return found


def _workers(session: int) -> list[int]:
    return [pid for pid, line in _living(session).items() if str(Path(worker.__file__)) in line]


def _all_gone_within(session: int, seconds: float) -> dict[int, str]:
    """What of a session is still there after at most `seconds`."""
    deadline = time.monotonic() + seconds
    while (left := _living(session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.fixture
def busy_suite(tmp_path: Path) -> Path:
    """A suite whose backtracking patterns are busy for a few seconds."""
    for first in range(0, 20, 5):
        records = [chat(number, f"{_BOMB} {number}") for number in range(first, first + 5)]
        write_lines(tmp_path / f"from-{first}.jsonl", records)
    graders = [{**_HOSTILE[0], "limits": {}}, *_HEALTHY]
    return write_suite(tmp_path, ["*.jsonl"], graders)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Runs that the test starts, each in a session of its own; ended with it."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


#: The local runner's own way to have several workers, and Beam's.
_MODES = {
    "forks": [],
    "threads": ["--direct_running_mode=multi_threading"],
    "processes": ["--direct_running_mode=multi_processing"],
}


def _start(suite: Path, mode: str) -> subprocess.Popen[bytes]:
    line = command(suite, suite.parent / "out", "--", "--direct_num_workers=2", *_MODES[mode])
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def _forks(process: subprocess.Popen[bytes]) -> list[int]:
    """Copies of a run's process."""
    living = _living(process.pid)
    return [pid for pid, line in living.items() if pid != process.pid and line == living.get(process.pid)]


def _wait_until_busy(process: subprocess.Popen[bytes], mode: str) -> None:
    """Until texts are matched; before, one worker tries the patterns for the process that is started."""
    deadline = time.monotonic() + 60
    while True:
        forks = _forks(process)
        parents = [(_parent_and_session_of(pid) or (0, 0))[0] for pid in _workers(process.pid)]
        if set(parents) & set(forks) if mode == "forks" else len(parents) > 1:
            return
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("mode", _MODES)
def test_workers_killed_in_the_middle_of_a_run_cost_no_verdict(
    mode: str, busy_suite: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    process = _start(busy_suite, mode)
    started.append(process)
    _wait_until_busy(process, mode)
    done = threading.Event()

    def assassin() -> None:
        for _ in range(6):
            done.wait(0.25)
            for pid in _workers(process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    killer = threading.Thread(target=assassin)
    killer.start()
    try:
        process.communicate(timeout=120)
    finally:
        done.set()
        killer.join()
    assert process.returncode == 0
    assert _all_gone_within(process.pid, 10) == {}
    found = Counter((grader, status) for (_, grader), status in statuses(busy_suite.parent / "out").items())
    assert found["explodes", "error"] + found["explodes", "fail"] == 20
    assert all(found[grader["name"], "pass"] == 20 for grader in _HEALTHY)


@pytest.mark.skipif(not can_fork(), reason="workers are threads there")
def test_a_lost_fork_fails_the_run_by_name_and_the_next_goes_on(
    busy_suite: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    process = _start(busy_suite, "forks")
    started.append(process)
    _wait_until_busy(process, "forks")
    os.kill(_forks(process)[0], signal.SIGKILL)
    told = process.communicate(timeout=120)[1].decode().splitlines()
    assert process.returncode == 1
    assert told[-2].endswith("as the system does when memory runs out: use fewer workers (-- --direct_num_workers=1)")
    assert told[-1] == "nothing is committed; the same command goes on from the blocks that are done"
    assert _all_gone_within(process.pid, 10) == {}
    assert committed_runs(str(busy_suite.parent / "out")) == []
    assert run_suite(busy_suite, busy_suite.parent / "out") == 0
    assert len(statuses(busy_suite.parent / "out")) == 20 * (1 + len(_HEALTHY))


@pytest.mark.parametrize("mode", ["forks", "threads"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_run_that_is_stopped(
    sent: signal.Signals, mode: str, busy_suite: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    process = _start(busy_suite, mode)
    started.append(process)
    _wait_until_busy(process, mode)
    if sent is signal.SIGINT:
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    told = process.communicate(timeout=60)[1].decode()
    assert _all_gone_within(process.pid, 10) == {}
    assert committed_runs(str(busy_suite.parent / "out")) == []
    if sent is signal.SIGINT:
        assert process.returncode == INTERRUPTED
        assert told == "interrupted: nothing is committed; the same command goes on from the blocks that are done\n"
