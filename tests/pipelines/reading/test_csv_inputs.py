"""Tables in text: which first line is a header, and what the suite may say of it."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from schemas.suite import InputConfig
from tests.pipelines.reading.loading import load, told

FIELDS = InputConfig(fields={"output": "$.Antwort", "id": "$.Nr"})
HEADERS = {
    "comma": "Nr,Kunde,Antwort\n1,x,one\n2,y,two\n",
    "semicolon": "Nr;Kunde;Antwort\n1;x;one\n2;y;two\n",
    "tab": "Nr\tKunde\tAntwort\n1\tx\tone\n2\ty\ttwo\n",
    "quoted": '"Nr","Kunde; Ort; Land; Stadt","Antwort"\n"1","x","one"\n"2","y","two"\n',
    "header over two lines": '"Nr","Kunde\nOrt","Antwort"\n"1","x","one"\n"2","y","two"\n',
    "carriage returns": "Nr,Kunde,Antwort\r\n1,x,one\r\n2,y,two\r\n",
    "byte order mark": "\ufeffNr,Kunde,Antwort\n1,x,one\n2,y,two\n",
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_a_mapping_that_reads_a_column_makes_the_text_a_table(text: str, packed: bool, tmp_path: Path) -> None:
    data = text.encode()
    (tmp_path / "x.jsonl").write_bytes(gzip.compress(data) if packed else data)
    loaded = load(tmp_path / "x.jsonl", FIELDS)
    assert (loaded.outputs, loaded.reasons) == (["one", "two"], [])
    assert [made.trajectory_id for made in loaded.trajectories] == ["1", "2"]


def test_a_mapped_single_column_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Antwort\none\ntwo\n")
    loaded = load(tmp_path / "x.csv", InputConfig(fields={"output": "Antwort"}))
    assert (loaded.outputs, loaded.reasons) == (["one", "two"], [])


def test_a_mapped_column_with_a_dot_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a.b\none\n")
    assert load(tmp_path / "x.csv", InputConfig(fields={"output": "$.a.b"})).outputs == ["one"]


def test_a_mapping_that_fits_no_column_names_the_columns(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Nr,Anwort\n1,one\n2,two\n")
    loaded = load(tmp_path / "x.csv", FIELDS)
    assert loaded.reasons == ["missing_field", "missing_field"]
    assert "the row has the keys `Nr`, `Anwort`" in loaded.rejects[0].detail


def test_an_unknown_table_names_its_columns_and_the_mapping_that_would_read_it(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Nr,Antwort\n1,one and more\n2,two\n")
    loaded = load(tmp_path / "x.csv")
    assert loaded.reasons == ["unknown_format", "unknown_format"]
    assert "`Nr`, `Antwort`" in loaded.rejects[0].detail
    assert "{fields: {output: $.Antwort}}" in loaded.rejects[0].detail


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_suite_may_say_csv_whatever_the_header(packed: bool, tmp_path: Path) -> None:
    data = b"{Nr},[x]\n1,one\n2,two\n"
    (tmp_path / "x.jsonl").write_bytes(gzip.compress(data) if packed else data)
    config = InputConfig(format="csv", fields={"output": "$['[x]']", "id": "$['{Nr}']"})
    assert load(tmp_path / "x.jsonl", config).outputs == ["one", "two"]


def test_with_format_csv_known_columns_are_told_as_ever(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("input,output,reference\nq,a,r\n")
    config = InputConfig(format="csv")
    assert told(tmp_path / "x.csv", config).name == told(tmp_path / "x.csv").name == "question_answer"
    (made,) = load(tmp_path / "x.csv", config).trajectories
    assert (made.input, made.output, made.reference) == ("q", "a", "r")


def test_a_mapped_table_inside_a_zip_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.csv", HEADERS["semicolon"])
    assert load(tmp_path / "x.zip", FIELDS).outputs == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        '{"Nr": 1, "Antwort": "one"}\n{"Nr": 2, "Antwort": "two"}\n',
        '\n{"Nr": 1, "Antwort": "one"}\n{"Nr": 2, "Antwort": "two"}\n',
    ],
)
def test_a_mapping_does_not_make_json_a_table(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    assert load(tmp_path / "x.csv", FIELDS).outputs == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        "starting, up\n{\"output\": \"a\"}\n",
        '2026-11-30 INFO: {"a": 1, "b": 2}\n2026-11-30 INFO: {"a": 1, "b": 3}\n',
        "just text\nand more\n",
    ],
)  # fmt: skip
def test_text_that_only_looks_a_little_like_a_table_is_read_by_line(text: str, tmp_path: Path) -> None:
    """Its first line is a record too, and must not vanish as a header."""
    (tmp_path / "x.log").write_text(text)
    loaded = load(tmp_path / "x.log")
    assert loaded.records == len(text.splitlines())
    assert loaded.reasons[0] == "invalid_json"
