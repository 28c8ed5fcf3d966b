"""``prism cache``: look at tuning records, drop old ones, move them to another machine, and check them."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tools import options as opt
from prism_mlir.tools.files import unreadable, writable
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal
from prism_mlir.tools.usage import Exit, UsageError

if TYPE_CHECKING:
    from prism_mlir.tune.records.database import Access

cache_app = typer.Typer(
    name="cache",
    help="Look at tuning records, drop old ones, move them, and check them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands: list[tuple[str, Callable[..., None], str]] = [
        ("path", path_command, ""),
        ("list", list_command, " --json"),
        ("show", show_command, " 3f9a"),
        ("prune", prune_command, " --older-than 30d --larger-than 500MB"),
        ("export", export_command, " records.jsonl"),
        ("import", import_command, " records.jsonl"),
        ("verify", verify_command, ""),
    ]
    for name, command, example in commands:
        cache_app.command(name, epilog=f"Example: prism cache {name}{example}")(flat(command))
    app.add_typer(cache_app)


@cache_app.callback(invoke_without_command=True)
def _main(context: typer.Context) -> None:
    """Look at tuning records, drop old ones, move them, and check them."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def path_command(*, terminal: Terminal, cache: opt.Cache = None) -> None:
    """Print where the records lie, whether there are any or not."""
    path = _path(cache)
    terminal.console.print(str(path), markup=False)
    terminal.result("cache.path", {"path": str(path), "exists": _exists(path)})


def list_command(*, terminal: Terminal, cache: opt.Cache = None) -> None:
    """List families: their programs, the sizes tuned, the best times and the bytes."""
    from prism_mlir.tools.cache_report import list_data, print_list
    from prism_mlir.tune.records.database import Access
    from prism_mlir.tune.records.overview import overview

    path = _path(cache)
    with terminal.working("reading records"), _open(path, Access.READ, create_none=True) as connection:
        seen = None if connection is None else overview(connection)
    print_list(terminal.console, path, seen)
    terminal.result("cache.list", list_data(path, seen))


def family_keys(context: typer.Context, incomplete: str) -> list[str]:
    """Completes the key of a family. Says nothing where there are no records."""
    from prism_mlir.tune.records.database import Access
    from prism_mlir.tune.records.overview import overview

    try:
        with _open(_path(context.params.get("cache")), Access.READ) as connection:
            assert connection is not None
            return [f.row.key for f in overview(connection).families if f.row.key.startswith(incomplete)]
    except InputError:
        return []


def show_command(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Key of a family, or how it begins.", autocompletion=family_keys)
    ],
    *,
    terminal: Terminal,
    cache: opt.Cache = None,
) -> None:
    """Show everything of one family: its graphs, choices, measurements, and where they were measured."""
    from prism_mlir.tools.cache_report import family_data, print_family
    from prism_mlir.tune.records.database import Access
    from prism_mlir.tune.records.overview import overview

    with terminal.working("reading records"), _open(_path(cache), Access.READ) as connection:
        assert connection is not None
        seen = overview(connection)
    found = [f for f in seen.families if f.row.key.startswith(key)]
    exact = [f for f in found if f.row.key == key]
    if len(exact or found) != 1:
        what = "no family's key begins" if not found else f"the keys of {len(found)} families begin"
        raise InputError(f"{what} with '{key}'", None, "prism cache list shows the keys; give more of one")
    family = (exact or found)[0]
    print_family(terminal.console, seen, family)
    terminal.result("cache.show", family_data(seen, family))


