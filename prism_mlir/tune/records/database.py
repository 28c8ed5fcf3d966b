"""One SQLite file: opened, created, and, where it cannot be used, said why.

Many processes use the file at once. SQLite's write-ahead log lets them read while one writes; a transaction is short, and takes
the write lock when it begins, so that it waits at its start or not at all. ``synchronous=FULL`` writes the log to the disk at
every commit: what was committed outlives a killed process and, on a disk that keeps its word, a loss of power. A search takes
seconds, a commit a few milliseconds.

References: https://www.sqlite.org/wal.html, https://www.sqlite.org/rescode.html, https://www.sqlite.org/fileformat2.html
(section 1.3).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

from prism_mlir.graph.errors import PrismError
from prism_mlir.tune.records.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES

PATIENCE = 10.0  # seconds to wait for another process's lock
LARGEST = 1 << 28  # bytes of one value: a damaged length must not ask for all the memory there is

_MAGIC = b"SQLite format 3\0"
_RETRY = 0.01


# What SQLite's errors look like. Its messages may quote a damaged file, which is then no text for Python's module.
FAILURES = (sqlite3.Error, UnicodeDecodeError)
Failure = sqlite3.Error | UnicodeDecodeError


class RecordsError(PrismError):
    """The tuning records cannot be used."""


class Access(Enum):
    """What is wanted of a database; values are SQLite's names."""

    CREATE = "rwc"
    WRITE = "rw"
    READ = "ro"


# By the beginning of SQLite's name of the error, the more special first.
_REASONS = (
    ("SQLITE_READONLY_DBMOVED", "the file was moved or deleted", "start again"),
    ("SQLITE_READONLY", "the file or its folder cannot be written", "make it writable, or set PRISM_CACHE_DIR"),
    ("SQLITE_BUSY", "another process keeps it locked", "end that process, or set PRISM_CACHE_DIR"),
    ("SQLITE_LOCKED", "another process keeps it locked", "end that process, or set PRISM_CACHE_DIR"),
    ("SQLITE_PROTOCOL", "its locks do not work", "set PRISM_CACHE_DIR to a folder on a local disk"),
    ("SQLITE_FULL", "the disk is full", "make room, for example with prism cache prune"),
    ("SQLITE_IOERR_SHM", "the file system cannot share memory", "set PRISM_CACHE_DIR to a folder on a local disk"),
    ("SQLITE_IOERR_LOCK", "its locks do not work", "set PRISM_CACHE_DIR to a folder on a local disk"),
    ("SQLITE_IOERR", "the disk refuses", "look for a full disk or a limit on file sizes, or set PRISM_CACHE_DIR"),
    ("SQLITE_CANTOPEN", "it cannot be opened", "check the permissions of file and folder, or set PRISM_CACHE_DIR"),
    ("SQLITE_PERM", "it cannot be opened", "check the permissions of file and folder, or set PRISM_CACHE_DIR"),
    ("SQLITE_TOOBIG", f"a record is larger than {LARGEST >> 20} MB", "set PRISM_CACHE_DIR=off to keep none"),
)
_DAMAGED = "save what can be read with prism cache export, then delete the file"


def reason_of(error: Failure) -> tuple[str, str]:
    """What is wrong, with SQLite's own words, and what to do about it."""
    if isinstance(error, UnicodeDecodeError):
        return "the file is damaged", _DAMAGED
    name = code_of(error)
    for prefix, reason, advice in _REASONS:
        if name.startswith(prefix):
            return f"{reason} ({error})", advice
    return f"the file is damaged ({error})", _DAMAGED


def code_of(error: Failure) -> str:
    """SQLite's name of the error; what Python's module finds by itself has none."""
    if isinstance(error, UnicodeDecodeError):
        return "SQLITE_CORRUPT"
    return getattr(error, "sqlite_errorname", None) or ("SQLITE_TOOBIG" if isinstance(error, sqlite3.DataError) else "")


