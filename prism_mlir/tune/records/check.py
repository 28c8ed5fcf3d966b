"""Whether a database is whole: SQLite's own structure, every checksum, and what rows refer to."""

from __future__ import annotations

import sqlite3

from prism_mlir.tune.records.database import FAILURES, code_of
from prism_mlir.tune.records.overview import overview


def problems(connection: sqlite3.Connection) -> list[str]:
    """What is wrong, one line each. Raises sqlite3.Error where SQLite does not answer."""
    found = _structure(connection)
    seen = overview(connection)
    found += seen.damage.reasons()
    found += [f"{r.table.one} '{r.key}' belongs to '{r.parent}', which is not there" for r in seen.loose]
    found += [
        f"{r.table.one} '{r.key}' refers to object {digest}, which is not there" for r, digest in seen.missing_objects
    ]
    return found


def _structure(connection: sqlite3.Connection) -> list[str]:
    try:
        lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    except FAILURES as error:
        if code_of(error).startswith(("SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_LOCKED")):
            raise
        lines = [str(error)]
    return [] if lines == ["ok"] else [f"SQLite: {line}" for text in lines for line in text.splitlines()]
