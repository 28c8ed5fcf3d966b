"""What the command lines print with: one console, one kind of table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def plain_console() -> Console:
    """Where there is no terminal, lines are as long as they need to be."""
    return Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)


def new_table(*columns: str) -> Table:
    """An empty table whose cells are not wrapped."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


@contextmanager
def step_status(console: Console, *, verbose: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner that names the current step on a terminal; nothing elsewhere, or lines on standard error where ``verbose``."""
    if verbose and not (console.is_terminal and not console.quiet):
        yield lambda line: print(line, file=sys.stderr, flush=True)
        return
    if not console.is_terminal or console.quiet:
        yield lambda _: None
        return
    with console.status("starting") as status:
        yield status.update
