"""Find out whether upstream MLIR survives a text, in a forked child, before this process reads it.

Upstream's parser and passes are C++ with assertions: some malformed texts (a list of the wrong type where an operation wants an
array, say) end the process instead of giving a diagnostic. The child ends in our place. Where it ended is found by cutting the
text shorter: a parser that has not come to the bad place yet reports the end of the text and lives.
"""

from __future__ import annotations

import os
import re
import select
import signal
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from prism_mlir.graph.errors import InputError, LimitError, Location
from prism_mlir.graph.quiet_fork import quiet_fork

CPU_SECONDS = 60
"""Processor time for reading a text, and a second more for each megabyte of it."""

MEMORY = 4 << 30
"""Bytes of address space for reading a text, above what the process has, and 64 more for each character."""

_WALL_SECONDS = 1800.0
_LONGEST_SEARCH = 4 << 20  # characters of a text in which the place is looked for; every step parses a part of it
_KEPT = 64
_LAST_WORDS = ("Assertion", "LLVM ERROR", "bad_alloc", "UNREACHABLE", "out of memory")

Reader = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class _Death:
    """How a child ended, and what it said last."""

    signal: int
    words: str


_survived: OrderedDict[str, None] = OrderedDict()
_lock = threading.Lock()


def check_survives(
    text: str, filename: str, read: Reader, parse: Reader, *, kind: str = "", includes: Sequence[str] = ()
) -> None:
    """Return where ``read(text)`` returns or raises an exception.

    Raises a located :class:`InputError` where it would end the process, :class:`LimitError` where it takes too long. ``parse`` is
    the first part of ``read``. A text that was read before is not tried again: ``kind`` says what reading does, ``includes``
    which other kinds are a part of it. Where the platform cannot fork, nothing is tried.
    """
    if not hasattr(os, "fork"):
        return
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    key = f"{kind} {digest}"
    with _lock:
        if key in _survived:
            _survived.move_to_end(key)
            return
    death = _try(lambda: read(text), len(text))
    if death is not None:
        raise _error(death, text, filename, parse)
    with _lock:
        for done in (*includes, kind):
            _survived[f"{done} {digest}"] = None
        while len(_survived) > _KEPT:
            _survived.popitem(last=False)


def _error(death: _Death, text: str, filename: str, parse: Reader) -> InputError | LimitError:
    if death.signal in (signal.SIGXCPU, signal.SIGALRM):
        where = Location(filename, 1, 1)
        return LimitError(
            f"upstream MLIR needs more than {_seconds(len(text))} s to read the text", where, "make it smaller"
        )
    if "bad_alloc" in death.words or "memory" in death.words.lower():
        return LimitError(
            "upstream MLIR needs too much memory to read the text", Location(filename, 1, 1), "make it smaller"
        )
    if death.signal == signal.SIGKILL:
        return LimitError("reading the text was killed", Location(filename, 1, 1), "there may be too little memory")
    reason = f"upstream MLIR cannot survive this text ({death.words or signal.Signals(death.signal).name})"
    return InputError(reason, _place(text, filename, parse), "it is malformed here or just before")


def _place(text: str, filename: str, parse: Reader) -> Location:
    """Where the shortest beginning ends that the parser does not survive; the file's first line if that is none."""
    if len(text) > _LONGEST_SEARCH or _try(lambda: parse(text), len(text)) is None:
        return Location(filename, 1, 1)
    lives, dies = 0, len(text)
    while dies - lives > 1:
        middle = (lives + dies) // 2
        if _try(lambda end=middle: parse(text[:end]), len(text)) is None:  # type: ignore[misc]
            lives = middle
        else:
            dies = middle
    line = text.count("\n", 0, lives) + 1
    return Location(filename, line, lives - (text.rfind("\n", 0, lives) + 1) + 1)


def _seconds(size: int) -> int:
    return CPU_SECONDS + (size >> 20)


def _try(call: Callable[[], object], size: int) -> _Death | None:
    """What ended a child that made the call, on a text of that size; None where it lived."""
    with tempfile.TemporaryFile() as errors:
        reader, writer = os.pipe()
        pid = quiet_fork()
        if pid == 0:
            _child(call, size, reader, errors.fileno())
        os.close(writer)
        status, late = _wait(pid, reader)
        if late:
            return _Death(signal.SIGALRM, "")
        if not os.WIFSIGNALED(status):
            return None
        errors.seek(0)
        return _Death(os.WTERMSIG(status), _last_words(errors.read(1 << 16).decode(errors="replace")))


def _wait(pid: int, reader: int) -> tuple[int, bool]:
    """The status of the child, and whether it had to be killed. Its end closes the pipe."""
    late = True
    try:
        deadline = time.monotonic() + _WALL_SECONDS
        late = not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]
    finally:  # Ctrl-C as well
        os.close(reader)
        if late:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    return status, late


def _child(call: Callable[[], object], size: int, reader: int, errors: int) -> None:
    try:
        os.close(reader)
        os.dup2(errors, 2)
        import faulthandler
        import gc
        import resource

        gc.disable()  # the parent's garbage may belong to threads that are not here
        faulthandler.disable()  # it would write a long report where the parent reads last words
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _limit(resource.RLIMIT_CPU, _seconds(size) + int(time.process_time()))
        _limit(resource.RLIMIT_AS, MEMORY + 64 * size + _address_space())
        call()
    except BaseException:  # the parent meets the same exception, and it means more there
        pass
    finally:
        os._exit(0)


def _limit(what: int, most: int) -> None:
    """Lower a limit of this process to ``most``, if it is not lower already."""
    import resource

    soft, hard = resource.getrlimit(what)
    known = [n for n in (soft, hard, most) if n != resource.RLIM_INFINITY]
    resource.setrlimit(what, (min(known), hard))


def _address_space() -> int:
    """Bytes of address space that this process has; where the system does not say, as if it had a terabyte."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:  # noqa: PTH123
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 40


def _last_words(printed: str) -> str:
    """The message of a failed assertion, or the last line.

    >>> _last_words('python: OperationSupport.cpp:128: void f(): Assertion `value && "may never be null"\\' failed.')
    'may never be null'
    """
    lines = [line.strip() for line in printed.splitlines() if any(w in line for w in _LAST_WORDS)]
    last = lines[-1] if lines else ""
    spoken = re.search(r'"([^"]+)"', last) or re.search(r"Assertion `(.*)' failed", last)
    return spoken[1] if spoken else last[:200]
