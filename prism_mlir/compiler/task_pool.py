"""Gives tasks to an executor: contexts cross once, results come in order, whatever dies is told as an error of the user's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from time import monotonic
from typing import Any

from prism_mlir.compiler.executors import PROCESSES, OpenExecutor, open_executor, this_process
from prism_mlir.compiler.installation import this_installation
from prism_mlir.compiler.tasks import Context, OtherInstallation, Relay, Task, UnknownContext, run_task
from prism_mlir.graph.errors import ExecutionError

AHEAD = 4  # calls given out for each process, beyond the one whose result is waited for
LOOK = 2.0  # seconds between two looks at an executor that may have become useless


class TaskPool:
    """Tasks on an open executor."""

    def __init__(self, opened: OpenExecutor) -> None:
        self.opened = opened
        self._outstanding: set[Future[Any]] = set()
        self._on_gpu: set[Future[Any]] = set()

    @property
    def jobs(self) -> int:
        """How many tasks run at once."""
        return self.opened.jobs()

    @property
    def here(self) -> bool:
        """Whether tasks run in this process, one after the other."""
        return self.opened.here

    @property
    def on_cluster(self) -> bool:
        """Whether workers may have GPUs of their own."""
        return self.opened.gpu is not None

    def submit(self, context: Context, function: Callable[..., Any], *arguments: Any, gpu: bool = False) -> Future[Any]:
        """``function(context's value, *arguments)``, later.

        gpu: by a worker with a GPU, which has no other such task at the same time; raises :class:`ExecutionError` without one
        """
        if self.here:
            return self.opened.executor.submit(function, context.value, *arguments)
        options = self.opened.gpu() if gpu and self.opened.gpu is not None else {}

        def send(data: bytes | None) -> Future[Any]:
            task = Task(self.opened.installation, context.digest, data, function, arguments)
            return self.opened.executor.submit(run_task, task, **options)

        def again(ended: Future[Any]) -> Future[Any] | None:
            answer = None if ended.exception() is not None else ended.result()
            if isinstance(answer, OtherInstallation):
                raise ExecutionError(
                    f"a worker of {self.opened.name} runs another prism-mlir: "
                    f"{answer.installation.differences(this_installation())}",
                    None,
                    "install the same everywhere and start the workers again",
                )
            return send(context.data) if isinstance(answer, UnknownContext) else None

        relay = Relay(again)
        self._outstanding.add(relay)
        relay.add_done_callback(self._outstanding.discard)
        if options:
            self._on_gpu.add(relay)
            relay.add_done_callback(self._on_gpu.discard)
        relay.follow(send(None))
        return relay

    def ordered(
        self,
        context: Context,
        function: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        seconds_left: Callable[[], float | None] = lambda: None,
        at_once: int | None = None,
    ) -> Generator[Any]:
        """Results of calls, in order, computed ahead: ``at_once`` of them, by default enough that nobody waits.

        Raises what calls raise, in order; :class:`TimeoutError` when no seconds are left. Calls of which nobody takes the result
        are cancelled.
        """
        waiting: deque[Future[Any]] = deque()
        calls = iter(arguments)
        try:
            while True:
                most = at_once or (1 if self.here else 1 + AHEAD * self.jobs)
                while len(waiting) < most and (call := next(calls, None)) is not None:
                    waiting.append(self.submit(context, function, *call))
                if not waiting:
                    return
                yield self.result(waiting[0], seconds_left())
                waiting.popleft()
        finally:
            for future in waiting:
                future.cancel()

    def result(self, future: Future[Any], timeout: float | None = None) -> Any:
        """Wait for a result.

        Raises :class:`TimeoutError`, :class:`ExecutionError` where workers died each time, and what the call raised.
        """
        try:
            return self._await(future, timeout)
        except self.opened.broken:
            raise ExecutionError(f"a process of the search died{self._where}", None, self._hint) from None
        except CancelledError:
            raise ExecutionError(f"a task was cancelled{self._where}", None, "was the cluster stopped?") from None
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] != "prism_mlir":
                raise
            raise ExecutionError(
                f"a worker{self._where} has no prism-mlir ({error})", None, "install the same everywhere"
            ) from None

    def _await(self, future: Future[Any], timeout: float | None) -> Any:
        check, end = self.opened.check, None if timeout is None else monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - monotonic())
            try:
                return future.result(left if check is None else LOOK if left is None else min(LOOK, left))
            except TimeoutError:
                if future.done():  # since; or what the call itself raised
                    return future.result()
                if check is None or (end is not None and monotonic() >= end):
                    raise
                check(future in self._on_gpu)

    def abandon(self) -> None:
        """Cancel everything that is not done, and end what runs where that is possible. The pool can be used on."""
        for future in list(self._outstanding):
            future.cancel()
        self.opened.abandon()

    @property
    def _where(self) -> str:
        return "" if self.opened.name == PROCESSES else f" on {self.opened.name}"

    @property
    def _hint(self) -> str:
        if self.opened.name != PROCESSES:
            return "memory may have run out: the logs of the workers say so"
        return (
            "a script that starts several must be a file, and do so under 'if __name__ == \"__main__\":'; "
            "if it does, memory may have run out: give fewer jobs"
        )


@contextmanager
def open_pool(spec: str = PROCESSES, jobs: int = 1) -> Iterator[TaskPool]:
    """A pool on an executor of its own; see :func:`open_executor`. What nobody waited for is cancelled at the end."""
    with open_executor(spec, jobs) as opened:
        pool = TaskPool(opened)
        try:
            yield pool
        finally:
            for future in list(pool._outstanding):
                future.cancel()


def pool_here() -> TaskPool:
    """A pool that does everything in this process."""
    return TaskPool(this_process())
