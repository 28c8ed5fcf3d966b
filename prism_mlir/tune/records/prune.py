"""Drop what is old, too much, of other versions, or of no use."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from prism_mlir import __version__
from prism_mlir.tune.records.database import RecordsError, transaction
from prism_mlir.tune.records.overview import Group, Kept, Overview, overview
from prism_mlir.tune.records.schema import CHOICES, TABLES, Table, stamp

Numbered = tuple[Table, int]


@dataclass(frozen=True, slots=True)
class Prune:
    """What to drop. Rows that are damaged, or that belong to what is not there, go in any case.

    ``before``: what was last written before. ``largest``: the oldest, until the rest has at most so many bytes on the disk.
    ``foreign``: what another version of prism wrote. ``everything``: all.
    """

    before: datetime | None = None
    largest: int | None = None
    foreign: bool = False
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went, by table; and whether the file was made smaller, which needs that nobody else uses it."""

    rows: Counter[str]
    compacted: bool


def prune(connection: sqlite3.Connection, what: Prune) -> Pruned:
    """Drop rows, all of them or none, and give their room back to the disk.

    Raises :class:`RecordsError` where parts of the file cannot be read, and sqlite3.Error.
    """
    gone: Counter[str] = Counter()
    with transaction(connection):
        if what.everything:
            for table in TABLES:
                gone[table.name] += connection.execute(f"DELETE FROM {table.name}").rowcount
        else:
            seen = _whole(connection)
            doomed = _useless(seen) | (_foreign(seen) if what.foreign else set())
            doomed |= set() if what.before is None else _older(seen, stamp(what.before))
            _delete(connection, doomed, gone)
            if what.largest is not None:
                _shrink(connection, overview(connection), what.largest, gone)
    return Pruned(gone, _compact(connection))


def _whole(connection: sqlite3.Connection) -> Overview:
    """What there is. Raises :class:`RecordsError` where some cannot be read: rows would seem to belong to nothing."""
    seen = overview(connection)
    if seen.damage.unreadable:
        advice = "save what can be read with prism cache export, delete the file, and import that"
        raise RecordsError(f"nothing is dropped: {'; '.join(seen.damage.reasons())}", None, advice)
    return seen


def _numbers(rows: Iterable[Kept]) -> set[Numbered]:
    return {(row.table, row.number) for row in rows}


def _useless(seen: Overview) -> set[Numbered]:
    return _numbers(seen.loose) | set(seen.damage.rows)


def _foreign(seen: Overview) -> set[Numbered]:
    """Rows of other versions, and what belongs to them."""

    def under(group: Group) -> Iterator[Kept]:
        if group.row.version != __version__:
            yield from group.rows
        else:
            for part in group.parts:
                yield from under(part)

    rows = [row for group in seen.groups for row in under(group)]
    rows += [row for row in (*seen.objects.values(), *seen.steps) if row.version != __version__]
    return _numbers(rows)


def _older(seen: Overview, cutoff: str) -> set[Numbered]:
    """Old choices, old families without others, old runs, and old objects that nothing that stays refers to."""
    rows: list[Kept] = []
    needed: set[str] = set()
    for group in seen.groups:
        if group.newest < cutoff:
            rows += group.rows
            continue
        needed |= group.row.objects
        for part in group.parts:
            if part.row.table is CHOICES and part.newest < cutoff:
                rows += part.rows
            else:
                needed |= part.objects
    for steps in _runs(seen):
        if max(step.written for step in steps) < cutoff:
            rows += steps
    rows += [row for digest, row in seen.objects.items() if row.written < cutoff and digest not in needed]
    return _numbers(rows)


def _runs(seen: Overview) -> list[list[Kept]]:
    runs: defaultdict[str, list[Kept]] = defaultdict(list)
    for step in seen.steps:
        runs[step.parent].append(step)
    return list(runs.values())


def _shrink(connection: sqlite3.Connection, seen: Overview, largest: int, gone: Counter[str]) -> None:
    """Drop families, runs, and objects that nothing refers to, the oldest first, until the pages in use are few enough."""
    users = Counter(digest for group in seen.groups for digest in group.objects)
    units: list[tuple[str, list[Kept], frozenset[str]]] = [
        (group.newest, list(group.rows), group.objects) for group in seen.groups
    ]
    units += [(max(s.written for s in steps), steps, frozenset()) for steps in _runs(seen)]
    units += [(row.written, [row], frozenset()) for digest, row in seen.objects.items() if not users[digest]]
    for _, rows, objects in sorted(units, key=lambda unit: unit[0]):
        if _bytes_in_use(connection) <= largest:
            return
        users.subtract(objects)
        unused = [seen.objects[d] for d in objects if not users[d] and d in seen.objects]
        _delete(connection, _numbers([*rows, *unused]), gone)


def _bytes_in_use(connection: sqlite3.Connection) -> int:
    size, pages, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count")
    )
    return size * (pages - free)


def _delete(connection: sqlite3.Connection, doomed: Iterable[Numbered], gone: Counter[str]) -> None:
    for table, number in doomed:
        gone[table.name] += connection.execute(f"DELETE FROM {table.name} WHERE rowid = ?", (number,)).rowcount


def _compact(connection: sqlite3.Connection) -> bool:
    with suppress(sqlite3.OperationalError):  # others use it, or there is no room for the copy
        connection.execute("VACUUM")
        return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
    return False
