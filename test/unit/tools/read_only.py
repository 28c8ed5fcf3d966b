"""What a process may do that may not write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """What is in a folder is read by all and written by none; root, for whom that means nothing, is nobody meanwhile."""
    inside = [folder, *folder.rglob("*")]
    modes = {path: path.stat().st_mode & 0o7777 for path in [*inside, *folder.parents]}
    for path in inside:
        path.chmod(0o555 if path.is_dir() else 0o444)
    private = [path for path in folder.parents if not modes[path] & 0o001]  # those that pytest made
    for path in private:
        path.chmod(modes[path] | 0o011)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(NOBODY)
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in [*inside, *private]:
            path.chmod(modes[path])
