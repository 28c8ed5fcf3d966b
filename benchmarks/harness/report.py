"""Rows as a table on the terminal and as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Row = dict[str, Any]


def show(title: str, rows: Sequence[Row], columns: Sequence[str], note: str = "") -> None:
    """A table of the given columns; rows may hold more."""
    table = Table(*columns, title=title, caption=note or None, title_justify="left", caption_justify="left")
    for row in rows:
        table.add_row(*(text(row.get(c)) for c in columns))
    Console(width=None if Console().is_terminal else 150).print(table)


def text(value: Any) -> str:
    """A cell: three digits of a number, a dash for what is not there."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"
    return str(value)


def write(rows: Sequence[Row], path: Path | None) -> None:
    """All rows as a list of objects, if a file is wanted."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(list(rows), indent=2) + "\n")
