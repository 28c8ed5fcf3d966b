"""Locked, read-only, full, in the way, without memory to share: a reason, once, and the work goes on."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from filled import EVERYTHING, Warnings, fill, read_what_is_there
from processes import in_child, open_folder

from prism_mlir.tune.records import database
from prism_mlir.tune.records.check import problems
from prism_mlir.tune.records.database import Access, open_database
from prism_mlir.tune.records.store import Records


def write_until_warned(folder: Path, limit: int = 3000) -> tuple[list[str], list[str]]:
    """Add families until there is a warning, then some more: the keys that were kept, and the warnings."""
    warnings = Warnings()
    kept = []
    with Records.open(folder, warnings) as records:
        for i in range(limit):
            records.add_family(f"f{i}", f"payload {i} " * 200, {})
            if warnings.texts:
                break
            kept.append(f"f{i}")
        for i in range(5):
            records.add_step("run", f"{i}", "x")
            records.add_object(bytes(10000), "ptx")
        for key in kept:
            assert records.family(key) == f"payload {key[1:]} " * 200
    return kept, warnings.texts


def assert_kept(folder: Path, kept: list[str]) -> None:
    warnings = Warnings()
    with Records.open(folder, warnings) as records:
        for key in kept:
            assert records.family(key) == f"payload {key[1:]} " * 200
        records.add_family("more", "room", {})
        assert records.family("more") == "room"
    assert warnings.texts == []
    with closing(open_database(folder / "records.sqlite", Access.READ)) as connection:
        assert problems(connection) == []


# -- no room ---------------------------------------------------------------------------------------------------------


def test_a_full_database_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = database._prepared

    def small(uri: str, patience: float, *, writes: bool) -> sqlite3.Connection:
        connection = prepared(uri, patience, writes=writes)
        connection.execute("PRAGMA max_page_count = 40")
        return connection

    monkeypatch.setattr(database, "_prepared", small)
    kept, warnings = write_until_warned(tmp_path)
    assert 10 < len(kept) < 80  # 40 pages of 4096 bytes, 2.4 KB each
    assert len(warnings) == 1 and "the disk is full" in warnings[0] and "prism cache prune" in warnings[0]
    monkeypatch.undo()
    assert_kept(tmp_path, kept)


def test_a_limit_on_file_sizes_is_like_a_full_disk(tmp_path: Path) -> None:
    def limited() -> list[str]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        kept, warnings = write_until_warned(tmp_path)
        return [*warnings, "--", *kept]

    said = in_child(limited)
    kept = said[said.index("--") + 1 :]
    assert len(kept) > 10
    assert said.index("--") == 1 and "the disk" in said[0] and "nothing more is kept in this run" in said[0]
    assert_kept(tmp_path, kept)


FILL_TMPFS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_trouble import assert_kept, write_until_warned
folder = Path(sys.argv[1])
kept, warnings = write_until_warned(folder)
assert len(kept) > 10 and len(warnings) == 1 and "the disk" in warnings[0], (len(kept), warnings)
blocker = folder.parent / "blocker"
assert blocker.exists()
blocker.unlink()
assert_kept(folder, kept)
print("kept", len(kept))
"""


