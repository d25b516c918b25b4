"""Publishing: duplicates found whatever the passes, many small parts merged, and nothing lost on the way."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.commit import publishing
from pipelines.writing.parts import BlockResult
from tests.pipelines.runs import chats, only_manifest, rows, run_suite, write_lines, write_suite


def results(folder: Path, blocks: Sequence[Sequence[int]]) -> list[BlockResult]:
    made = []
    for number, values in enumerate(blocks):
        path = folder / f"{number}.hashes"
        path.write_bytes(np.array([(value, value * 7) for value in values], dtype=np.uint64).reshape(-1, 2).tobytes())
        made.append(BlockResult(f"k{number}", {}, str(path), "logs/a", number, len(values), 0, len(values)))
    return made


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=4), st.sampled_from([1, 3, 1000]))
def test_all_but_the_first_of_equal_records_are_duplicates(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[list[int]], a_pass: int
) -> None:
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(publishing, "_HASHES_A_PASS", a_pass)
        found = publishing.find_duplicates(results(tmp_path_factory.mktemp("hashes"), blocks))
    seen: set[int] = set()
    expected: dict[str, list[int]] = {}
    for number, values in enumerate(blocks):
        for row, value in enumerate(values):
            if value in seen:
                expected.setdefault(f"k{number}", []).append(row)
            seen.add(value)
    assert {key: numbers.tolist() for key, numbers in found.items()} == expected


@pytest.mark.parametrize("group_rows", [1, 15, 150, 10_000])
@pytest.mark.parametrize("duplicates", ["skip", "grade"])
def test_many_small_parts_are_merged_without_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duplicates: str, group_rows: int
) -> None:
    for number in range(6):
        write_lines(tmp_path / f"{number}.jsonl", [*chats(20, 100 * number), *(chats(2) if number % 2 else [])])
    suite = write_suite(tmp_path, [], input={"paths": ["*.jsonl"], "duplicates": duplicates})
    monkeypatch.setattr(publishing, "_GROUP_ROWS", group_rows)
    assert run_suite(suite, tmp_path / "apart") == 0
    monkeypatch.setattr(publishing, "MOST_FILES", 2)
    assert run_suite(suite, tmp_path / "merged") == 0
    apart, merged = only_manifest(tmp_path / "apart"), only_manifest(tmp_path / "merged")
    assert (len(apart.tables["scores"]), len(merged.tables["scores"])) == (6, 1)
    assert apart.duplicates == merged.duplicates == (6 if duplicates == "skip" else 0)
    assert sum(file.rows for file in merged.tables["scores"]) == len(rows(tmp_path / "merged", "scores")) > 500
    for name in ("scores", "trajectories"):
        assert rows(tmp_path / "apart", name) == rows(tmp_path / "merged", name)
    assert merged.graders == {
        name: replaced(counts, merged.graders[name].duration_us) for name, counts in apart.graders.items()
    }


def replaced(counts: object, duration_us: int) -> object:
    return counts.model_copy(update={"duration_us": duration_us})  # type: ignore[attr-defined]


def test_one_result_of_a_block_that_ran_twice(tmp_path: Path) -> None:
    from pipelines.steps import one_result_a_key
    from pipelines.writing.parts import Part

    first = replace(results(tmp_path, [[1]])[0], parts={"scores": Part("staging/a", 1, 1, "")})
    again = replace(first, parts={"scores": Part("staging/b", 1, 1, "")})
    assert one_result_a_key([again, None, first]) == one_result_a_key([first, again]) == [first]
