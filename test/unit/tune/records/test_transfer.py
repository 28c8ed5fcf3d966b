"""Out to a file and into another database: the same content, or nothing at all."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from filled import EVERYTHING, FAMILIES, Warnings, fill, read_what_is_there

from prism_mlir.graph.errors import InputError
from prism_mlir.tune.records.check import problems
from prism_mlir.tune.records.database import Access, open_database
from prism_mlir.tune.records.scan import Damage
from prism_mlir.tune.records.store import Records
from prism_mlir.tune.records.transfer import export_lines, import_rows, parse_lines


def exported(path: Path) -> list[str]:
    damage = Damage()
    with closing(open_database(path, Access.READ)) as connection:
        lines = list(export_lines(connection, damage))
    assert not damage
    return lines


def imported(lines: list[str], path: Path) -> dict[str, int]:
    rows = parse_lines(lines, "x.jsonl")
    with closing(open_database(path, Access.CREATE)) as connection:
        new = import_rows(connection, rows)
        assert problems(connection) == []
    return dict(new)


def test_what_is_exported_and_imported_is_the_same(tmp_path: Path) -> None:
    lines = exported(fill(tmp_path / "a"))
    assert len(lines) == EVERYTHING + 2
    other = tmp_path / "b" / "records.sqlite"
    new = imported(lines, other)
    assert new == {"families": 12, "choices": 12, "objects": 8, "measurements": 8, "steps": 5}
    assert exported(other) == lines
    with Records.open(tmp_path / "b", Warnings()) as records:
        assert read_what_is_there(records) == EVERYTHING
        assert [m.environment for m in records.measurements("choice 0")] == [{"gpu": "A100"}] * 8
    assert imported(lines, other) == {}


def test_an_import_adds_and_replaces_nothing(tmp_path: Path) -> None:
    with Records.open(tmp_path / "a", Warnings()) as records:
        records.add_family("both", "theirs", {})
        records.add_family("theirs", "theirs", {})
        records.add_measurement("c", "x", "gpu", 1.0, None, {})
    with Records.open(tmp_path / "b", Warnings()) as records:
        records.add_family("both", "ours", {})
        records.add_choice("c", "both", "ours", {})
        records.add_measurement("c", "x", "gpu", 1.0, None, {})
        new = imported(exported(tmp_path / "a" / "records.sqlite"), tmp_path / "b" / "records.sqlite")
        assert (records.family("both"), records.family("theirs")) == ("ours", "theirs")
        assert len(records.measurements("c")) == 2
    assert new == {"families": 1, "measurements": 1}


def test_an_import_replaces_what_is_damaged_or_of_an_older_version_than_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Records.open(tmp_path / "a", Warnings()) as records:
        records.add_family("f", "new", {})
        records.add_family("g", "new", {})
    lines = exported(tmp_path / "a" / "records.sqlite")
    monkeypatch.setattr("prism_mlir.tune.records.rows.__version__", "0.0.1")
    with Records.open(tmp_path / "b", Warnings()) as records:
        records.add_family("f", "old", {})
        older = exported(tmp_path / "b" / "records.sqlite")
        monkeypatch.undo()
        records.add_family("g", "damaged", {})
    path = tmp_path / "b" / "records.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE families SET payload = 'forged' WHERE key = 'g'")
        other.commit()
    assert imported(lines, path) == {"families": 2}
    assert imported(older, path) == {}
    with Records.open(tmp_path / "b", Warnings()) as records:
        assert (records.family("f"), records.family("g")) == ("new", "new")


def test_the_lines_are_as_documented(tmp_path: Path) -> None:
    """Each line's checksum, computed here from the description of the format."""
    kinds = {"s": str.encode, "f": lambda v: struct.pack("<d", v), "b": lambda v: v}
    for line in exported(fill(tmp_path))[1:-1]:
        row = json.loads(line)
        table, seal = row.pop("table"), row.pop("sha256")
        digest = hashlib.sha256(table.encode())
        for name, value in row.items():
            value = base64.b64decode(value) if name == "content" else value
            kind = "n" if value is None else {str: "s", float: "f", bytes: "b"}[type(value)]
            data = b"" if value is None else kinds[kind](value)
            digest.update(kind.encode() + len(data).to_bytes(8, "little") + data)
        assert digest.hexdigest() == seal


