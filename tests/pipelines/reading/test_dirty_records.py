"""One file of dirty records: each ends as a graded trajectory with its repair noted, or as a reject with place and reason; neighbours are graded."""

import gzip
from pathlib import Path

import pytest

from schemas.reject import RejectReason
from tests.pipelines.runs import only_manifest, run_suite, statuses, table, write_suite

GOOD = '{"id": "%s", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "%s"}]}'


def good(name: str, answer: str = "hello") -> bytes:
    return (GOOD % (name, answer)).encode()


#: name → (line, issue that must be noted (None: none)); each is graded.
REPAIRED: dict[str, tuple[bytes, str | None]] = {
    "bom": (b"\xef\xbb\xbf" + good("bom"), None),
    "crlf": (good("crlf") + b"\r", None),
    "u2028": (good("u2028", "hello\u2028there"), None),
    "u2028-escaped": (good("u2028-escaped", "hello\\u2028there"), None),
    "nan": (b'{"id": "nan", "n": NaN, "messages": [{"role": "assistant", "content": "hello"}]}', "non_finite_number"),
    "infinity": (b'{"id": "infinity", "n": [-Infinity], "messages": [{"role": "assistant", "content": "hello"}]}', "non_finite_number"),
    "lone-surrogate": (good("lone-surrogate", "hello \\ud83d"), "lone_surrogate"),
    "surrogate-pair": (good("surrogate-pair", "hello \\ud83d\\ude00"), None),
    "invalid-utf8": (good("invalid-utf8", "hello X").replace(b"X", b"\xff\xfe"), "invalid_utf8"),
    "raw-control": (good("raw-control", "hello X").replace(b"X", b"\x01"), "control_character"),
    "escaped-nul": (good("escaped-nul", "hello \\u0000"), None),
    "duplicate-key": (good("first")[:-1] + b', "id": "duplicate-key"}', "duplicate_key"),
    "9007199254740993": (good("x").replace(b'"x"', b"9007199254740993"), None),
    "18446744073709551617": (good("x").replace(b'"x"', b"18446744073709551617"), None),
    "float-cost": (good("float-cost")[:-1] + b', "score": 0.1}', None),
    "two-on-a-line": (good("two-on-a-line") + b" " + good("second-of-two"), "several_values_on_line"),
    "content-null": (b'{"id": "content-null", "messages": [{"role": "assistant", "content": null}, {"role": "assistant", "content": "hello"}]}', None),
    "content-parts": (b'{"id": "content-parts", "messages": [{"role": "assistant", "content": [{"type": "text", "text": "hello"}]}]}', None),
    "messages-as-text": (b'{"id": "messages-as-text", "messages": "[{\\"role\\": \\"assistant\\", \\"content\\": \\"hello\\"}]"}', None),
    "nested-600": (good("nested-600")[:-1] + b', "deep": ' + b"[" * 600 + b"]" * 600 + b"}", None),
    "spaces-around": (b"  " + good("spaces-around") + b"  ", None),
    "long-line": (good("long-line", "hello " + "x" * 3_000_000), None),
    "unknown-role": (b'{"id": "unknown-role", "messages": [{"role": "critic", "content": "?"}, {"role": "assistant", "content": "hello"}]}', "unknown_role"),
    "empty-id": (good("").replace(b'"id": ""', b'"id": "", "trace_id": "empty-id"'), None),
}  # fmt: skip
#: name → (line, reason); each is rejected at its own place.
REJECTED: dict[str, tuple[bytes, RejectReason]] = {
    "prose": (b"2026-11-30 INFO started", RejectReason.INVALID_JSON),
    "python-repr": (b"{'id': 'x', 'messages': []}", RejectReason.INVALID_JSON),
    "trailing-comma": (b'{"id": "x",}', RejectReason.INVALID_JSON),
    "half": (b'{"id": "x", "messages": [{"role": "us', RejectReason.INVALID_JSON),
    "scalar": (b"42", RejectReason.NOT_AN_OBJECT),
    "null": (b"null", RejectReason.NOT_AN_OBJECT),
    "string": (b'"x"', RejectReason.NOT_AN_OBJECT),
    "empty-list": (b"[]", RejectReason.NOT_AN_OBJECT),
    "no-messages": (b'{"id": "x", "messages": []}', RejectReason.NO_MESSAGES),
    "other-record": (b'{"ts": 1, "level": "info"}', RejectReason.UNKNOWN_FORMAT),
}


@pytest.fixture(scope="module", params=["plain", "gzip"])
def graded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """The output folder of a run over the dirty file, and the offset of every line by name."""
    folder = tmp_path_factory.mktemp("dirty")
    lines = [(name, line) for name, (line, _) in (REPAIRED | REJECTED).items()]
    data = bytearray(lines[0][1] + b"\n")  # the byte order mark stands at the start of the file
    offsets = {lines[0][0]: 0}
    for number, (name, line) in enumerate(lines[1:]):
        data += good(f"neighbour-{number}") + b"\n\n"
        offsets[name] = len(data)
        data += line + b"\n"
    offsets["tail"] = len(data)
    data += b'{"id": "tail", "messages": [{"role": "assistant"'
    path = folder / ("log.jsonl" if request.param == "plain" else "log.txt")
    path.write_bytes(bytes(data) if request.param == "plain" else gzip.compress(bytes(data)))
    suite = write_suite(folder, [path.name], [{"name": "greets", "type": "contains", "texts": ["hello"]}])
    assert run_suite(suite, folder / "out") == 0
    return folder / "out", offsets