def test_a_full_file_system(tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size=512k none "{tmp_path}" && head -c 100000 /dev/zero > "{tmp_path}/blocker"'
    unshare = shutil.which("unshare")
    space = [str(unshare), "--user", "--map-root-user", "--mount", "sh", "-c"]
    if unshare is None or subprocess.run([*space, mount], capture_output=True, check=False).returncode:
        pytest.skip("no small file system can be mounted without root")
    here = str(Path(__file__).parent)
    command = [*space, f'{mount} && exec "$@"', "sh", sys.executable, "-c", FILL_TMPFS, str(tmp_path / "cache"), here]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("kept"), done.stderr


def test_a_payload_that_is_too_large_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LARGEST", 100_000)
    warnings = Warnings()
    with Records.open(tmp_path, warnings) as records:
        records.add_family("large", "x" * 200_000, {})
        assert records.family("large") is None
        records.add_family("small", "x", {})
        assert records.family("small") == "x"
    assert len(warnings.texts) == 1 and "it is left out" in warnings.texts[0]


# -- locks -----------------------------------------------------------------------------------------------------------


@contextmanager
def held(path: Path, *statements: str) -> Iterator[None]:
    """Another process that has run statements on the database, and keeps its connection."""
    code = (
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for s in sys.argv[2:]: c.execute(s).fetchall()\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(path), *statements]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        yield
        other.stdin.close()


def test_while_another_process_holds_the_write_lock_reading_goes_on(tmp_path: Path) -> None:
    path = fill(tmp_path)
    warnings = Warnings()
    with (
        Records.open(tmp_path, Warnings()),
        held(path, "BEGIN EXCLUSIVE"),
        Records.open(tmp_path, warnings, patience=0.1) as records,
    ):
        assert read_what_is_there(records) == EVERYTHING
        for i in range(3):
            records.add_family(f"f{i}", "x", {})
        assert read_what_is_there(records) == EVERYTHING
    assert len(warnings.texts) == 1
    assert "another process keeps it locked" in warnings.texts[0]
    assert "nothing more is kept in this run, end that process" in warnings.texts[0]


def test_while_another_process_has_the_file_for_itself_nothing_is_found(tmp_path: Path) -> None:
    path = fill(tmp_path)
    warnings = Warnings()
    alone = ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE", "DELETE FROM steps", "COMMIT")
    with held(path, *alone), Records.open(tmp_path, warnings, patience=0.1) as records:
        assert read_what_is_there(records) == 0
    assert len(warnings.texts) == 1 and "another process keeps it locked" in warnings.texts[0]
    with Records.open(tmp_path, warnings) as records:
        assert read_what_is_there(records) > 0
    assert len(warnings.texts) == 1


def test_a_short_lock_is_waited_for(tmp_path: Path) -> None:
    path = fill(tmp_path)
    warnings = Warnings()
    with Records.open(tmp_path, warnings, patience=60) as records:
        waiting = threading.Thread(target=lambda: records.add_family("waited", "for it", {}))
        with held(path, "BEGIN EXCLUSIVE"):
            waiting.start()
            time.sleep(0.3)
        waiting.join()
        assert records.family("waited") == "for it"
    assert warnings.texts == []


# -- places that cannot be written -----------------------------------------------------------------------------------


def read_and_write(folder: Path) -> list[str]:
    """How much could be read, whether a new record is found again, and the warnings."""
    warnings = Warnings()
    with Records.open(folder, warnings) as records:
        found = read_what_is_there(records)
        records.add_family("new", "x", {})
        records.add_step("new", "new", "x")
        assert read_what_is_there(records) == found
        return [str(found), str(records.family("new")), *warnings.texts]


def read_only_folder(folder: Path) -> None:
    (folder / "records.sqlite").chmod(0o444)
    folder.chmod(0o555)


def read_only_file(folder: Path) -> None:
    (folder / "records.sqlite").chmod(0o444)


def writable_file_in_read_only_folder(folder: Path) -> None:
    (folder / "records.sqlite").chmod(0o666)
    folder.chmod(0o555)


@pytest.mark.parametrize("close", [read_only_folder, read_only_file, writable_file_in_read_only_folder])
def test_what_cannot_be_written_can_be_read(close: Callable[[Path], None]) -> None:
    with open_folder() as scratch:
        folder = scratch / "cache"
        content = fill(folder).read_bytes()
        close(folder)
        found, new, *warnings = in_child(lambda: read_and_write(folder), unprivileged=True)
        assert (found, new) == (str(EVERYTHING), "None")
        assert len(warnings) == 1 and "cannot be written" in warnings[0] and "make it writable" in warnings[0]
        assert (folder / "records.sqlite").read_bytes() == content


def test_a_read_only_folder_whose_file_others_write_can_be_read() -> None:
    with open_folder() as scratch:
        folder = scratch / "cache"
        fill(folder)
        with Records.open(folder, Warnings()) as owner:
            owner.add_family("recent", "in the log", {})
            for path in folder.iterdir():
                path.chmod(0o444)
            folder.chmod(0o555)

            def read() -> list[str]:
                with Records.open(folder, Warnings()) as records:
                    return [str(records.family("recent")), str(read_what_is_there(records))]

            assert in_child(read, unprivileged=True) == ["in the log", str(EVERYTHING)]


def test_an_immutable_file_can_be_read(tmp_path: Path) -> None:
    path = fill(tmp_path)
    chattr = shutil.which("chattr")
    if chattr is None or subprocess.run([chattr, "+i", path, tmp_path], capture_output=True, check=False).returncode:
        pytest.skip("chattr +i is not possible here")
    try:
        found, new, *warnings = read_and_write(tmp_path)
    finally:
        subprocess.run([chattr, "-i", path, tmp_path], check=True)
    assert (found, new) == (str(EVERYTHING), "None")
    assert len(warnings) == 1 and "cannot be written" in warnings[0]


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o555])
def test_a_folder_without_permission(mode: int) -> None:
    with open_folder() as scratch:
        folder = scratch / "cache"
        folder.mkdir()
        folder.chmod(mode)
        found, new, *warnings = in_child(lambda: read_and_write(folder), unprivileged=True)
        assert (found, new) == ("0", "None")
        assert len(warnings) == 1 and "going on without" in warnings[0] and "PRISM_CACHE_DIR" in warnings[0]


