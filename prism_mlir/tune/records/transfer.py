"""Records as text: JSON lines, to be kept, sent and merged.

The first line is ``{"format": "prism-records", "format_version": 1, "version": ...}`` and the last one
``{"end": {TABLE: ROWS}}``; between them each line is a row: its table, its columns, and its checksum. Bytes are in base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from prism_mlir import __version__
from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tune.records.database import transaction
from prism_mlir.tune.records.rows import DamagedRow, find, insert, is_sound
from prism_mlir.tune.records.scan import Damage, sound_rows
from prism_mlir.tune.records.schema import BYTES, NUMBER, NUMBER_OR_NONE, TABLES, Row, Table, Value

FORMAT = "prism-records"
FORMAT_VERSION = 1

_TABLES = {table.name: table for table in TABLES}


def export_lines(connection: sqlite3.Connection, damage: Damage) -> Iterator[str]:
    """The database as lines, as it is at one moment; what is damaged is left out and noted. Raises sqlite3.Error."""
    counts: Counter[str] = Counter()
    yield _line({"format": FORMAT, "format_version": FORMAT_VERSION, "version": __version__})
    connection.execute("BEGIN")
    try:
        for table in TABLES:
            for _, row in sound_rows(connection, table, damage):
                counts[table.name] += 1
                yield _line({"table": table.name, **{name: _to_json(row[name]) for name in table.names}})
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    yield _line({"end": {table.name: counts[table.name] for table in TABLES}})


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _to_json(value: Value) -> str | float | None:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def parse_lines(lines: Iterable[str], file: str) -> list[tuple[Table, Row]]:
    """Rows of an export, each with a right checksum. Raises a located :class:`InputError` for the first line that is wrong."""
    rows: list[tuple[Table, Row]] = []
    counts: Counter[str] = Counter()
    number, ended = 0, False
    for number, line in enumerate(lines, 1):
        place = Location(file, number, 1)
        value = _object(line, place)
        if number == 1:
            _check_format(value, place)
        elif ended:
            raise InputError("there is more after the end", place, "export again")
        elif "end" in value:
            ended = True
            if value["end"] != {name: counts[name] for name in _TABLES}:
                raise InputError("rows are missing: the numbers in the last line are others", place, "export again")
        else:
            table, row = _row(value, place)
            counts[table.name] += 1
            rows.append((table, row))
    if not ended:
        raise InputError("the end is missing", Location(file, max(number, 1), 1), "export again")
    return rows


def _object(line: str, place: Location) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError("the line is no JSON object", place, "give a file that prism cache export wrote")
    return value


def _check_format(value: dict[str, Any], place: Location) -> None:
    if value.get("format") != FORMAT:
        raise InputError("the file holds no tuning records", place, "give a file that prism cache export wrote")
    if value.get("format_version") != FORMAT_VERSION:
        found = value.get("format_version")
        raise InputError(f"format version {found!r} is not known, only {FORMAT_VERSION}", place, "use that prism")


def _row(value: dict[str, Any], place: Location) -> tuple[Table, Row]:
    name = value.pop("table", None)
    table = _TABLES.get(name) if isinstance(name, str) else None
    if table is None:
        raise InputError(f"there is no table {name!r}", place, f"known are {', '.join(_TABLES)}")
    if set(value) != set(table.names):
        wrong = ", ".join(sorted(set(value) ^ set(table.names)))
        raise InputError(f"columns of {table.name} are missing or not known: {wrong}", place, "export again")
    kinds = dict(table.columns)
    row = {column: _from_json(value[column], kinds.get(column, ""), column, place) for column in table.names}
    if not is_sound(table, row):
        raise InputError("the row does not match its checksum", place, "export again; rows cannot be edited")
    return table, row


def _from_json(value: Any, kind: str, column: str, place: Location) -> Value:
    wrong = InputError(f"'{column}' is not what it should be", place, "export again; rows cannot be edited")
    if kind == NUMBER_OR_NONE and value is None:
        return None
    if kind in (NUMBER, NUMBER_OR_NONE):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong
        try:
            return float(value)
        except OverflowError:
            raise wrong from None
    if not isinstance(value, str):
        raise wrong
    try:
        value.encode()
        return base64.b64decode(value, validate=True) if kind == BYTES else value
    except (UnicodeEncodeError, binascii.Error):
        raise wrong from None


def import_rows(connection: sqlite3.Connection, rows: Iterable[tuple[Table, Row]]) -> Counter[str]:
    """Add rows, all of them or none; how many are new, by table. Raises sqlite3.Error.

    A row that is there stays if it is sound, and is of this version of prism or the new one is not.
    """
    new: Counter[str] = Counter()
    with transaction(connection):
        for table, row in rows:
            if not _stays(connection, table, row):
                insert(connection, table, row)
                new[table.name] += 1
    return new


def _stays(connection: sqlite3.Connection, table: Table, row: Row) -> bool:
    try:
        old = find(connection, table, [str(row[name]) for name in table.key])
    except DamagedRow:
        return False
    return old is not None and (old["version"] == __version__ or row["version"] != __version__)
