"""The store: what was proved, chosen and measured, found again by later compilations and by other processes.

Payloads are text that the store does not look into; a key names all that they depend on. The store never stops a compilation:
what is wrong with the file is told once, and the work goes on without it.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from prism_mlir.tune.records.database import (
    FAILURES,
    PATIENCE,
    Access,
    Failure,
    RecordsError,
    code_of,
    default_folder,
    default_path,
    open_database,
    reason_of,
)
from prism_mlir.tune.records.rows import DamagedRow, find, is_sound, matching, put, sealed
from prism_mlir.tune.records.schema import (
    CHOICES,
    FAMILIES,
    MEASUREMENTS,
    OBJECTS,
    STEPS,
    Row,
    Table,
    Value,
    content_digest,
    unstamp,
)

__all__ = ["Measurement", "Records", "default_folder"]

Warn = Callable[[str], None]
_T = TypeVar("_T")

# Connections of a parent process: SQLite wants them neither used nor closed in its children.
_INHERITED: list[sqlite3.Connection] = []


def print_warning(text: str) -> None:
    """One line on standard error."""
    print(f"warning: {text}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement of a candidate: its time and the spread of its samples in microseconds, when and where it was taken."""

    choice: str
    candidate: str
    kind: str
    microseconds: float
    spread: float | None
    environment: Mapping[str, Any]
    when: datetime
    version: str


