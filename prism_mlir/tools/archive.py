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
from prism_mlir.tools.files import write_atomically

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files give the same archive


def write_tree(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files (path below -> content) to a folder, or to an archive where the name says so.

    Raises :class:`InputError` where the folder exists, or cannot be written; an archive of that name is replaced.
    """
    check_writable(path)
    if path.name.endswith((".tar.gz", ".tgz")):
        write_atomically(path, _tar(_stem(path), files))
    elif path.suffix == ".zip":
        write_atomically(path, _zip(_stem(path), files))
    else:
        _write_folder(path.resolve(), files)


def check_writable(path: Path) -> None:
    """Say so before the work is done. Raises as :func:`write_tree`."""
    if path.is_dir():
        raise InputError(f"cannot write '{path}': it is there already", None, "remove it, or name another one")
    if not path.parent.is_dir():
        raise InputError(f"cannot write '{path}': there is no folder '{path.parent}'", None, "make it first")


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
            scratch.rename(path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror}", None, "name another place") from None


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
