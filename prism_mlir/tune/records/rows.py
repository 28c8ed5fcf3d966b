"""Rows in and out of the database. What is read has the checksum that it was written with, or is not returned."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from prism_mlir import __version__
from prism_mlir.tune.records.database import transaction
from prism_mlir.tune.records.schema import COMMON, OBJECTS, Row, Table, Value, content_digest, seal, stamp


class DamagedRow(Exception):
    """A row that is not what was written."""


def sealed(table: Table, values: Mapping[str, Value]) -> dict[str, Value]:
    """A new row of this version of prism, written now, with its checksum."""
    row = {**values, "version": __version__, "written": stamp(datetime.now(UTC))}
    return {**row, "sha256": seal(table, row)}


def is_sound(table: Table, row: Row) -> bool:
    """Whether a row is what was written."""
    try:
        if row["sha256"] != seal(table, row) or not all(isinstance(row[name], str) for name in COMMON):
            return False
    except (KeyError, TypeError, ValueError):
        return False
    content = row.get("content")
    return table is not OBJECTS or (isinstance(content, bytes) and content_digest(content) == row["digest"])


def find(connection: sqlite3.Connection, table: Table, key: Sequence[str]) -> dict[str, Value] | None:
    """The row of a key; None if there is none. Raises :class:`DamagedRow`, sqlite3.Error."""
    asked = dict(zip(table.key, key, strict=True))
    row = next(matching(connection, table, asked), None)
    if row is not None and not is_sound(table, row):
        raise DamagedRow
    return row


def matching(connection: sqlite3.Connection, table: Table, asked: Mapping[str, str]) -> Iterator[dict[str, Value]]:
    """Rows whose columns are as asked, in the order written, sound or not. Raises sqlite3.Error.

    They are returned as asked, so that a checksum notices when SQLite has followed a damaged index to another row.
    """
    where = " AND ".join(f"{name} = ?" for name in asked)
    query = f"SELECT {', '.join(table.names)} FROM {table.name} WHERE {where} ORDER BY rowid"
    for values in connection.execute(query, tuple(asked.values())):
        yield {**dict(zip(table.names, values, strict=True)), **asked}


def put(connection: sqlite3.Connection, table: Table, row: Row) -> None:
    """Write a row in the place of the one of its key, if there is one. Raises sqlite3.Error."""
    with transaction(connection):
        insert(connection, table, row)


def insert(connection: sqlite3.Connection, table: Table, row: Row) -> None:
    """:func:`put` as a part of a transaction."""
    marks = ", ".join("?" * len(table.names))
    statement = f"INSERT OR REPLACE INTO {table.name} ({', '.join(table.names)}) VALUES ({marks})"
    connection.execute(statement, [row[name] for name in table.names])
