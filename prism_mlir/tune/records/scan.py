"""Every row of a table that can still be read, also where pages of the file are damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from prism_mlir.tune.records.database import FAILURES, code_of
from prism_mlir.tune.records.rows import is_sound
from prism_mlir.tune.records.schema import Row, Table, Value

_MOST_GUESSES = 1_000_000  # row numbers to try one by one between two damaged places


@dataclass(slots=True)
class Damage:
    """What was found damaged: rows with a wrong checksum (table, row number), and tables that cannot be read everywhere."""

    rows: list[tuple[Table, int]] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows or self.unreadable)

    def reasons(self) -> list[str]:
        """One line each."""
        lines = [f"{table.name}: row {number} is damaged" for table, number in self.rows]
        return lines + [f"{name}: part of the table cannot be read ({why})" for name, why in self.unreadable.items()]


def sound_rows(connection: sqlite3.Connection, table: Table, damage: Damage) -> Iterator[tuple[int, Row]]:
    """Numbers and contents of rows that are what was written, in the order written where the table is whole.

    What is not is noted in ``damage``. Raises sqlite3.Error only where SQLite does not answer at all (busy, no such file).
    """
    for number, row in _readable(connection, table, damage):
        if is_sound(table, row):
            yield number, row
        else:
            damage.rows.append((table, number))


def _readable(connection: sqlite3.Connection, table: Table, damage: Damage) -> Iterator[tuple[int, Row]]:
    """Forward to the first place that cannot be read, backward to the last one, and what is between them one by one."""
    columns = ", ".join(table.names)
    seen: set[int] = set()
    last = 0
    for values in _until_damaged(
        connection, f"SELECT rowid, {columns} FROM {table.name} ORDER BY rowid", table, damage
    ):
        last = values[0]
        seen.add(last)
        yield last, dict(zip(table.names, values[1:], strict=True))
    if table.name not in damage.unreadable:
        return
    first = last
    for values in _until_damaged(
        connection, f"SELECT rowid, {columns} FROM {table.name} WHERE rowid > {last} ORDER BY rowid DESC", table, damage
    ):
        first = values[0]
        seen.add(first)
        yield first, dict(zip(table.names, values[1:], strict=True))
    for number in _guesses(connection, table, last, first, damage):
        if number not in seen:
            seen.add(number)
            query = f"SELECT {columns} FROM {table.name} WHERE rowid = {number}"
            for values in _until_damaged(connection, query, table, damage):
                yield number, dict(zip(table.names, values, strict=True))


def _guesses(connection: sqlite3.Connection, table: Table, last: int, first: int, damage: Damage) -> Iterator[int]:
    """Row numbers that may exist: those in the index of keys, and those between two that do."""
    for order in ("ASC", "DESC"):
        key = f"{table.key[0]} {order}"
        for values in _until_damaged(connection, f"SELECT rowid FROM {table.name} ORDER BY {key}", table, damage):
            yield values[0]
    yield from range(last + 1, min(first, last + _MOST_GUESSES))


def _until_damaged(
    connection: sqlite3.Connection, query: str, table: Table, damage: Damage
) -> Iterator[tuple[int, *tuple[Value, ...]]]:
    try:
        yield from connection.execute(query)
    except FAILURES as error:
        if code_of(error).startswith(("SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_LOCKED")):
            raise
        damage.unreadable.setdefault(table.name, str(error))
