"""Tables for people: plain aligned text for logs and pipes, ruled and coloured on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_BESIDE_CELL = 3


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool] | None = None) -> None:
    """A table on standard output. Columns that are `numeric` (all but the first by default) are set to the right."""
    if sys.stdout.isatty():
        _print_ruled(header, rows, _right(header, numeric))
    else:
        print(aligned(header, rows, numeric))


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool] | None = None) -> str:
    """Columns as wide as their longest cell, those that are `numeric` (all but the first by default) to the right."""
    right = _right(header, numeric)
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = []
    for row in (header, ["─" * width for width in widths], *rows):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _right(header: Sequence[str], numeric: Sequence[bool] | None) -> Sequence[bool]:
    return [number > 0 for number in range(len(header))] if numeric is None else numeric


def _print_ruled(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> None:
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, to_right in zip(header, right, strict=True):
        table.add_column(Text(name), justify="right" if to_right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, style="dim" if cell in ("–", "0") else "") for cell in row))
    console = Console()
    longest = (max(cell_len(row[i]) for row in (header, *rows)) for i in range(len(header)))
    # No cell is cut: a terminal wraps what is too wide for it.
    console.width = max(console.width, sum(width + _BESIDE_CELL for width in longest))
    console.print(table)
