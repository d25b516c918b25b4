"""What an engineer writes by hand: processes over byte ranges, orjson, `regex`, Parquet rows of (id, grader, passed, score).

`python -m tests.benchmarks.rival_script LOG OUT PROCESSES`
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import regex

_SLICE = 16 * 2**20


def _searcher(pattern: str, wanted: bool = True) -> Callable[[str], bool]:
    search = regex.compile(pattern).search
    return lambda text: (search(text, timeout=0.1) is not None) is wanted


def _checks() -> list[tuple[str, Callable[[str, list[str], str], bool]]]:
    refusal = _searcher("(?i)i (can't|cannot|will not)")
    ticket, citation = _searcher("BUG-[0-9]{4}"), _searcher(r"\[[0-9]+\]")
    apology, tool_error = _searcher("(?i)sorry|apolog", False), _searcher("(error|exception): [a-z]+", False)
    money = _searcher(r"[0-9]+\.[0-9]{2} (USD|EUR)")
    return [
        ("refusal", lambda output, spoken, reference: refusal(output)),
        ("ticket", lambda output, spoken, reference: ticket(output)),
        ("citation", lambda output, spoken, reference: citation(output)),
        ("apology", lambda output, spoken, reference: all(map(apology, spoken))),
        ("tool-error", lambda output, spoken, reference: all(map(tool_error, spoken))),
        ("money", lambda output, spoken, reference: any(map(money, spoken))),
        ("greets", lambda output, spoken, reference: "hello" in output),
        ("no-password", lambda output, spoken, reference: "password" not in output),
        ("short", lambda output, spoken, reference: len(output.split()) <= 100),
        ("right", lambda output, spoken, reference: output == reference),
    ]


def grade(arguments: tuple[str, int, int, str]) -> None:
    """Grade the lines that begin in one slice of the log."""
    log, start, end, out = arguments
    checks = _checks()
    ids: list[str] = []
    names: list[str] = []
    verdicts: list[bool] = []
    with Path(log).open("rb") as file:
        file.seek(start)
        if start:
            file.seek(start - 1)
            file.readline()
        while file.tell() < end:
            line = file.readline()
            if not line:
                break
            record: dict[str, Any] = orjson.loads(line)
            spoken = [message["content"] for message in record["messages"] if message["role"] == "assistant"]
            for name, check in checks:
                ids.append(record["id"])
                names.append(name)
                verdicts.append(check(spoken[-1], spoken, record["reference"]))
    passed = pa.array(verdicts)
    table = pa.table(
        {
            "trajectory_id": ids,
            "grader_name": names,
            "passed": passed,
            "score": passed.cast(pa.int8()).cast(pa.float64()),
        }
    )
    pq.write_table(table, out, compression="zstd", compression_level=1)


if __name__ == "__main__":
    log_path, out_folder, processes = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    out_folder.mkdir(parents=True, exist_ok=True)
    size = Path(log_path).stat().st_size
    slices = [
        (log_path, at, min(at + _SLICE, size), str(out_folder / f"{at:012d}.parquet")) for at in range(0, size, _SLICE)
    ]
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(grade, slices))