def prune_command(
    *,
    terminal: Terminal,
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Drop what was last written longer ago: 30d, 12h, 2w.")
    ] = None,
    larger_than: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Drop the oldest until the rest is no larger: 500MB, 2GB.")
    ] = None,
    foreign_versions: Annotated[
        bool, typer.Option("--foreign-versions", help="Drop what other versions of prism wrote.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Drop everything.")] = False,
    cache: opt.Cache = None,
) -> None:
    """Drop records, and make the file smaller.

    Without options it drops what is of no use: rows that are damaged, or that belong to what is not there.
    """
    from prism_mlir.tune.records.database import Access, file_bytes
    from prism_mlir.tune.records.prune import Prune, prune

    before = None if older_than is None else datetime.now(UTC) - parse_time(older_than)
    largest = None if larger_than is None else parse_size(larger_than)
    path = _path(cache)
    with terminal.working("dropping records"), _open(path, Access.WRITE) as connection:
        assert connection is not None
        _check_writable(path)
        size = file_bytes(path)
        done = prune(connection, Prune(before, largest, foreign_versions, everything))
    left = file_bytes(path)
    terminal.console.print(f"dropped  {_counted(done.rows)}", markup=False)
    if done.compacted:
        terminal.console.print(f"file     {size} bytes before, {left} after: {path}", markup=False)
    else:
        reason = "another process uses it, or the disk is full"
        terminal.console.print(f"file     {path} is as large as before: {reason}", markup=False)
    data = {"path": str(path), "dropped": dict(done.rows), "bytes_before": size, "bytes": left}
    terminal.result("cache.prune", {**data, "compacted": done.compacted})


def export_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of JSON lines to write.", parser=opt.path)],
    *,
    terminal: Terminal,
    cache: opt.Cache = None,
) -> None:
    """Write all records to a file: JSON lines, one a record, each with its checksum.

    What is damaged is left out and named, and the exit code is 1; the rest is written.
    """
    from prism_mlir.tools.files import check_file, write_atomically
    from prism_mlir.tune.records.database import Access
    from prism_mlir.tune.records.scan import Damage
    from prism_mlir.tune.records.transfer import export_lines

    damage = Damage()
    check_file(file)
    with terminal.working("reading records"), _open(_path(cache), Access.READ) as connection:
        assert connection is not None
        lines = list(export_lines(connection, damage))
        write_atomically(file, "".join(lines))
    count = len(lines) - 2  # head and tail
    terminal.console.print(f"wrote    {file}: {_amount(count, 'record')}", markup=False)
    for reason in damage.reasons():
        print(f"warning: {reason}, and left out; prism cache prune drops it", file=sys.stderr)
    terminal.result("cache.export", {"file": str(file), "records": count, "damaged": damage.reasons()})
    raise typer.Exit(Exit.FAILED if damage else Exit.OK)


def import_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that prism cache export wrote.", parser=opt.path)],
    *,
    terminal: Terminal,
    cache: opt.Cache = None,
) -> None:
    """Add the records of a file, all of them or none. Records that are there already stay as they are.

    Import only what you trust: graphs in it are taken as proved.
    """
    from prism_mlir.tune.records.database import Access
    from prism_mlir.tune.records.transfer import import_rows, parse_lines

    path = _path(cache)
    try:
        with terminal.working("reading records"), file.open(encoding="utf-8", newline="\n") as stream:
            rows = parse_lines(stream, str(file))
    except OSError as error:
        raise unreadable(file, error) from None
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8", Location(str(file), 1, 1), "export again") from None
    with _open(path, Access.CREATE) as connection:
        assert connection is not None
        _check_writable(path)
        new = import_rows(connection, rows)
    counted = f"{_amount(len(rows), 'record')}, {sum(new.values())} new"
    terminal.console.print(f"read     {file}: {counted}", markup=False)
    terminal.console.print(f"new      {_counted(new)}", markup=False)
    terminal.result("cache.import", {"file": str(file), "records": len(rows), "new": dict(new)})


def verify_command(*, terminal: Terminal, cache: opt.Cache = None) -> None:
    """Check the file: SQLite's structure, every checksum, and whether what records refer to is there.

    Exit code 1 with the reasons if something is wrong.
    """
    from prism_mlir.tune.records.check import problems
    from prism_mlir.tune.records.database import Access

    path = _path(cache)
    with terminal.working("checking records"), _open(path, Access.READ, create_none=True) as connection:
        found = [] if connection is None else problems(connection)
    for reason in found[:_MOST_SHOWN]:
        print(f"error: {reason}", file=sys.stderr)
    if len(found) > _MOST_SHOWN:
        print(f"and {len(found) - _MOST_SHOWN} more (--json has them all)", file=sys.stderr)
    terminal.result("cache.verify", {"path": str(path), "exists": connection is not None, "problems": found})
    if found:
        print(f"{path}: {_amount(len(found), 'problem')}; {_REPAIR}", file=sys.stderr)
        raise typer.Exit(Exit.FAILED)
    said = "there are no records yet" if connection is None else "nothing is wrong"
    terminal.console.print(f"{path}: {said}", markup=False)