def test_a_file_without_permission() -> None:
    with open_folder() as scratch:
        fill(scratch).chmod(0o000)
        found, new, *warnings = in_child(lambda: read_and_write(scratch), unprivileged=True)
        assert (found, new) == ("0", "None")
        assert len(warnings) == 1 and "Permission denied; going on without" in warnings[0]


@pytest.mark.parametrize("name", ["file", "file/below", "file/far/below"])
def test_a_folder_that_is_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    found, new, *warnings = read_and_write(tmp_path / name)
    assert (found, new) == ("0", "None")
    assert len(warnings) == 1 and "going on without" in warnings[0]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_database_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "records.sqlite").mkdir()
    found, new, *warnings = read_and_write(tmp_path)
    assert (found, new) == ("0", "None")
    assert len(warnings) == 1 and "Is a directory; going on without" in warnings[0]


def test_without_a_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PRISM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    warnings = Warnings()
    with Records.open(warn=warnings) as records:
        assert records.path is None
    assert len(warnings.texts) == 1 and "set PRISM_CACHE_DIR to a folder" in warnings.texts[0]


def test_a_file_system_that_cannot_share_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own file layer for such systems (locks are files) refuses the log as they do."""
    uri = database._uri
    monkeypatch.setattr(database, "_uri", lambda path, mode: uri(path, mode) + "&vfs=unix-dotfile")
    found, new, *warnings = read_and_write(tmp_path)
    assert (found, new) == ("0", "None")
    assert len(warnings) == 1 and "cannot share memory" in warnings[0] and "local disk" in warnings[0]


@pytest.mark.parametrize("what", ["file", "folder", "replaced"])
def test_a_file_deleted_meanwhile_is_created_anew(tmp_path: Path, what: str) -> None:
    path = fill(tmp_path / "cache")
    warnings = Warnings()
    with Records.open(tmp_path / "cache", warnings) as records:
        records.add_family("old", "x", {})
        if what == "folder":
            shutil.rmtree(path.parent)
        else:
            path.unlink()
        if what == "replaced":
            fill(tmp_path / "cache")
        records.add_family("new", "x", {})
        assert (records.family("old"), records.family("new")) == (None, "x")
    with Records.open(tmp_path / "cache", warnings) as records:
        assert records.family("new") == "x"
        assert read_what_is_there(records) == (EVERYTHING if what == "replaced" else 0)
    assert warnings.texts == []


# -- born under fire -------------------------------------------------------------------------------------------------


def test_processes_that_create_one_file_at_once_agree(tmp_path: Path) -> None:
    """Four processes open a new folder at the same moment, one is killed at some moment; the others keep all they add."""
    for i in range(15):
        folder = tmp_path / str(i)
        reader, writer = os.pipe()
        children = [_start_at(reader, writer, folder, n) for n in range(4)]
        os.close(reader)
        os.close(writer)  # the last copy: all begin
        time.sleep(0.001 * i)
        os.kill(children[0], signal.SIGKILL)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert codes[1:] == [0, 0, 0] and codes[0] in (0, -signal.SIGKILL)
        with Records.open(folder, Warnings()) as records:
            assert [records.family(str(n)) for n in range(1, 4)] == ["x", "x", "x"]


def _start_at(reader: int, writer: int, folder: Path, n: int) -> int:
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(writer)
            os.read(reader, 1)
            warnings = Warnings()
            with Records.open(folder, warnings, patience=60) as records:
                records.add_family(str(n), "x", {})
            code = 2 if warnings.texts else 0
        finally:
            os._exit(code)
    return child
