"""Tasks: calls in any process of any machine, of functions whose first argument, the context, is sent once and kept.

A context is what many tasks share: a program with what refuting its graphs has taught, a kernel to be checked. A task names it by
digest. A process that does not know it, because it is new or has forgotten, says so, and the task is sent again with the context.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from prism_mlir.compiler.installation import Installation, this_installation

KEPT = 4  # contexts that a process keeps; what they learn may be large


class SentBare:
    """A dataclass that crosses to another process without what its cached properties have loaded."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


class Context:
    """What tasks share. It crosses to another process as pickle makes it, so without what it leaves out of that."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @cached_property
    def data(self) -> bytes:
        return pickle.dumps(self.value, protocol=5)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Task:
    """A call as it is sent: ``function(context, *arguments)``.

    installation: digest of the one that asks; empty where the process that answers runs the same files
    context:      its digest
    data:         the context itself, where the process may not know it
    """

    installation: str
    context: str
    data: bytes | None
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class UnknownContext:
    """The answer of a process that does not have the context."""


@dataclass(frozen=True, slots=True)
class OtherInstallation:
    """The answer of a process whose results might differ from those of whoever asks."""

    installation: Installation


_kept: OrderedDict[str, Any] = OrderedDict()
_one_at_a_time = threading.Lock()  # contexts and the libraries below them are no place for two threads


def run_task(task: Task) -> Any:
    """Do a task in this process: its result, or :class:`UnknownContext`, or :class:`OtherInstallation`."""
    if task.installation and task.installation != this_installation().digest:
        return OtherInstallation(this_installation())
    with _one_at_a_time:
        if task.context not in _kept:
            if task.data is None:
                return UnknownContext()
            _kept[task.context] = pickle.loads(task.data)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(task.context)
        return task.function(_kept[task.context], *task.arguments)


class Relay(Future[Any]):
    """The future of a call that may have to be made again; it ends as the last attempt ends.

    again: called when an attempt has ended; gives the next one, or ``None`` where this was the last
    """

    def __init__(self, again: Callable[[Future[Any]], Future[Any] | None]) -> None:
        super().__init__()
        self._again = again
        self._attempt: Future[Any] | None = None

    def follow(self, attempt: Future[Any]) -> None:
        """Begin, or go on, with an attempt."""
        self._attempt = attempt
        if self.cancelled():
            attempt.cancel()
        attempt.add_done_callback(self._ended)

    def cancel(self) -> bool:
        attempt, cancelled = self._attempt, super().cancel()
        if cancelled and attempt is not None:
            attempt.cancel()
        return cancelled

    def _ended(self, attempt: Future[Any]) -> None:
        # What belongs to an attempt goes here, in the executor's thread: Ctrl-C in a finaliser of the main thread would be lost.
        self._attempt = None
        if self.cancelled():
            return
        with suppress(InvalidStateError):  # cancelled meanwhile
            try:
                following = None if attempt.cancelled() else self._again(attempt)
                if following is not None:
                    self.follow(following)
                else:
                    self.set_result(attempt.result())
            except CancelledError:
                super().cancel()
            except BaseException as error:
                self.set_exception(error)
