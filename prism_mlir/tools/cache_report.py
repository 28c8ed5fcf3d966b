"""Tuning records as JSON values, and as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from prism_mlir.tools.terminal import new_table, print_table
from prism_mlir.tune.records.database import file_bytes
from prism_mlir.tune.records.overview import Group, Kept, Overview
from prism_mlir.tune.records.schema import SCHEMA_VERSION
from prism_mlir.tune.records.store import Measurement

_ROOM = 60  # letters of a program in the list
_SHORT = 12  # letters of a key that tell it from others


def list_data(path: Path, seen: Overview | None) -> dict[str, Any]:
    """The list as JSON values."""
    return {
        "path": str(path),
        "records_version": SCHEMA_VERSION,
        "bytes": file_bytes(path),
        "families": [] if seen is None else [_family_line(seen, family) for family in seen.families],
        "alone": [] if seen is None else [_row_data(choice.row) for choice in seen.alone if not _is_check(choice)],
        "checks": 0 if seen is None else sum(map(_is_check, seen.alone)),
        "objects": 0 if seen is None else len(seen.objects),
        "runs": [] if seen is None else sorted({step.parent for step in seen.steps}),
        "damaged": [] if seen is None else seen.damage.reasons(),
    }


def _is_check(choice: Group) -> bool:
    """Whether it is no choice: the result of checking emitted code is kept in the same table."""
    return "check" in choice.row.about


def _family_line(seen: Overview, family: Group) -> dict[str, Any]:
    return {
        "key": family.row.key,
        "program": family.row.about.get("program"),
        "graphs": family.row.about.get("graphs"),
        "tuned": [_tuned(choice) for choice in family.parts],
        "best_us": {kind: best.microseconds for kind, best in family.best.items()},
        "bytes": seen.bytes_of(family),
        "written": family.row.written,
        "version": family.row.version,
    }


def _tuned(choice: Group) -> dict[str, Any]:
    about = choice.row.about
    return {name: about.get(name) for name in ("sizes", "dtype", "target")}


def family_data(seen: Overview, family: Group) -> dict[str, Any]:
    """Everything of a family as JSON values."""
    return {
        **_row_data(family.row),
        "bytes": seen.bytes_of(family),
        "choices": [
            {
                **_row_data(choice.row),
                "measurements": [_measurement_data(m) for m in choice.measurements],
                "best_us": {kind: best.microseconds for kind, best in choice.best.items()},
            }
            for choice in family.parts
        ],
        "objects": [
            {"digest": d, "bytes": seen.objects[d].bytes if d in seen.objects else None} for d in sorted(family.objects)
        ],
    }


def _row_data(row: Kept) -> dict[str, Any]:
    return {"key": row.key, "about": dict(row.about), "written": row.written, "version": row.version}


def _measurement_data(found: Measurement) -> dict[str, Any]:
    return {
        "candidate": found.candidate,
        "kind": found.kind,
        "us": found.microseconds,
        "spread_us": found.spread,
        "when": found.when.isoformat(),
        "version": found.version,
        "environment": dict(found.environment),
    }


def print_list(console: Console, path: Path, seen: Overview | None) -> None:
    """The list for people."""
    if seen is None:
        console.print(f"{path}: there are no records yet", markup=False)
        return
    table = new_table("family", "program", "graphs", "tuned for", "best", "bytes", "written")
    for family in seen.families:
        about = family.row.about
        tuned = "\n".join(_tuned_text(choice) for choice in family.parts)
        told = [_program_text(about), str(about.get("graphs", "")), tuned, _best_text(family)]
        cells = [family.row.key[:_SHORT], *told, str(seen.bytes_of(family)), family.row.written[:16]]
        table.add_row(*(Text(_plain(cell)) for cell in cells))
    if seen.families:
        print_table(console, table)
    runs = len({step.parent for step in seen.steps})
    checks = sum(map(_is_check, seen.alone))
    alone = len(seen.alone) - checks
    counts = [
        amount(len(seen.families), "family", "families"),
        amount(alone, "choice of no family", "choices of no family") if alone else "",
        amount(checks, "check") if checks else "",
        amount(len(seen.objects), "object"),
        amount(runs, "unfinished run") if runs else "",
        f"{file_bytes(path)} bytes",
    ]
    console.print(Text(_plain(f"{path}: {', '.join(filter(None, counts))}")))
    if seen.damage:
        places = amount(len(seen.damage.reasons()), "damaged place")
        console.print(f"{places} left out; see prism cache verify")


def amount(number: int, one: str, many: str | None = None) -> str:
    """``1 family``, ``2 families``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def print_family(console: Console, seen: Overview, family: Group) -> None:
    """Everything of a family for people."""
    lines = [f"family   {family.row.key}", *_about_lines(family.row), f"bytes    {seen.bytes_of(family)}"]
    for choice in family.parts:
        lines += ["", f"choice   {choice.row.key}", *_about_lines(choice.row)]
        lines += [f"  {_measurement_text(found)}" for found in choice.measurements]
        where = {_pairs(found.environment): None for found in choice.measurements if found.environment}
        lines += [f"  measured on {text}" for text in where]
    lines += [""] if family.objects else []
    for digest in sorted(family.objects):
        size = f"{seen.objects[digest].bytes} bytes" if digest in seen.objects else "not there"
        lines.append(f"object   {digest}: {size}")
    console.print("\n".join(_plain(line) for line in lines), markup=False)


def _about_lines(row: Kept) -> list[str]:
    about = {name: value for name, value in row.about.items() if name != "objects"}
    lines = [f"  {name}: {_text(value)}" for name, value in about.items() if value not in ({}, [], "")]
    return [*lines, f"  written {row.written} by prism {row.version}"]


def _tuned_text(choice: Group) -> str:
    return " ".join(_text(v) for v in _tuned(choice).values() if v is not None) or choice.row.key[:_SHORT]


def _program_text(about: Mapping[str, Any]) -> str:
    """The name of a program, and its operators as far as there is room."""
    text = ": ".join(_text(about[name]) for name in ("program", "operators") if about.get(name))
    return text if len(text) <= _ROOM else text[: _ROOM - 4] + " ..."


def _best_text(group: Group) -> str:
    return "\n".join(f"{best.microseconds:.6g} us ({kind})" for kind, best in group.best.items())


def _measurement_text(found: Measurement) -> str:
    spread = "" if found.spread is None else f" +- {found.spread:.3g}"
    return f"{found.microseconds:.6g}{spread} us ({found.kind}) {found.candidate}, {found.when:%Y-%m-%d %H:%M}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    """JSON for people: ``m 16, n 1024``; shapes are ``16x1024``."""
    if isinstance(value, dict):
        return _pairs(value)
    if isinstance(value, list):
        shape = bool(value) and all(isinstance(v, int) for v in value)
        return "x".join(map(str, value)) if shape else ", ".join(map(_text, value))
    return str(value)


def _plain(text: str) -> str:
    """Text without what would move a terminal's cursor: records may come from another machine."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
