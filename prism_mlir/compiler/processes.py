"""Processes of this machine as an executor that outlives the death of any of them, and never outlives who asked.

A process ignores Ctrl-C (who asked decides what becomes of it), and ends when who asked has ended, however that came about.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import Any

from prism_mlir.compiler.tasks import Relay

RETRIES = 3  # times that a call is made again because a process died, perhaps of the call


class Processes(Executor):
    """A pool that is renewed when a process of it dies; calls that were not finished are made again, :data:`RETRIES` times.

    A :class:`ProcessPoolExecutor` ends as a whole when one of its processes is killed. Processes start with the first call.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Raises :class:`BrokenExecutor`, or its future does, where a process died each time."""
        left = RETRIES
        pool, attempt = self._submit(fn, args, kwargs)

        def again(ended: Future[Any]) -> Future[Any] | None:
            nonlocal left, pool
            if self._closed or not isinstance(ended.exception(), BrokenExecutor):
                return None
            self._drop(pool)
            if not left:
                return None
            left -= 1
            pool, following = self._submit(fn, args, kwargs)
            return following

        relay = Relay(again)
        relay.follow(attempt)
        return relay

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes, whatever they do."""
        self._closed = True
        self.abandon()

    def abandon(self) -> None:
        """End all processes, whatever they do; the next call starts others."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            _end(pool)

    def _submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ProcessPoolExecutor, Future[Any]]:
        for _ in range(RETRIES):
            pool = self._current()
            try:
                # Not under our lock: a pool that breaks holds one of its own while it tells us.
                return pool, pool.submit(fn, *args, **kwargs)
            except BrokenExecutor:
                self._drop(pool)
        pool = self._current()
        return pool, pool.submit(fn, *args, **kwargs)

    def _current(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._closed:
                raise RuntimeError("the processes have been ended")
            if self._pool is None:
                resource_tracker.ensure_running()  # its start ends any mask of Ctrl-C
                with ctrl_c_later():  # a process that is just starting knows nothing better than a traceback
                    self._pool = _started(self.jobs)
            return self._pool

    def _drop(self, pool: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None


_PRELOAD = "prism_mlir.compiler.workers"


def _started(jobs: int) -> ProcessPoolExecutor:
    context = get_context("forkserver")  # imports once for all processes, and forks no threads of the caller
    context.set_forkserver_preload([_PRELOAD])  # which must not import egglog: it hangs after a fork
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
    with suppress(BrokenExecutor):  # which the first call will notice
        for _ in range(jobs):
            pool.submit(os.getpid)
    return pool


def _end(pool: ProcessPoolExecutor) -> None:
    with ctrl_c_later():
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(5)
        for process in processes:
            if process.is_alive():
                process.kill()
                process.join()
        pool.shutdown(wait=True)


@contextmanager
def ctrl_c_later() -> Iterator[None]:
    """Ctrl-C waits until the block is done; processes that the block starts do not see it.

    The mask is for those processes, which inherit it; a thread of a library may take the signal all the same.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone is told of signals
        yield
        return
    came: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if came and callable(handler):
        handler(signal.SIGINT, None)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
