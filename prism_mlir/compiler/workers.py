"""Processes that search and prove parts of one program, and that never outlive whoever asked them.

A worker ignores Ctrl-C (who asked decides what becomes of it), and ends when who asked has ended, however that came about.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from types import TracebackType
from typing import TYPE_CHECKING, Any

from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search import parallel
from prism_mlir.search.instantiate import Accept
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.verdict import Verdict

if TYPE_CHECKING:
    from prism_mlir.verify.prove import ProofLimits

AHEAD = 4  # calls given out for each process, beyond the one whose result is waited for


class Judge:
    """Refutes and proves graphs of one program; crosses to another process without what it has learned."""

    def __init__(self, program: Program, seed: int, limits: ProofLimits | None = None) -> None:
        self.program, self.seed, self.limits = program, seed, limits
        self.refuter = Refuter(program, seed=seed)

    def __reduce__(self) -> tuple[Any, ...]:
        return Judge, (self.program, self.seed, self.limits)

    def accept(self, graph: KernelGraph, dim: str) -> bool:
        """The search's question "could this be right when only one parallel dim counts?", answered by exact arithmetic."""
        return self.refuter.refute_alone(graph, dim) is None

    def judge(self, graphs: Sequence[KernelGraph]) -> list[Verdict]:
        """A verdict for each graph. What a graph's verdict is may depend on the graphs that are judged with it."""
        from prism_mlir.verify.verify import verify  # takes a second to import, which a search can do without

        return verify(self.program, graphs, seed=self.seed, limits=self.limits, refuter=self.refuter)


class Workers:
    """A pool for :mod:`prism_mlir.search.parallel` that judges graphs as well. To be used in a ``with`` statement."""

    def __init__(self, jobs: int, judge: Judge) -> None:
        self.jobs, self._accept, self._judge = jobs, judge.accept, judge
        context = get_context("forkserver")  # imports once for all processes, and forks no threads of the caller
        context.set_forkserver_preload([__name__])  # which must not import egglog: it hangs after a fork
        self._executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(judge,))

    def __enter__(self) -> Workers:
        try:
            with _ctrl_c_later():  # a process that is just starting knows nothing better than a traceback
                self._started = [self._executor.submit(os.getpid) for _ in range(self.jobs)]
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        with _ctrl_c_later():
            processes = list((self._executor._processes or {}).values())
            self._executor.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(5)
            for process in processes:
                if process.is_alive():
                    process.kill()
                    process.join()
            self._executor.shutdown(wait=True)

    def submit(self, graphs: Sequence[KernelGraph]) -> Future[list[Verdict]]:
        """Verdicts of some graphs, later."""
        return self._executor.submit(_verdicts, tuple(graphs))

    def ordered(
        self,
        function: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        seconds_left: Callable[[], float | None] = lambda: None,
    ) -> Iterator[Any]:
        """See :class:`prism_mlir.search.parallel.Pool`."""
        waiting: deque[Future[Any]] = deque()
        calls = iter(arguments)
        try:
            while True:
                while len(waiting) <= AHEAD * self.jobs and (call := next(calls, None)) is not None:
                    waiting.append(self._executor.submit(function, *call))
                if not waiting:
                    return
                yield result_of(waiting[0], seconds_left())
                waiting.popleft()
        finally:
            for future in waiting:
                future.cancel()


def result_of(future: Future[Any], timeout: float | None = None) -> Any:
    """Wait for a result. Raises :class:`TimeoutError`, and :class:`ExecutionError` where a process died."""
    try:
        return future.result(timeout)
    except BrokenProcessPool:
        raise ExecutionError(
            "a process of the search died",
            hint="a script that starts several must be a file, and do so under 'if __name__ == \"__main__\":'; "
            "if it does, memory may have run out: give fewer jobs",
        ) from None


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
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


_judges: list[Judge] = []


def _begin(judge: Judge) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    accept: Accept = judge.accept
    _judges[:] = [judge]
    parallel.begin(judge.program, accept)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _verdicts(graphs: Sequence[KernelGraph]) -> list[Verdict]:
    (judge,) = _judges
    return judge.judge(graphs)