def test_there_are_at_least_thirty_kinds() -> None:
    assert len(REPAIRED) + len(REJECTED) + 1 >= 30


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired_records_are_graded(graded: tuple[Path, dict[str, int]], name: str) -> None:
    output, offsets = graded
    trajectories = {row["trajectory_id"]: row for row in table(output, "trajectories").to_pylist()}
    row = trajectories[name]
    assert row["source_offset"] == offsets[name]
    assert row["parse_status"] == "ok"
    issue = REPAIRED[name][1]
    assert (issue in row["issues"]) if issue else not row["issues"]
    assert statuses(output)[(name, "greets")] == "pass"


@pytest.mark.parametrize("name", [*REJECTED, "tail"])
def test_rejected_records_have_place_and_reason(graded: tuple[Path, dict[str, int]], name: str) -> None:
    output, offsets = graded
    reason = REJECTED[name][1] if name in REJECTED else RejectReason.TRUNCATED_TAIL
    rejects = {row["source_offset"]: row for row in table(output, "rejects").to_pylist()}
    assert rejects[offsets[name]]["reason"] == reason.value
    assert rejects[offsets[name]]["detail"]


def test_neighbours_are_graded_and_every_record_is_accounted_for(graded: tuple[Path, dict[str, int]]) -> None:
    output, _ = graded
    manifest = only_manifest(output)
    neighbours = len(REPAIRED) + len(REJECTED) - 1
    verdicts = statuses(output)
    assert all(verdicts[(f"neighbour-{number}", "greets")] == "pass" for number in range(neighbours))
    assert verdicts[("second-of-two", "greets")] == "pass"
    assert manifest.trajectories == neighbours + len(REPAIRED) + 1
    assert manifest.rejects == len(REJECTED) + 1
    assert manifest.records == manifest.trajectories + manifest.rejects


def test_a_64_mb_line_is_graded_in_time(tmp_path: Path) -> None:
    big = good("big", "hello " + "x" * 64_000_000)
    (tmp_path / "log.jsonl").write_bytes(good("before") + b"\n" + big + b"\n" + good("after") + b"\n")
    suite = write_suite(tmp_path, ["log.jsonl"], [{"name": "greets", "type": "contains", "texts": ["hello"]}])
    assert run_suite(suite, tmp_path / "out") == 0
    assert statuses(tmp_path / "out") == {(name, "greets"): "pass" for name in ("before", "big", "after")}


def test_equal_ids_stay_apart_and_identical_records_are_duplicates_once(tmp_path: Path) -> None:
    same = good("same")
    first = [same, good("other"), same, good("same", "bye")]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(first) + b"\n")
    (tmp_path / "b.jsonl").write_bytes(same + b"\n" + good("b") + b"\n")
    suite = write_suite(tmp_path, ["*.jsonl"], [{"name": "greets", "type": "contains", "texts": ["hello"]}])
    assert run_suite(suite, tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    found = table(tmp_path / "out", "trajectories").sort_by(
        [("source_uri", "ascending"), ("source_offset", "ascending")]
    )
    assert found["parse_status"].to_pylist() == ["ok", "ok", "duplicate", "ok", "duplicate", "ok"]
    assert len(set(found["trajectory_uid"].to_pylist())) == 6
    assert (manifest.trajectories, manifest.duplicates) == (4, 2)
    assert manifest.graders["greets"].counts == {"pass": 3, "fail": 1}
    assert len(table(tmp_path / "out", "scores")) == 4


def test_duplicates_may_be_graded(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes((good("same") + b"\n") * 3)
    suite = write_suite(tmp_path, ["a.jsonl"], [{"name": "g", "type": "contains", "texts": ["hello"]}])
    suite.write_text(suite.read_text().replace("input:\n", "input:\n  duplicates: grade\n"))
    assert run_suite(suite, tmp_path / "out") == 0
    assert only_manifest(tmp_path / "out").graders["g"].counts == {"pass": 3}


def test_a_damaged_archive_gives_what_came_before_and_says_where_it_ends(tmp_path: Path) -> None:
    lines = b"".join(good(f"t{number}", f"hello {number}") + b"\n" for number in range(2000))
    whole = gzip.compress(lines)
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "fine.jsonl").write_bytes(good("fine") + b"\n")
    suite = write_suite(tmp_path, ["*.jsonl*"], [{"name": "greets", "type": "contains", "texts": ["hello"]}])
    assert run_suite(suite, tmp_path / "out") == 0
    manifest = only_manifest(tmp_path / "out")
    assert manifest.rejects_by_reason["corrupt_file"] == 1
    verdicts = statuses(tmp_path / "out")
    assert verdicts[("fine", "greets")] == "pass"
    assert 100 < len(verdicts) < 2000
    assert set(verdicts.values()) == {"pass"}


def test_a_first_line_longer_than_what_is_sniffed_still_tells_the_format(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(good("big", "hello " + "x" * 400_000) + b"\n" + good("small") + b"\n")
    suite = write_suite(tmp_path, ["log.jsonl"], [{"name": "greets", "type": "contains", "texts": ["hello"]}])
    assert run_suite(suite, tmp_path / "out") == 0
    assert statuses(tmp_path / "out") == {("big", "greets"): "pass", ("small", "greets"): "pass"}
