"""Files cut off, with bytes changed, or of others: never a traceback, never a payload that was not written."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from filled import EVERYTHING, FAMILIES, Warnings, fill, read_what_is_there
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from prism_mlir.tune.records.check import problems
from prism_mlir.tune.records.database import Access, RecordsError, open_database
from prism_mlir.tune.records.scan import Damage
from prism_mlir.tune.records.schema import APPLICATION_ID, SCHEMA_VERSION
from prism_mlir.tune.records.store import Records
from prism_mlir.tune.records.transfer import export_lines, import_rows, parse_lines


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("whole"))


@contextmanager
def damaged(folder: Path, content: bytes) -> Iterator[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "records.sqlite"
    path.write_bytes(content)
    yield path


def use(folder: Path) -> tuple[int, list[str]]:
    """Read all, write some, read it again. How much of the old was found, and the warnings."""
    warnings = Warnings()
    with Records.open(folder, warnings) as records:
        found = read_what_is_there(records)
        records.add_family("new", "new payload", {})
        records.add_family("family 3", FAMILIES["family 3"], {})
        digest = records.add_object(b"new content", "ptx")
        assert records.family("new") in (None, "new payload")
        assert records.object(digest) in (None, b"new content")
        read_what_is_there(records)
        records.drop_steps("run")
    assert len(warnings.texts) == len(set(warnings.texts))
    return found, warnings.texts


def test_an_undamaged_file_is_read_completely(whole: Path, tmp_path: Path) -> None:
    with damaged(tmp_path / "d", whole.read_bytes()):
        assert use(tmp_path / "d") == (EVERYTHING, [])


def test_cut_off_at_every_512_bytes(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    for size in range(0, len(content), 512):
        with damaged(tmp_path / "d", content[:size]):
            found, warnings = use(tmp_path / "d")
            assert warnings or not size, f"{size} bytes: nothing was said"
            assert found < EVERYTHING or size > len(content) - 4096


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=40))
def test_with_bytes_changed(whole: Path, tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    content = bytearray(whole.read_bytes())
    for place, change in changes:
        content[place % len(content)] ^= change
    with damaged(tmp_path / "d", bytes(content)):
        use(tmp_path / "d")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=8))
@example([(3186, 1)])  # the type of a column: whole numbers come back as such
def test_an_export_of_a_damaged_file_holds_what_was_written_only(
    whole: Path, tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    original = lines_of(whole)
    content = bytearray(whole.read_bytes())
    for place, change in changes:
        content[100 + place % (len(content) - 100)] ^= change  # the header aside
    with damaged(tmp_path / "d", bytes(content)) as path:
        damage = Damage()
        try:
            with closing(open_database(path, Access.READ)) as connection:
                lines = list(export_lines(connection, damage))
                problems(connection)
        except RecordsError:
            return
    assert set(lines[1:-1]) <= set(original)
    assert len(lines) == len(original) or damage


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A database and its log, in which the steps of a run are."""
    path = fill(tmp_path_factory.mktemp("logged"))
    with Records.open(path.parent, Warnings()) as records:
        for i in range(20):
            records.add_step("late", f"{i}", f"late {i} " * 50)
        return path.read_bytes(), Path(f"{path}-wal").read_bytes()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(0, 255), st.booleans())
def test_with_a_damaged_log(logged: tuple[bytes, bytes], tmp_path: Path, place: int, change: int, cut: bool) -> None:
    """SQLite takes a log up to the first transaction that is damaged: what is read is a beginning of what was written."""
    content, whole_log = logged
    log = bytearray(whole_log)
    log[place % len(log)] ^= change
    with damaged(tmp_path / "d", content) as path:
        Path(f"{path}-wal").write_bytes(log[: place % len(log)] if cut else log)
        warnings = Warnings()
        with Records.open(tmp_path / "d", warnings) as records:
            found = records.steps("late")
            assert read_what_is_there(records) == EVERYTHING
        assert found == {f"{i}": f"late {i} " * 50 for i in range(len(found))}
        assert warnings.texts == []
        assert change or cut or len(found) == 20


