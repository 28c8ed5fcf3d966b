"""Write many files as one folder, ``.tar.gz`` or ``.zip``, which appears whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from prism_mlir.graph.errors import InputError
from prism_mlir.tools.files import writable, write_atomically

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files give the same archive


def write_tree(path: Path, files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Write files (path below -> content) to a folder, or to an archive where the name says so.

    Raises :class:`InputError` where it exists, unless ``force`` replaces it, or cannot be written.
    """
    check_writable(path, force=force)
    if path.name.endswith((".tar.gz", ".tgz")):
        write_atomically(path, _tar(_stem(path), files))
    elif path.suffix == ".zip":
        write_atomically(path, _zip(_stem(path), files))
    else:
        _write_folder(path.resolve(), files)


def check_writable(path: Path, *, force: bool = False) -> None:
    """Say so before the work is done. Raises as :func:`write_tree`."""
    if path.suffix.lower() in OTHER_ARCHIVES and not path.name.endswith((".tar.gz", ".tgz")):
        raise InputError(
            f"cannot write '{path}': '{path.suffix}' is no archive that is made here",
            None,
            "end it in .tar.gz, .tgz or .zip, or name a folder",
        )
    if not path.parent.is_dir():
        raise InputError(f"cannot write '{path}': there is no folder '{path.parent}'", None, "make it first")
    if not writable(path.parent):
        raise InputError(f"cannot write '{path}': Permission denied", None, "name another place")
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(
            f"cannot write '{path}': it is there already", None, "remove it, name another one, or give --force"
        )
    if path.is_dir() and (path.is_symlink() or is_archive(path) or not _is_bundle(path)):
        raise InputError(f"cannot replace '{path}': it is a folder, and no bundle", None, "name another one")
    if not path.is_dir() and not is_archive(path):
        raise InputError(f"cannot replace '{path}' with a folder: it is a file", None, "name another one")


OTHER_ARCHIVES = (".rar", ".7z", ".tar", ".gz", ".bz2", ".xz", ".zst", ".tbz", ".tbz2", ".txz", ".lz4", ".cab")


def is_archive(path: Path) -> bool:
    """Whether a file of that name is an archive."""
    return path.name.endswith((".tar.gz", ".tgz", ".zip"))


def _is_bundle(path: Path) -> bool:
    """Whether nothing is lost with a folder that its maker did not put there."""
    return (path / "bundle.json").is_file() or not any(path.iterdir())


def _write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
        try:
            for name, content in files.items():
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                (scratch / name).write_bytes(content)
            mask = os.umask(0)
            os.umask(mask)
            scratch.chmod(0o777 & ~mask)  # a scratch folder is private
            _put(scratch, path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror}", None, "name another place") from None


def _put(scratch: Path, path: Path) -> None:
    """Give a folder its name. What has it steps aside first, and comes back where that fails."""
    if not path.exists():
        scratch.rename(path)
        return
    old = scratch.with_name(f"{scratch.name}.old")
    path.rename(old)
    try:
        scratch.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _stem(path: Path) -> str:
    """What the folder in an archive is called."""
    for ending in (".tar.gz", ".tgz", ".zip"):
        if path.name.endswith(ending):
            return path.name[: -len(ending)] or "bundle"
    return path.name


def _tar(root: str, files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(f"{root}/{name}")
            entry.size = len(files[name])
            archive.addfile(entry, io.BytesIO(files[name]))
    return packed.getvalue()


def _zip(root: str, files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{root}/{name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
    return packed.getvalue()
