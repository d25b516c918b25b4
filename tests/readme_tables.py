"""The README's tables that follow from the code. `python -m tests.readme_tables` writes them anew; a test holds them to it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from graders.registry import grader_types
from pipelines.cli.graders import summary_line, taxonomy_rows
from pipelines.formats.containers.unknown import Unknown
from pipelines.formats.detection import container_classes

README = Path(__file__).parents[1] / "README.md"
_GROUPING = {
    "record": "each record stands alone",
    "file": "a file is one session",
    "key": "records are grouped, wherever they stand",
}


def graders_table() -> str:
    """Every grader type in one table."""
    lines = ["| type | what it does | determinism | cost | reference | scope |", "|---|---|---|---|---|---|"]
    for row in taxonomy_rows():
        what = _cell(summary_line(grader_types()[row["type"]]))
        lines.append(
            f"| `{row['type']}` | {what} | {row['determinism']} | {row['cost']} | {row['reference']} | {row['temporal_scope']} |"
        )
    return "\n".join(lines)


def formats_table() -> str:
    """Every log format in one table, in the order in which detection asks them."""
    lines = ["| `format` | what it is | records |", "|---|---|---|"]
    for name, cls in container_classes().items():
        if cls is not Unknown:
            what = _cell(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0])
            lines.append(f"| `{name}` | {what} | {_GROUPING[cls.grouping]} |")
    return "\n".join(lines)


def rewritten(text: str) -> str:
    """The README's text with both tables as the code has them."""
    for name, table in (("graders", graders_table()), ("formats", formats_table())):
        opening, closing = re.search(rf"<!-- {name}: .*-->\n", text), f"<!-- /{name} -->"
        assert opening is not None
        text = f"{text[: opening.end()]}{table}\n{text[text.index(closing) :]}"
    return text


def code_blocks(language: str) -> Iterator[str]:
    """The README's code blocks in a language."""
    for found in re.finditer(
        rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        yield found[1]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    README.write_text(rewritten(README.read_text(encoding="utf-8")), encoding="utf-8")
