"""What the command lines print with: results on standard output, progress on standard error, one kind of table."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from prism_mlir.tools.crash import remember
from prism_mlir.tools.files import json_text, write_atomically
from prism_mlir.tools.usage import UsageError

UNLIMITED = 10_000  # columns where lines are as long as they need to be
LEAST = 20  # columns of a cell that is wrapped


@dataclass(frozen=True, slots=True)
class Terminal:
    """How a command speaks. These options are those of every command. Raises :class:`UsageError` for -q and -v together."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")] = (
        False
    )
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but warnings and errors.")] = False
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print progress as lines on standard error.")] = False
    reproducer: Annotated[
        Path | None,
        typer.Option(
            "--reproducer",
            metavar="FILE",
            help="Where Prism itself fails, write what is needed to report that to FILE.",
            is_eager=True,
            callback=remember,
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise UsageError("-q prints nothing, and -v prints more", None, "give one of the two")

    @property
    def console(self) -> Console:
        """For people, on standard output. Silent where JSON is wanted, or nothing."""
        return plain_console(quiet=self.quiet or self.as_json)

    def result(self, schema: str, data: Mapping[str, Any], output: Path | None = None) -> None:
        """The result of a command as JSON: printed, if that is wanted, and written to a file, if there is one.

        See docs/how-to/script-prism.md. Raises :class:`~prism_mlir.graph.errors.InputError` for a file that cannot be written.
        """
        text = json_text(document(schema, data)) + "\n" if self.as_json or output is not None else ""
        if output is not None:
            write_atomically(output, text)
        if self.as_json:
            print(text, end="")

    @contextmanager
    def working(self, step: str) -> Iterator[Callable[[str], None]]:
        """While it is entered, a spinner on standard error names the step; the function that it gives is told others.

        Nothing where standard error is no terminal, or with -q; lines with -v.
        """
        errors = Console(stderr=True, highlight=False)
        if self.verbose:
            _line(step)
            yield _line
        elif self.quiet or not errors.is_terminal or errors.is_dumb_terminal:
            yield lambda _: None
        else:
            with errors.status(escape(step)) as status:
                yield lambda text: status.update(escape(text))


def _line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


VERSION = 1
"""Of all schemas together. A field that is added leaves it as it is; one that goes, or means something else, raises it."""


def document(schema: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON document that says what it is: ``{"schema": "prism.cost", "schema_version": 1, ...}``."""
    return {"schema": f"prism.{schema}", "schema_version": VERSION, **data}


def plain_console(*, quiet: bool = False) -> Console:
    """Standard output. Where that is no terminal, lines are as long as they need to be, unless COLUMNS says otherwise."""
    return Console(quiet=quiet, highlight=False, soft_wrap=True, width=columns())


def columns() -> int:
    """How wide a table may be."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return UNLIMITED


def new_table(*names: str, wrap: str | None = None) -> Table:
    """An empty table whose cells are not wrapped, except, where there is no room, those of one column."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in names:
        table.add_column(name, no_wrap=name != wrap, overflow="fold")
    return table


def print_table(console: Console, table: Table, *, keys: int = 1) -> None:
    """A table, of which nothing is cut off: where it does not fit, in pieces one below the other.

    One column may be wrapped (see :func:`new_table`); after that columns that do not fit go to the next piece, which repeats the
    first ``keys`` columns; and where even a column beside those is too wide, each row is lines ``column  value``.
    """
    every = list(range(len(table.columns)))
    if _width(console, table, every) <= console.width:
        console.print(table)
        return
    pieces = [every[:keys]]
    for column in every[keys:]:
        if len(pieces[-1]) > keys and _width(console, table, [*pieces[-1], column]) > console.width:
            pieces.append(every[:keys])
        pieces[-1].append(column)
    if any(_width(console, table, piece) > console.width for piece in pieces):
        _print_rows(console, table)
        return
    for number, piece in enumerate(pieces):
        if number:
            console.print()
        console.print(_part(table, piece))


def _part(table: Table, columns: Sequence[int]) -> Table:
    part = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    chosen = [table.columns[k] for k in columns]
    for c in chosen:
        part.add_column(c.header, justify=c.justify, no_wrap=c.no_wrap, overflow=c.overflow)
    for row in zip(*(list(c.cells) for c in chosen), strict=True):
        part.add_row(*row)
    return part


def _width(console: Console, table: Table, columns: Sequence[int]) -> int:
    """Columns of the terminal that a part of a table needs, at least."""
    part = _part(table, columns)
    needed = Measurement.get(console, console.options.update(width=UNLIMITED), part).maximum
    for c in part.columns:
        if not c.no_wrap:
            lines = [line for cell in c.cells for line in _plain(cell).splitlines()]
            needed -= max(0, max(map(len, lines), default=0) - LEAST)
    return needed


def _print_rows(console: Console, table: Table) -> None:
    heads = [_plain(c.header) for c in table.columns]
    room = max(map(len, heads)) + 2
    for number, row in enumerate(zip(*(list(c.cells) for c in table.columns), strict=True)):
        if number:
            console.print()
        for head, cell in zip(heads, row, strict=True):
            for k, line in enumerate(_wrapped(_plain(cell), max(LEAST, console.width - room))):
                console.print(f"{head if k == 0 else '':<{room}}{line}", markup=False)


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain


def _wrapped(text: str, width: int) -> list[str]:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, width, break_on_hyphens=False)]
    return lines or [""]


@contextmanager
def step_status(console: Console, *, verbose: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner that names the current step on a terminal; nothing elsewhere, or lines on standard error where ``verbose``."""
    with Terminal(quiet=console.quiet, verbose=verbose).working("starting") as show:
        yield show
