"""Run a function in a process of its own, as another user where this one may do everything."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


def in_child(action: Callable[[], list[str]], *, unprivileged: bool = False) -> list[str]:
    """What a function returns that runs in a forked process. Raises AssertionError with its traceback if it raises."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(reader)
            if unprivileged and os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            text = "\0".join(action())
            code = 0
        except BaseException:
            text = traceback.format_exc()
        with os.fdopen(writer, "w") as stream:
            stream.write(text)
        sys.stderr.flush()
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"status {status}: {text}"
    return text.split("\0") if text else []


@contextmanager
def open_folder() -> Iterator[Path]:
    """A scratch folder that every user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="prism-records-"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o777)
        shutil.rmtree(folder)
