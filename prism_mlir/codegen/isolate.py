"""Run a function where its crash cannot take the caller along.

LLVM ends the process on some inputs ("Cannot select", failed assertions). A forked child costs a few milliseconds,
shares everything already imported, and turns such an end into an exception that carries LLVM's last words.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import select
import signal
import tempfile
import time
from collections.abc import Callable
from typing import NoReturn, TypeVar

from prism_mlir.graph.quiet_fork import quiet_fork

T = TypeVar("T")


class ChildDiedError(Exception):
    """The child ended without an answer. ``stderr`` holds what it printed, ``reason`` how it ended."""

    def __init__(self, reason: str, stderr: str) -> None:
        super().__init__(reason, stderr)
        self.reason = reason
        self.stderr = stderr


def run_isolated(function: Callable[[], T], timeout: float = 120.0) -> T:
    """``function()`` computed in a forked child; its picklable result or exception is passed on.

    Raises :class:`ChildDiedError` if the child is killed by a signal, exits early, or needs more than ``timeout`` s.
    Where the platform cannot fork, the function runs in this process.
    """
    if not hasattr(os, "fork"):
        return function()
    with tempfile.TemporaryFile() as stderr:
        reader, writer = os.pipe()
        pid = quiet_fork()
        if pid == 0:
            os.close(reader)
            _child(function, writer, stderr.fileno())
        os.close(writer)
        answer = None
        try:
            answer = _read_all(reader, time.monotonic() + timeout)
        finally:
            os.close(reader)
            if answer is None:
                os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        stderr.seek(0)
        printed = stderr.read().decode(errors="replace")
    if answer is None:
        raise ChildDiedError(f"no answer within {timeout:g} s", printed)
    if not answer:
        ending = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
        raise ChildDiedError(ending, printed)
    succeeded, value = pickle.loads(answer)
    if not succeeded:
        raise value
    result: T = value
    return result


def _read_all(descriptor: int, deadline: float) -> bytes | None:
    """Everything the child writes until it closes the pipe; ``None`` if ``deadline`` passes first."""
    parts: list[bytes] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return None
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _child(function: Callable[[], object], writer: int, stderr: int) -> NoReturn:
    try:
        os.dup2(stderr, 2)
        faulthandler.disable()  # the parent may have pointed it elsewhere
        gc.disable()  # the parent's garbage may belong to threads that are not here
        try:
            answer = pickle.dumps((True, function()))
        except Exception as error:
            answer = pickle.dumps((False, error))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
    finally:
        os._exit(0)