def lines_of(path: Path) -> list[str]:
    damage = Damage()
    with closing(open_database(path, Access.READ)) as connection:
        lines = list(export_lines(connection, damage))
        assert not damage and problems(connection) == []
    return lines


def test_an_export_saves_what_lies_around_a_damaged_page(whole: Path, tmp_path: Path) -> None:
    """Every page but the first is damaged once: rows on other pages are saved, and can be imported."""
    content = whole.read_bytes()
    rows = len(lines_of(whole)) - 2
    saved = []
    for page in range(1, len(content) // 4096):
        broken = content[: page * 4096] + b"\xff" * 4096 + content[(page + 1) * 4096 :]
        with damaged(tmp_path / "d", broken) as path:
            damage = Damage()
            with closing(open_database(path, Access.READ)) as connection:
                lines = list(export_lines(connection, damage))
                assert problems(connection) != []
            parsed = parse_lines(lines, "export")
            with closing(open_database(tmp_path / f"new {page}" / "records.sqlite", Access.CREATE)) as connection:
                assert sum(import_rows(connection, parsed).values()) == len(parsed)
                import_rows(connection, parsed)
            saved.append(len(parsed))
    # A page of an index holds no row, one of overflow belongs to one row; the worst is a table's only or topmost page.
    assert max(saved) == rows
    assert min(saved) >= rows - max(len(FAMILIES), 12)
    assert sum(saved) > 0.8 * rows * len(saved)


def test_a_changed_payload_is_reported_and_missing_and_written_anew(tmp_path: Path) -> None:
    path = fill(tmp_path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE families SET payload = 'forged' WHERE key = 'family 2'")
        other.execute("UPDATE objects SET content = x'00' WHERE length(content) = 100")
        other.execute("UPDATE measurements SET microseconds = 0.001 WHERE microseconds = 0.5")
        other.execute("UPDATE steps SET payload = 'forged' WHERE name = 'step 1'")
        other.commit()
    warnings = Warnings()
    with Records.open(tmp_path, warnings) as records:
        for _ in range(2):
            assert read_what_is_there(records) == EVERYTHING - 4
        assert len(warnings.texts) == 4 and all("is damaged and left out" in text for text in warnings.texts)
        assert "family 'family 2'" in warnings.texts[0]
        records.add_family("family 2", FAMILIES["family 2"], {})
        assert records.family("family 2") == FAMILIES["family 2"]


def test_a_row_under_another_key_is_not_taken_for_that_one(tmp_path: Path) -> None:
    path = fill(tmp_path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE families SET key = 'family x' WHERE key = 'family 2'")
        other.commit()
    warnings = Warnings()
    with Records.open(tmp_path, warnings) as records:
        assert records.family("family x") is None
    assert "family 'family x' is damaged" in warnings.texts[0]


@pytest.mark.parametrize(
    "application, version, reason",
    [
        (APPLICATION_ID, SCHEMA_VERSION + 1, "a newer version of prism wrote it"),
        (0x0F055112, 1, "a database of another program"),
        (0, 0, "a database of another program"),
    ],
)
def test_a_foreign_database_is_not_touched(tmp_path: Path, application: int, version: int, reason: str) -> None:
    path = tmp_path / "records.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE families (x)")
        other.execute(f"PRAGMA application_id = {application}")
        other.execute(f"PRAGMA user_version = {version}")
    content = path.read_bytes()
    found, warnings = use(tmp_path)
    assert found == 0 and len(warnings) == 1 and reason in warnings[0] and "going on without" in warnings[0]
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["records.sqlite"]


@pytest.mark.parametrize("content", [b"x", b"SQLite format 3\0", b"\0" * 8192, random.Random(0).randbytes(8192)])
def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path, content: bytes) -> None:
    with damaged(tmp_path / "d", content) as path:
        found, warnings = use(tmp_path / "d")
        assert (
            found == 0
            and len(warnings) == 1
            and "no SQLite database, delete the file" in warnings[0].replace("; going on without", "")
        )
        assert path.read_bytes() == content


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    with damaged(tmp_path / "d", b""):
        assert use(tmp_path / "d") == (0, [])
