"""What a database holds, family by family: for lists, for people, and for deciding what to drop."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prism_mlir.tune.records.scan import Damage, sound_rows
from prism_mlir.tune.records.schema import CHOICES, FAMILIES, MEASUREMENTS, OBJECTS, STEPS, Row, Table
from prism_mlir.tune.records.store import Measurement, measurement_of


@dataclass(frozen=True)
class Kept:
    """A row: where it is, how large, when and by which version it was written, and what it says about itself."""

    table: Table
    number: int
    key: str
    bytes: int
    written: str
    version: str
    about: Mapping[str, Any]
    parent: str = ""  # the family of a choice, the choice of a measurement, the run of a step
    measurement: Measurement | None = None

    @property
    def objects(self) -> frozenset[str]:
        """Digests of objects that it refers to."""
        named = self.about.get("objects", ())
        return frozenset(str(d) for d in named) if isinstance(named, list) else frozenset()


@dataclass(frozen=True)
class Group:
    """A family, a choice, or a run, with what belongs to it and goes with it."""

    row: Kept
    parts: tuple[Group, ...] = ()

    @cached_property
    def rows(self) -> tuple[Kept, ...]:
        return (self.row, *(row for part in self.parts for row in part.rows))

    @cached_property
    def newest(self) -> str:
        """When the latest of its rows was written."""
        return max(row.written for row in self.rows)

    @cached_property
    def objects(self) -> frozenset[str]:
        return frozenset().union(*(row.objects for row in self.rows))

    @property
    def measurements(self) -> list[Measurement]:
        return [row.measurement for row in self.rows if row.measurement is not None]

    @property
    def best(self) -> dict[str, Measurement]:
        """The fastest measurement of each kind: kinds are not compared with each other."""
        best: dict[str, Measurement] = {}
        for found in self.measurements:
            if found.kind not in best or found.microseconds < best[found.kind].microseconds:
                best[found.kind] = found
        return dict(sorted(best.items()))


@dataclass(frozen=True)
class Overview:
    """Everything that is sound. ``alone`` are choices of no family; ``loose`` rows belong to what is not there."""

    families: tuple[Group, ...]
    alone: tuple[Group, ...]
    objects: Mapping[str, Kept]
    steps: tuple[Kept, ...]
    loose: tuple[Kept, ...]
    damage: Damage

    @property
    def groups(self) -> tuple[Group, ...]:
        """What goes or stays as a whole."""
        return self.families + self.alone

    def bytes_of(self, group: Group) -> int:
        """Bytes of a group with the objects that it refers to."""
        return sum(r.bytes for r in group.rows) + sum(self.objects[d].bytes for d in group.objects if d in self.objects)

    @cached_property
    def missing_objects(self) -> tuple[tuple[Kept, str], ...]:
        """Rows with the digests that they name and that are not there."""
        rows = [row for group in self.groups for row in group.rows]
        return tuple((row, digest) for row in rows for digest in sorted(row.objects - set(self.objects)))


def overview(connection: sqlite3.Connection) -> Overview:
    """Read everything once. Raises sqlite3.Error."""
    damage = Damage()
    kept = {table: _kept(connection, table, damage) for table in (FAMILIES, CHOICES, MEASUREMENTS, OBJECTS, STEPS)}
    loose: list[Kept] = []
    measured = _by_parent(kept[MEASUREMENTS], kept[CHOICES], loose)
    chosen = _by_parent([c for c in kept[CHOICES] if c.parent], kept[FAMILIES], loose)
    # What was measured of a choice that belongs to what is not there refers to nothing either.
    loose += [m for row in loose if row.table is CHOICES for m in measured[row.key]]

    def choice(row: Kept) -> Group:
        return Group(row, tuple(Group(m) for m in measured[row.key]))

    families = tuple(Group(family, tuple(map(choice, chosen[family.key]))) for family in kept[FAMILIES])
    alone = tuple(choice(row) for row in kept[CHOICES] if not row.parent)
    return Overview(families, alone, {row.key: row for row in kept[OBJECTS]}, tuple(kept[STEPS]), tuple(loose), damage)


def _kept(connection: sqlite3.Connection, table: Table, damage: Damage) -> list[Kept]:
    return [_one(table, number, row) for number, row in sound_rows(connection, table, damage)]


def _one(table: Table, number: int, row: Row) -> Kept:
    parent = {CHOICES: "family", MEASUREMENTS: "choice", STEPS: "run"}.get(table)
    about = json.loads(str(row["about"])) if "about" in row else {}
    return Kept(
        table,
        number,
        str(row["name"] if table is STEPS else row[table.key[0]]),
        sum(8 if isinstance(v, float) else len(v.encode() if isinstance(v, str) else v or b"") for v in row.values()),
        str(row["written"]),
        str(row["version"]),
        about if isinstance(about, dict) else {},
        "" if parent is None else str(row[parent]),
        measurement_of(row) if table is MEASUREMENTS else None,
    )


def _by_parent(rows: Iterable[Kept], parents: Iterable[Kept], loose: list[Kept]) -> defaultdict[str, list[Kept]]:
    known = {parent.key for parent in parents}
    found: defaultdict[str, list[Kept]] = defaultdict(list)
    for row in rows:
        if row.parent in known:
            found[row.parent].append(row)
        else:
            loose.append(row)
    return found