_MOST_SHOWN = 10  # problems, of which a damaged file has thousands
_REPAIR = "prism cache export saves what can be read, then prism cache prune drops the rest; or delete the file"


# -- options ------------------------------------------------------------------------------------------------------

_TIMES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST = timedelta(days=36525)
_SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_time(text: str) -> timedelta:
    """``30d``: a number and s, m, h, d or w. Raises :class:`UsageError`.

    >>> parse_time("2w").days
    14
    """
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip(), re.ASCII)
    if found is None:
        raise UsageError(f"'{text}' is no length of time", None, "write a number and s, m, h, d or w: 30d")
    length = timedelta(seconds=int(found[1]) * _TIMES[found[2]])
    if length > _LONGEST:
        raise UsageError(f"'{text}' is no length of time before which records could be", None, "write less: 30d")
    return length


def parse_size(text: str) -> int:
    """``500MB``: bytes, in powers of ten, or of two with an i. Raises :class:`UsageError`.

    >>> parse_size("2GiB") == 2 * 1024**3
    True
    """
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([a-zA-Z]*)", text.strip(), re.ASCII)
    if found is None or found[2].upper() not in _SIZES:
        raise UsageError(f"'{text}' is no size", None, "write a number and a unit: 500MB, 2GB, 1GiB")
    return int(float(found[1]) * _SIZES[found[2].upper()])


def _path(folder: Path | None) -> Path:
    """The database file. Raises :class:`InputError` where records are off."""
    from prism_mlir.tune.records.database import default_folder, default_path

    folder = default_folder() if folder is None else folder
    if folder is None:
        raise InputError("PRISM_CACHE_DIR turns tuning records off", None, "unset it, or name a folder with --cache")
    return default_path(folder)


@contextmanager
def _open(path: Path, access: Access, *, create_none: bool = False) -> Iterator[sqlite3.Connection | None]:
    """The open database; None where there is no file, if ``create_none`` allows that. What goes wrong is a ``RecordsError``."""
    from prism_mlir.tune.records.database import FAILURES, Access, RecordsError, open_database, reason_of

    if access is not Access.CREATE and not _exists(path):
        if not create_none:
            raise InputError(
                f"there are no tuning records in '{path.parent}'", None, "compile first, or give --cache DIR"
            )
        yield None
        return
    connection = open_database(path, access)
    try:
        yield connection
    except FAILURES as error:
        reason, advice = reason_of(error)
        raise RecordsError(f"tuning records in '{path}': {reason}", None, advice) from None
    finally:
        connection.close()


def _exists(path: Path) -> bool:
    """Whether there are records; a file of no bytes holds none. Raises :class:`InputError` where nobody can see."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        where = f"cannot look for tuning records in '{path.parent}': {error.strerror}"
        raise InputError(where, None, "name a folder with --cache or PRISM_CACHE_DIR") from None


def _check_writable(path: Path) -> None:
    """A file that cannot be written is opened for reading; say so, and not that what comes next fails."""
    for place, what in ((path, "the file"), (path.parent, "its folder")):
        if not writable(place):
            raise InputError(f"tuning records in '{path}' cannot be changed: {what} is read-only", None, _ALLOW)


_ALLOW = "make file and folder writable, or name another folder with --cache"


def _counted(rows: Mapping[str, int]) -> str:
    """``2 families, 1 step``, or ``nothing``."""
    from prism_mlir.tune.records.schema import TABLES

    parts = [f"{n} {t.one if n == 1 else t.name}" for t in TABLES if (n := rows.get(t.name, 0))]
    return ", ".join(parts) or "nothing"


def _amount(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