class Records:
    """Tuning records of one database file; or of none: then nothing is found and nothing is kept.

    What is added is on the disk when the call returns, unless ``warn`` was told otherwise. What is added under a key that is
    there replaces it, whole: those who add have found nothing, or nothing they could use. Threads may share one; a forked
    process opens the file again for itself, and a file that was deleted is created anew.
    """

    def __init__(self, connection: sqlite3.Connection | None, path: Path | None, warn: Warn, patience: float) -> None:
        self._connection = connection
        self._path = path
        self._warn = warn
        self._patience = patience
        self._writes = True
        self._told: set[str] = set()
        self._kept = Counter[str]()
        self._lock = threading.RLock()
        self._owner = _owner(path)

    @staticmethod
    def open(folder: Path | str | None = None, warn: Warn = print_warning, *, patience: float = PATIENCE) -> Records:
        """Open the records of a folder, :func:`default_folder` if not given; both are created if needed.

        Never raises because of the database: ``warn`` is told the reason once, and what is returned remembers nothing.
        ``patience``: seconds to wait for a lock of another process.
        """
        try:
            chosen = default_folder() if folder is None else Path(folder)
            if chosen is None:
                return Records.none()
            path = default_path(chosen)
            return Records(open_database(path, Access.CREATE, patience), path, warn, patience)
        except RecordsError as error:
            warn(f"{error.message}; going on without, {error.hint}")
            return Records.none()

    @staticmethod
    def none() -> Records:
        """Finds nothing and keeps nothing."""
        return Records(None, None, print_warning, PATIENCE)

    @property
    def path(self) -> Path | None:
        """The database file; None if there is none."""
        return self._path

    @property
    def kept(self) -> int:
        """How many rows were added, less the steps that were dropped again."""
        return self._kept.total()

    def __enter__(self) -> Records:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; from then on nothing is found and nothing is kept."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._owner[0] == os.getpid():
                with suppress(*FAILURES):
                    connection.close()

    # -- families: a program with its sizes abstracted -> proved graphs

    def family(self, key: str) -> str | None:
        """The payload of a family; None if there is none."""
        return self._payload(FAMILIES, key)

    def add_family(self, key: str, payload: str, about: Mapping[str, Any]) -> None:
        """Keep a family.

        ``about`` is for people: ``program`` (its name), ``operators``, ``graphs`` (how many). ``objects``, a list of digests, is
        for ``prism cache`` as well: an object that a row names stays as long as the row.
        """
        self._add(FAMILIES, {"key": key, "payload": payload, "about": _json(about)})

    # -- choices: a family, with sizes, dtype, target and options -> candidates

    def choice(self, key: str) -> str | None:
        """The payload of a choice; None if there is none."""
        return self._payload(CHOICES, key)

    def add_choice(self, key: str, family: str, payload: str, about: Mapping[str, Any]) -> None:
        """Keep a choice; ``family`` may be empty: it belongs to none then.

        ``about`` is for people: ``sizes``, ``dtype``, ``target``, ``options``, ``objects`` (their digests).
        """
        self._add(CHOICES, {"key": key, "family": family, "payload": payload, "about": _json(about)})

    # -- measurements of candidates

    def add_measurement(
        self,
        choice: str,
        candidate: str,
        kind: str,
        microseconds: float,
        spread: float | None,
        environment: Mapping[str, Any],
    ) -> None:
        """Append a measurement; none is ever overwritten. Raises ValueError for a time that is no finite number."""
        if not math.isfinite(microseconds) or not (spread is None or math.isfinite(spread)):
            raise ValueError(f"not a time: {microseconds}, {spread}")
        values: dict[str, Value] = {
            "id": uuid.uuid4().hex,
            "choice": choice,
            "candidate": candidate,
            "kind": kind,
            "microseconds": float(microseconds),
            "spread": None if spread is None else float(spread),
            "environment": _json(environment),
        }
        self._add(MEASUREMENTS, values)

    def measurements(self, choice: str) -> list[Measurement]:
        """Measurements of a choice, in the order in which they were added."""
        return [measurement_of(row) for row in self._rows(MEASUREMENTS, {"choice": choice})]

    # -- objects by content

    def object(self, digest: str) -> bytes | None:
        """The content whose SHA-256 (hex) is ``digest``, hashed again; None if there is none."""
        row = self._find(OBJECTS, (digest,))
        return None if row is None else bytes(row["content"])  # type: ignore[arg-type]  # a sound row holds bytes

    def add_object(self, content: bytes, kind: str) -> str:
        """Keep content (PTX, a cubin); its SHA-256 in hex, under which it is found."""
        digest = content_digest(content)
        self._add(OBJECTS, {"digest": digest, "kind": kind, "content": bytes(content)})
        return digest

    # -- finished steps of a run that may be killed

    def step(self, run: str, name: str) -> str | None:
        """The payload of a finished step; None if it is not finished."""
        return self._payload(STEPS, run, name)

    def steps(self, run: str) -> dict[str, str]:
        """Finished steps of a run by name, in the order in which they were written."""
        return {str(row["name"]): str(row["payload"]) for row in self._rows(STEPS, {"run": run})}

    def add_step(self, run: str, name: str, payload: str) -> None:
        """Keep a finished step."""
        self._add(STEPS, {"run": run, "name": name, "payload": payload})

    def drop_steps(self, run: str) -> None:
        """Forget the steps of a run."""
        self._attempt(lambda c: c.execute("DELETE FROM steps WHERE run = ?", (run,)) and None, None, writes=True)
        self._kept[STEPS.name] = 0

    # -- what they have in common

    def _payload(self, table: Table, *key: str) -> str | None:
        row = self._find(table, key)
        return None if row is None else str(row["payload"])

    def _find(self, table: Table, key: tuple[str, ...]) -> dict[str, Value] | None:
        try:
            return self._attempt(lambda connection: find(connection, table, key), None, writes=False)
        except DamagedRow:
            self._report_damage(table, "/".join(key))
            return None

    def _rows(self, table: Table, asked: Mapping[str, str]) -> list[dict[str, Value]]:
        nothing: list[dict[str, Value]] = []
        rows = self._attempt(lambda connection: list(matching(connection, table, asked)), nothing, writes=False)
        sound = [row for row in rows if is_sound(table, row)]
        if len(sound) < len(rows):
            self._report_damage(table, "/".join(asked.values()))
        return sound

    def _add(self, table: Table, values: Mapping[str, Value]) -> None:
        def add(connection: sqlite3.Connection) -> int:
            put(connection, table, sealed(table, values))
            return 1

        self._kept[table.name] += self._attempt(add, 0, writes=True)

    def _attempt(self, action: Callable[[sqlite3.Connection], _T], otherwise: _T, *, writes: bool) -> _T:
        """Do it, or say why not and go on."""
        with self._lock:
            self._reopen_if_needed()
            if self._connection is None or (writes and not self._writes):
                return otherwise
            try:
                return action(self._connection)
            except FAILURES as error:
                self._give_up(error, writes)
                return otherwise

    def _give_up(self, error: Failure, writes: bool) -> None:
        """After a failed write nothing more is written; after a failed read nothing more is read, unless it was of one page."""
        reason, advice = reason_of(error)
        code = code_of(error)
        if code.startswith("SQLITE_TOOBIG"):
            rest = "it is left out"
        elif writes:
            self._writes = False
            rest = "nothing more is kept in this run"
        elif code.startswith("SQLITE_CORRUPT"):
            self._writes = False
            rest = "what cannot be read is left out, and nothing more is kept in this run"
        else:
            self.close()
            rest = "going on without"
        self._tell(f"tuning records in '{self._path}': {reason}; {rest}, {advice}")

    def _report_damage(self, table: Table, key: str) -> None:
        self._tell(
            f"tuning records in '{self._path}': {table.one} '{key}' is damaged and left out; see prism cache verify"
        )

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._warn(text)

    def _reopen_if_needed(self) -> None:
        """After a fork, or when the file was deleted or replaced, what the connection writes would be lost."""
        if self._connection is None or self._path is None:
            return
        owner = _owner(self._path)
        if owner == self._owner:
            return
        if owner[0] == self._owner[0]:
            self.close()
        else:
            _INHERITED.append(self._connection)
        try:
            self._connection = open_database(self._path, Access.CREATE, self._patience)
            self._owner = _owner(self._path)
        except RecordsError as error:
            self._connection = None
            self._tell(f"{error.message}; going on without, {error.hint}")


def _owner(path: Path | None) -> tuple[int, int, int]:
    """The process, and which file is at the path: device and inode."""
    try:
        state = None if path is None else path.stat()
    except OSError:
        state = None
    return (os.getpid(), 0, 0) if state is None else (os.getpid(), state.st_dev, state.st_ino)


def measurement_of(row: Row) -> Measurement:
    """A sound row of the table of measurements."""
    spread = row["spread"]
    return Measurement(
        str(row["choice"]),
        str(row["candidate"]),
        str(row["kind"]),
        float(row["microseconds"]),  # type: ignore[arg-type]  # a sound row holds numbers
        None if spread is None else float(spread),
        json.loads(str(row["environment"])),
        unstamp(str(row["written"])),
        str(row["version"]),
    )


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), sort_keys=True)
