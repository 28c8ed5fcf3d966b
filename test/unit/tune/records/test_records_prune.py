"""What goes and what stays: by age, size, version and use; and what the check of a file finds."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filled import Warnings

from prism_mlir.tune.records import rows
from prism_mlir.tune.records.check import problems
from prism_mlir.tune.records.database import Access, RecordsError, file_bytes, open_database
from prism_mlir.tune.records.prune import Prune, Pruned, prune
from prism_mlir.tune.records.store import Records

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock(datetime):
    """A clock that stands where it is put."""

    at = START

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return cls.at


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Records]:
    monkeypatch.setattr(rows, "datetime", Clock)
    Clock.at = START
    warnings = Warnings()
    with Records.open(tmp_path, warnings) as opened:
        yield opened
    assert warnings.texts == []


def on_day(day: float) -> None:
    Clock.at = START + timedelta(days=day)


def pruned(records: Records, what: Prune) -> Pruned:
    assert records.path is not None
    with closing(open_database(records.path, Access.WRITE)) as connection:
        done = prune(connection, what)
        assert problems(connection) == []
    return done


def test_what_is_old_goes_with_all_that_belongs_to_it(records: Records) -> None:
    on_day(0)
    shared, lonely = records.add_object(b"shared", "ptx"), records.add_object(b"lonely", "ptx")
    records.add_family("old", "x", {})
    records.add_choice("old choice", "old", "x", {"objects": [lonely]})
    records.add_measurement("old choice", "x", "gpu", 1.0, None, {})
    records.add_family("living", "x", {})
    records.add_choice("old choice of the living", "living", "x", {})
    records.add_choice("choice measured again", "living", "x", {"objects": [shared]})
    records.add_step("old run", "search", "x")
    records.add_step("long run", "search", "x")
    on_day(20)
    records.add_measurement("choice measured again", "x", "gpu", 1.0, None, {})
    records.add_step("long run", "prove", "x")
    done = pruned(records, Prune(before=START + timedelta(days=10)))
    assert done.rows == {"families": 1, "choices": 2, "measurements": 1, "objects": 1, "steps": 1}
    assert (records.family("old"), records.family("living")) == (None, "x")
    assert records.choice("choice measured again") == "x"
    assert records.choice("old choice of the living") is None
    assert (records.object(shared), records.object(lonely)) == (b"shared", None)
    assert (records.steps("old run"), set(records.steps("long run"))) == ({}, {"search", "prove"})


def test_an_object_added_again_is_as_young_as_that(records: Records) -> None:
    digest = records.add_object(b"content", "ptx")
    on_day(20)
    records.add_object(b"content", "ptx")
    assert not +pruned(records, Prune(before=START + timedelta(days=10))).rows
    assert records.object(digest) == b"content"


def test_what_is_exactly_as_old_as_allowed_stays(records: Records) -> None:
    records.add_family("f", "x", {})
    assert not +pruned(records, Prune(before=START)).rows
    assert pruned(records, Prune(before=START + timedelta(microseconds=1))).rows == {"families": 1}


def test_the_oldest_go_until_the_rest_is_small_enough(records: Records) -> None:
    """A family and its object take 13 pages of 4096 bytes each, the empty tables 13: 550,000 bytes hold four of them."""
    for i in range(10):
        on_day(i)
        digest = records.add_object(os.urandom(50_000), "cubin")
        records.add_family(f"f{i}", os.urandom(25_000).hex(), {"objects": [digest]})
    done = pruned(records, Prune(largest=550_000))
    assert done.rows == {"families": 6, "objects": 6}
    assert [i for i in range(10) if records.family(f"f{i}") is not None] == [6, 7, 8, 9]
    assert records.path is not None
    assert done.compacted and file_bytes(records.path) <= 550_000
    assert not +pruned(records, Prune(largest=550_000)).rows


def test_objects_that_others_still_use_stay(records: Records) -> None:
    digest = records.add_object(os.urandom(200_000), "cubin")
    for i in range(2):
        on_day(i)
        records.add_family(f"f{i}", os.urandom(25_000).hex(), {"objects": [digest]})
    assert pruned(records, Prune(largest=330_000)).rows == {"families": 1}
    assert records.object(digest) is not None
    assert pruned(records, Prune(largest=100_000)).rows == {"families": 1, "objects": 1}


def test_what_other_versions_wrote_goes(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    records.add_family("ours", "x", {})
    monkeypatch.setattr(rows, "__version__", "0.0.1")
    records.add_choice("theirs", "ours", "x", {})
    records.add_family("theirs", "x", {})
    records.add_step("theirs", "search", "x")
    digest = records.add_object(b"theirs", "ptx")
    monkeypatch.undo()
    records.add_choice("ours of theirs", "theirs", "x", {})
    records.add_measurement("theirs", "x", "gpu", 1.0, None, {})
    done = pruned(records, Prune(foreign=True))
    assert done.rows == {"families": 1, "choices": 2, "measurements": 1, "objects": 1, "steps": 1}
    assert (records.family("ours"), records.object(digest)) == ("x", None)


def test_everything_goes_and_so_does_its_room(records: Records) -> None:
    for i in range(20):
        records.add_family(f"f{i}", os.urandom(20_000).hex(), {})
    assert records.path is not None and file_bytes(records.path) > 800_000
    assert pruned(records, Prune(everything=True)).rows["families"] == 20
    assert file_bytes(records.path) < 100_000
    records.add_family("f0", "again", {})
    assert records.family("f0") == "again"


def changed(records: Records, *statements: str) -> list[str]:
    """What is wrong after statements were run on the file."""
    assert records.path is not None
    with closing(sqlite3.connect(records.path)) as other:
        for statement in statements:
            other.execute(statement)
        other.commit()
    with closing(open_database(records.path, Access.READ)) as connection:
        return problems(connection)


def test_what_is_of_no_use_is_found_and_goes(records: Records) -> None:
    records.add_family("damaged", "x", {})
    records.add_choice("of the damaged", "damaged", "x", {})
    records.add_measurement("of the damaged", "x", "gpu", 1.0, None, {})
    records.add_family("good", "x", {})
    records.add_choice("of nothing", "nowhere", "x", {})
    records.add_measurement("nowhere", "x", "gpu", 1.0, None, {})
    found = changed(records, "UPDATE families SET payload = 'y' WHERE key = 'damaged'")
    assert found[0] == "families: row 1 is damaged"
    assert "choice 'of nothing' belongs to 'nowhere', which is not there" in found
    assert "choice 'of the damaged' belongs to 'damaged', which is not there" in found
    assert len(found) == 5
    done = pruned(records, Prune())
    assert done.rows == {"families": 1, "choices": 2, "measurements": 2}
    assert records.family("good") == "x"


def test_a_choice_of_no_family_is_of_use_and_grows_old(records: Records) -> None:
    digest = records.add_object(b"content", "ptx")
    records.add_choice("check", "", "x", {"objects": [digest]})
    assert not +pruned(records, Prune()).rows
    on_day(1)
    records.add_choice("later check", "", "x", {})
    records.add_measurement("later check", "x", "gpu", 1.0, None, {})
    assert pruned(records, Prune(before=START + timedelta(hours=1))).rows == {"choices": 1, "objects": 1}
    assert records.choice("later check") == "x"
    assert pruned(records, Prune(largest=0)).rows == {"choices": 1, "measurements": 1}


def test_an_object_that_is_named_and_missing_is_found(records: Records) -> None:
    digest = records.add_object(b"content", "ptx")
    records.add_family("f", "x", {})
    records.add_choice("c", "f", "x", {"objects": [digest, "0" * 64]})
    missing = "0" * 64
    assert changed(records) == [f"choice 'c' refers to object {missing}, which is not there"]


def test_a_row_that_an_index_does_not_know_is_found(records: Records) -> None:
    records.add_family("f", "x", {})
    found = changed(
        records,
        "PRAGMA writable_schema = ON",
        "CREATE TABLE other (key TEXT PRIMARY KEY)",
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_other_1') "
        "WHERE name = 'sqlite_autoindex_families_1'",
    )
    assert any("missing from index" in text for text in found)


def test_nothing_is_dropped_from_a_file_that_cannot_be_read_everywhere(records: Records) -> None:
    """Else what belongs to families that cannot be read would go."""
    for i in range(40):
        records.add_family(f"f{i}", "x" * 1000, {})
        records.add_choice(f"c{i}", f"f{i}", "x", {})
    records.close()
    path = records.path
    assert path is not None
    with closing(sqlite3.connect(path)) as other:
        page = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'families'").fetchone()[0]
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    with closing(open_database(path, Access.WRITE)) as connection:
        with pytest.raises(RecordsError, match="nothing is dropped"):
            prune(connection, Prune())
        assert connection.execute("SELECT count(*) FROM choices").fetchone() == (40,)


def test_a_file_that_others_read_is_pruned_and_not_compacted(records: Records) -> None:
    records.add_family("f", "x" * 100_000, {})
    assert records.path is not None
    with closing(sqlite3.connect(records.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM families").fetchone()
        with closing(open_database(records.path, Access.WRITE, 0.1)) as connection:
            done = prune(connection, Prune(everything=True))
        assert reader.execute("SELECT count(*) FROM families").fetchone() == (1,)
    assert done.rows["families"] == 1 and not done.compacted
    assert records.family("f") is None
