"""What is kept: the tables, as data, and the checksum that every row carries."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

Value = str | float | bytes | None
Row = Mapping[str, Value]

APPLICATION_ID = 0x50725473  # "PrTs": says whose database it is
SCHEMA_VERSION = 1

# Ends every row: who wrote it, when, and the checksum of the row.
COMMON = ("version", "written", "sha256")


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns with their SQL types, the first ``keys`` of which name a row, and columns to look up by."""

    name: str
    one: str
    keys: int
    columns: tuple[tuple[str, str], ...]
    indexed: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns[: self.keys])

    @property
    def sealed(self) -> tuple[str, ...]:
        """What the checksum covers: everything but itself."""
        return (*(name for name, _ in self.columns), "version", "written")

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.sealed, "sha256")

    def sql(self) -> list[str]:
        """Statements that create it."""
        columns = [f"{name} {kind}" for name, kind in self.columns] + [f"{name} TEXT NOT NULL" for name in COMMON]
        keys = ", ".join(self.key)
        create = f"CREATE TABLE {self.name} ({', '.join(columns)}, PRIMARY KEY ({keys}))"
        return [create, *(f"CREATE INDEX {self.name}_{c} ON {self.name} ({c})" for c in self.indexed)]


TEXT, NUMBER, NUMBER_OR_NONE, BYTES = "TEXT NOT NULL", "REAL NOT NULL", "REAL", "BLOB NOT NULL"

FAMILIES = Table("families", "family", 1, (("key", TEXT), ("payload", TEXT), ("about", TEXT)))
CHOICES = Table(
    "choices", "choice", 1, (("key", TEXT), ("family", TEXT), ("payload", TEXT), ("about", TEXT)), ("family",)
)
MEASUREMENTS = Table(
    "measurements",
    "measurement",
    1,
    (
        ("id", TEXT),
        ("choice", TEXT),
        ("candidate", TEXT),
        ("kind", TEXT),
        ("microseconds", NUMBER),
        ("spread", NUMBER_OR_NONE),
        ("environment", TEXT),
    ),
    ("choice",),
)
OBJECTS = Table("objects", "object", 1, (("digest", TEXT), ("kind", TEXT), ("content", BYTES)))
STEPS = Table("steps", "step", 2, (("run", TEXT), ("name", TEXT), ("payload", TEXT)))

TABLES = (FAMILIES, CHOICES, MEASUREMENTS, OBJECTS, STEPS)


def seal(table: Table, row: Row) -> str:
    """SHA-256 of a row, in hex: of the table's name and, for each column but the checksum, type, length and bytes.

    The key is part of it, so that a row is never taken for another one's.
    """
    digest = hashlib.sha256(table.name.encode())
    for name in table.sealed:
        tag, data = _bytes(row[name])
        digest.update(tag + struct.pack("<Q", len(data)) + data)
    return digest.hexdigest()


def _bytes(value: Value) -> tuple[bytes, bytes]:
    if isinstance(value, str):
        return b"s", value.encode("utf-8", "surrogateescape")  # damaged text is hashed as the bytes that it is
    if isinstance(value, bytes):
        return b"b", value
    if value is None:
        return b"n", b""
    if not isinstance(value, float):  # a whole number, which only the damaged type of a column leaves as it is stored
        raise TypeError(f"no value of a record: {value!r}")
    return b"f", struct.pack("<d", value)


def content_digest(content: bytes) -> str:
    """SHA-256 in hex: the key of an object."""
    return hashlib.sha256(content).hexdigest()


def stamp(when: datetime) -> str:
    """A time in UTC as text that sorts by time."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def unstamp(text: str) -> datetime:
    """The time that :func:`stamp` wrote. Raises ValueError for other text."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
