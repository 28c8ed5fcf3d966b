"""Folders and archives that appear whole or not at all."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.tools.archive import write_tree

FILES = {"run.py": b"print(1)\n", "rows/a/x.bin": bytes(range(256)), "rows/b/x.bin": b""}


def read_back(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {n: archive.read(n) for n in archive.namelist()}
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "root"), [("out", ""), ("out.tar.gz", "out/"), ("out.tgz", "out/"), ("o.zip", "o/")])
def test_what_is_written_is_there(tmp_path: Path, name: str, root: str) -> None:
    write_tree(tmp_path / name, FILES)
    assert read_back(tmp_path / name) == {root + path: content for path, content in FILES.items()}
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["out.tar.gz", "out.zip"])
def test_the_same_files_give_the_same_archive_which_force_replaces(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path / name, FILES)
    first = (tmp_path / name).read_bytes()
    with pytest.raises(InputError, match="it is there already"):
        write_tree(tmp_path / name, {"run.py": b""})
    write_tree(tmp_path / name, dict(reversed(FILES.items())), force=True)
    assert (tmp_path / name).read_bytes() == first
    write_tree(tmp_path / name, {"run.py": b""}, force=True)
    assert len(read_back(tmp_path / name)) == 1


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    with pytest.raises(InputError, match="it is there already"):
        write_tree(tmp_path / "out", FILES)
    assert read_back(tmp_path) == {"out/mine": b"keep"}


def test_force_replaces_a_bundle_and_no_other_folder(tmp_path: Path) -> None:
    write_tree(tmp_path / "out", {**FILES, "bundle.json": b"{}"})
    write_tree(tmp_path / "out", {"run.py": b"", "bundle.json": b"{}"}, force=True)
    assert read_back(tmp_path / "out") == {"run.py": b"", "bundle.json": b"{}"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mine").write_text("keep")
    (tmp_path / "file").write_text("keep")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for name in ("home", "file", "link"):
        with pytest.raises(InputError, match="cannot replace"):
            write_tree(tmp_path / name, FILES, force=True)
    assert (tmp_path / "home" / "mine").read_text() == (tmp_path / "file").read_text() == "keep"


@pytest.mark.parametrize("name", ["x.rar", "x.tar", "x.gz", "x.tar.xz", "x.7z", "x.TAR.BZ2"])
def test_other_archives_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"is no archive that is made here, end it in \.tar\.gz, \.tgz or \.zip"):
        write_tree(tmp_path / name, FILES)
    assert not list(tmp_path.iterdir())


def test_a_folder_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        write_tree(tmp_path / "no" / "out", FILES)


def test_when_writing_fails_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.write_bytes

    def failing(path: Path, data: bytes) -> int:
        if path.name == "x.bin":
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", failing)
    with pytest.raises(InputError, match="No space left on device"):
        write_tree(tmp_path / "out", FILES)
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_has_the_permissions_of_one(tmp_path: Path) -> None:
    write_tree(tmp_path / "out", FILES)
    (tmp_path / "usual").mkdir()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("out", "usual")]
    assert modes[0] == modes[1]