Change = Callable[[list[dict[str, Any]]], object]


def _of(rows: list[dict[str, Any]], table: str) -> dict[str, Any]:
    return next(row for row in rows if row.get("table") == table)


WRONG: dict[str, tuple[Change, str]] = {
    "a payload": (lambda rows: _of(rows, "families").update(payload="forged"), "does not match its checksum"),
    "a key": (lambda rows: _of(rows, "families").update(key="other"), "does not match its checksum"),
    "another family's": (lambda rows: _of(rows, "choices").update(family="family 1"), "does not match its checksum"),
    "a checksum": (lambda rows: _of(rows, "choices").update(sha256="0" * 64), "does not match its checksum"),
    "a time": (lambda rows: _of(rows, "measurements").update(microseconds=0.25), "does not match its checksum"),
    "a time that is none": (lambda rows: _of(rows, "measurements").update(microseconds=True), "'microseconds' is not"),
    "a text for a time": (lambda rows: _of(rows, "measurements").update(microseconds="1"), "'microseconds' is not"),
    "a number for a text": (lambda rows: _of(rows, "steps").update(payload=1), "'payload' is not"),
    "half a character": (lambda rows: _of(rows, "steps").update(payload="\udc80"), "'payload' is not"),
    "no base64": (lambda rows: _of(rows, "objects").update(content="*"), "'content' is not"),
    "a table": (lambda rows: _of(rows, "steps").update(table="sqlite_master"), "there is no table 'sqlite_master'"),
    "a list for a table": (lambda rows: _of(rows, "steps").update(table=[]), "there is no table"),
    "a column more": (lambda rows: _of(rows, "steps").update(more=1), "missing or not known: more"),
    "a column less": (lambda rows: _of(rows, "steps").pop("run"), "missing or not known: run"),
    "a row less": (lambda rows: rows.pop(4), "rows are missing"),
    "the end": (lambda rows: rows.pop(), "the end is missing"),
    "more after the end": (lambda rows: rows.append(rows[3]), "there is more after the end"),
    "the beginning": (lambda rows: rows.pop(0), "holds no tuning records"),
    "a newer format": (lambda rows: rows[0].update(format_version=2), "format version 2 is not known"),
    "nothing": (lambda rows: rows.clear(), "the end is missing"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_wrong_anywhere_is_refused(tmp_path: Path, what: str) -> None:
    rows = [json.loads(line) for line in exported(fill(tmp_path / "a"))]
    change, reason = WRONG[what]
    change(rows)
    with pytest.raises(InputError, match=reason) as caught:
        parse_lines([json.dumps(row) + "\n" for row in rows], "x.jsonl")
    assert str(caught.value).startswith("x.jsonl:")


@pytest.mark.parametrize("line", ["", "x", "[1]", '"x"', "[" * 100_000, "{" + '"a":{' * 50_000])
def test_a_line_that_is_no_object_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"x.jsonl:1:1: error: the line is no JSON object"):
        parse_lines([line], "x.jsonl")


def test_of_rows_that_cannot_be_written_none_is(tmp_path: Path) -> None:
    rows = parse_lines(exported(fill(tmp_path / "a")), "x.jsonl")
    table, row = rows[-1]
    broken = [*rows[:-1], (table, {name: value for name, value in row.items() if name != "payload"})]
    with (
        closing(open_database(tmp_path / "b" / "records.sqlite", Access.CREATE)) as connection,
        pytest.raises(KeyError),
    ):
        import_rows(connection, broken)
    with Records.open(tmp_path / "b", Warnings()) as records:
        assert read_what_is_there(records) == 0
        records.add_family("family 0", FAMILIES["family 0"], {})
        assert read_what_is_there(records) == 1
