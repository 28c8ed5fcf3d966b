"""Run a call in a forked child with limits on memory, processor time and files, and say how it ended.

Everything that is imported already is there in the child, so a command line costs milliseconds and not seconds; a crash of the
C++ below is an outcome and not the end of the test.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO

CRASHED = 70  # exit code where the call raised


@dataclass(frozen=True)
class Limits:
    """What a call may use. memory is the address space in bytes; wall is there for calls that wait without working."""

    memory: int = 8 << 30
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    file_bytes: int = 256 << 20


@dataclass(frozen=True)
class Outcome:
    """How a call ended. code: its result, or None where a signal or the clock ended it (``ending`` says which)."""

    code: int | None
    ending: str
    out: str
    err: str
    seconds: float


def run(call: Callable[[], int], folder: Path, limits: Limits = Limits()) -> Outcome:
    """``call()`` in a child whose working directory is ``folder``."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of this process are not missed in the child
            pid = os.fork()
        if pid == 0:
            _child(call, folder, limits, out.fileno(), err.fileno())
        status, late = _wait(pid, started + limits.wall_seconds)
        seconds = time.monotonic() - started
        texts = [_text(stream) for stream in (out, err)]
    if late:
        return Outcome(None, f"no end within {limits.wall_seconds:g} s", *texts, seconds)
    if os.WIFSIGNALED(status):
        return Outcome(None, signal.Signals(os.WTERMSIG(status)).name, *texts, seconds)
    return Outcome(os.WEXITSTATUS(status), "exit", *texts, seconds)


def _text(stream: object) -> str:
    stream.seek(0)  # type: ignore[attr-defined]
    return stream.read(1 << 20).decode(errors="replace")  # type: ignore[attr-defined, no-any-return]


def _wait(pid: int, deadline: float) -> tuple[int, bool]:
    """The status of a child; whether it had to be killed. Its own children go with it."""
    pause = 0.002
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            _kill_group(pid)
            return status, False
        if time.monotonic() > deadline:
            _kill_group(pid)
            return os.waitpid(pid, 0)[1], True
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _stream(descriptor: int) -> TextIO:
    return io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)


def _child(call: Callable[[], int], folder: Path, limits: Limits, out: int, err: int) -> NoReturn:
    code = CRASHED
    try:
        os.setsid()
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDONLY)
        for descriptor, place in ((null, 0), (out, 1), (err, 2)):
            os.dup2(descriptor, place)
        sys.stdout, sys.stderr = _stream(1), _stream(2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 5))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        faulthandler.dump_traceback_later(0.9 * limits.wall_seconds)  # where a call waits
        code = call()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