def open_database(path: Path, access: Access, patience: float = PATIENCE) -> sqlite3.Connection:
    """Open the file, created with its folder where ``access`` says so; for reading only where it cannot be written.

    A file that is not ours, or of a newer schema, is not touched. ``patience``: seconds to wait for a lock. Raises
    :class:`RecordsError` with the reason.
    """
    try:
        if access is Access.CREATE:
            path.parent.mkdir(parents=True, exist_ok=True)
        _check_header(path)
        return _connect(path, access, patience)
    except FileExistsError:
        raise _unusable(path, f"'{path.parent}' is a file", "delete it, or set PRISM_CACHE_DIR") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _unusable(path, reason, "check the path, or set PRISM_CACHE_DIR to a folder you can write") from None
    except FAILURES as error:
        reason, advice = reason_of(error)
        # An export opens the file as well.
        raise _unusable(path, reason, "delete the file" if advice == _DAMAGED else advice) from None


def _unusable(path: Path, reason: str, advice: str) -> RecordsError:
    return RecordsError(f"tuning records in '{path}' cannot be used: {reason}", None, advice)


def _check_header(path: Path) -> None:
    """Refuse what is not ours before SQLite opens it: SQLite may repair and rewrite what it opens.

    A file of no bytes is one that is being created.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(100)
    except FileNotFoundError:
        return
    if not head:
        return
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise _unusable(path, "it is no SQLite database", "delete the file")
    ours, version = int.from_bytes(head[68:72], "big"), int.from_bytes(head[60:64], "big")
    if ours != APPLICATION_ID:
        raise _unusable(path, "it is a database of another program", "set PRISM_CACHE_DIR to another folder")
    if version != SCHEMA_VERSION:
        whose = "a newer" if version > SCHEMA_VERSION else "another"
        advice = "use that version, or set PRISM_CACHE_DIR to another folder"
        raise _unusable(path, f"{whose} version of prism wrote it (schema {version}, not {SCHEMA_VERSION})", advice)


def _connect(path: Path, access: Access, patience: float) -> sqlite3.Connection:
    if access is not Access.READ:
        try:
            return _prepared(_uri(path, access.value), patience, writes=True)
        except FAILURES as error:
            if not path.exists() or not code_of(error).startswith(
                ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
            ):
                raise
    try:
        return _prepared(_uri(path, "ro"), patience, writes=False)
    except FAILURES:
        # A folder that cannot be written holds no files for locks; nobody writes then, unless there is a log of one.
        log = Path(f"{path}-wal")
        if not path.exists() or (log.exists() and log.stat().st_size):
            raise
        return _prepared(_uri(path, "ro") + "&immutable=1", patience, writes=False)


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


def _prepared(uri: str, patience: float, *, writes: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        # What stands in a damaged file is not run, and is looked at before it is used.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA synchronous = FULL")
        if writes:
            _create(connection)
            _log_ahead(connection, patience)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables, all at once, where there are none."""
    if connection.execute("PRAGMA user_version").fetchone()[0]:
        return
    with transaction(connection):
        if connection.execute("PRAGMA user_version").fetchone()[0]:
            return  # another process was faster
        for table in TABLES:
            for statement in table.sql():
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _log_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """Use a write-ahead log. SQLite does not wait for others by itself here."""
    until = time.monotonic() + patience
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
            if mode != "wal":
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if not code_of(error).startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise
            time.sleep(_RETRY)
            continue
        if mode != "wal":
            failure = sqlite3.OperationalError(f"journal mode {mode}")
            failure.sqlite_errorname = "SQLITE_IOERR_SHMOPEN"
            raise failure
        return


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock from the start."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(*FAILURES):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def file_bytes(path: Path) -> int:
    """Bytes on the disk, with the log; 0 where there is no file."""
    return sum(p.stat().st_size for p in (path, Path(f"{path}-wal")) if p.exists())


def default_path(folder: Path) -> Path:
    """The database file of a folder."""
    return folder / "records.sqlite"


def default_folder() -> Path | None:
    """Where records lie: ``PRISM_CACHE_DIR``, else ``prism`` in ``XDG_CACHE_HOME``, else ``~/.cache/prism``.

    None where ``PRISM_CACHE_DIR`` is empty or ``off``. Raises :class:`RecordsError` where there is no home folder.
    """
    given = os.environ.get("PRISM_CACHE_DIR")
    if given is not None:
        return None if given.strip() in ("", "off") else Path(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if Path(base).is_absolute():  # the XDG specification ignores others
        return Path(base) / "prism"
    try:
        return Path.home() / ".cache" / "prism"
    except RuntimeError as error:
        raise RecordsError(f"tuning records have no place: {error}", None, "set PRISM_CACHE_DIR to a folder") from None
