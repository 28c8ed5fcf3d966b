"""Where tasks run: in this process, in processes of this machine, or on a Dask cluster. What comes back is the same."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from prism_mlir.compiler.installation import this_installation
from prism_mlir.compiler.processes import Processes
from prism_mlir.graph.errors import ExecutionError, InputError, MissingToolError

PROCESSES, SERIAL = "processes", "serial"
SPECS = "processes, serial, dask://HOST:PORT"
CONNECT_SECONDS, START_SECONDS = 5, 15  # until the scheduler answers, and until a worker has started
FRESH_SECONDS = 2.0
ALONE_SECONDS = 30.0  # a cluster without a worker for this long is given up: whoever restarts workers has had the time
GPU = {"GPU": 1}
"""What a Dask worker declares (``--resources GPU=1``) to be given kernels to time, one at once."""


@dataclass(frozen=True, slots=True)
class OpenExecutor:
    """An executor, and what whoever gives it tasks must know.

    name:         for messages
    executor:     takes calls
    jobs:         how many run at once; a cluster may grow
    broken:       errors of a call that say "a worker died of it, again and again", not "it failed"
    here:         calls run in this very process, when they are submitted
    installation: digest that workers must have, empty where they run the same files
    gpu:          what ``submit`` is also told for a call that needs a GPU; ``None`` where this process has to do it
    check:        raises where waiting for a call, with or without a GPU, has become pointless
    abandon:      ends what runs, as far as that is possible
    """

    name: str
    executor: Executor
    jobs: Callable[[], int]
    broken: tuple[type[BaseException], ...] = (BrokenExecutor,)
    here: bool = False
    installation: str = ""
    gpu: Callable[[], Mapping[str, Any]] | None = None
    check: Callable[[bool], None] | None = None
    abandon: Callable[[], None] = field(default=lambda: None)


@contextmanager
def open_executor(spec: str = PROCESSES, jobs: int = 1) -> Iterator[OpenExecutor]:
    """An executor for the time of a ``with`` block. Nothing of it is left behind; a cluster stays as it was.

    spec: ``processes``, of which there are ``jobs``; ``serial``, which is the same as one; or a Dask scheduler,
          ``dask://HOST:PORT`` (``tcp://`` and ``tls://`` as Dask writes it), all of whose workers are used

    Raises :class:`InputError` for another spec, :class:`MissingToolError` where Dask is not installed,
    :class:`ExecutionError` for a cluster that does not answer within a few seconds.
    """
    check_spec(spec, jobs)
    if _DASK.fullmatch(spec):
        _import_dask(spec)
        with _only_our_words(), _dask(spec) as opened:
            yield opened
    elif spec == SERIAL or jobs == 1:
        yield this_process()
    else:
        processes = Processes(jobs)
        try:
            yield OpenExecutor(PROCESSES, processes, lambda: jobs, abandon=processes.abandon)
        finally:
            processes.shutdown()


_DASK = re.compile(r"(dask|tcp|tls)://[^\s/]+:\d+/?")


def check_spec(spec: str, jobs: int = 1) -> None:
    """Raises :class:`InputError` for a spec that names no executor. Nothing is started or asked."""
    if jobs < 1:
        raise InputError(f"jobs is {jobs}, it must be at least 1")
    if spec not in (PROCESSES, SERIAL) and not _DASK.fullmatch(spec):
        raise InputError(f"no executor is called '{spec}'", None, f"known: {SPECS}")


def on_cluster(spec: str) -> bool:
    """Whether tasks go to other machines, GPUs included."""
    return _DASK.fullmatch(spec) is not None


class InThisProcess(Executor):
    """Makes a call at once, when it is submitted. Ctrl-C comes out of ``submit``."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def this_process() -> OpenExecutor:
    """The executor that needs nothing to be opened."""
    return OpenExecutor(SERIAL, InThisProcess(), lambda: 1, here=True)


def _import_dask(spec: str) -> None:
    """It sets up its loggers then."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingToolError(f"{spec} needs Dask", None, "pip install prism-mlir[distributed]")
    importlib.import_module("distributed")


@contextmanager
def _dask(spec: str) -> Iterator[OpenExecutor]:
    from distributed import Client
    from distributed.scheduler import KilledWorker

    address = re.sub(r"^dask://", "", spec).rstrip("/")  # without a scheme Dask takes that of its configuration
    try:
        with ThreadPoolExecutor(1) as thread:  # which has no event loop yet, whatever the caller has
            thread.submit(asyncio.run, _knock(address)).result()
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="prism")
    except (OSError, RuntimeError, TypeError, ValueError, ImportError) as error:  # a timeout is an OSError
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ExecutionError(f"no Dask scheduler answers at {spec} ({reason})", None, _START) from None
    try:
        cluster = _Cluster(client, spec)
        cluster.wait()
        yield OpenExecutor(
            spec,
            OnCluster(client),
            cluster.workers,
            (BrokenExecutor, KilledWorker),
            installation=this_installation().digest,
            gpu=cluster.gpu,
            check=cluster.check,
        )
    finally:
        client.close(timeout=CONNECT_SECONDS)


class OnCluster(Executor):
    """Calls on a Dask client's workers. ``submit`` takes what the client's takes beside arguments, such as ``resources``.

    The client's own executor waits for the scheduler's answer to each ``cancel``, and logs an error where a call ends while it is
    cancelled.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # A key of its own for each call: no result is taken from another run.
        task, future = self._client.submit(fn, *args, **kwargs, pure=False), Future[Any]()
        self._client.loop.add_callback(_tell, task, future)
        future.add_done_callback(lambda ended: self._cancel(task) if ended.cancelled() else None)
        return future

    def _cancel(self, task: Any) -> None:
        self._client.loop.add_callback(task.cancel)


async def _tell(task: Any, future: Future[Any]) -> None:
    """Let a future end as a task of Dask does, in the client's event loop."""
    with suppress(InvalidStateError):  # cancelled meanwhile
        try:
            result = await task
        except (CancelledError, asyncio.CancelledError):
            future.cancel()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


async def _knock(address: str) -> None:
    """Connect, once. A client that cannot tries again and again, and says so even when it has been given up."""
    from distributed import Security
    from distributed.comm import connect

    comm = await connect(address, timeout=CONNECT_SECONDS, **Security().get_connection_args("client"))
    await comm.close()


_START = "start one with 'dask scheduler', and workers with 'dask worker HOST:PORT --nthreads 1'"


class _Cluster:
    """What is known of a cluster's workers."""

    def __init__(self, client: Any, spec: str) -> None:
        self.client, self.spec = client, spec
        self.seen = {False: monotonic(), True: monotonic()}  # when there was a worker, and one with a GPU, last
        self.asked = -FRESH_SECONDS
        self.described: Mapping[str, Any] = {}

    def wait(self) -> None:
        """Raises :class:`ExecutionError` where no worker shows up."""
        try:
            self.client.wait_for_workers(1, timeout=START_SECONDS)
        except TimeoutError:
            raise ExecutionError(f"the Dask cluster at {self.spec} has no worker", None, _START) from None

    def workers(self) -> int:
        return max(1, len(self._described()))

    def gpu(self) -> Mapping[str, Any]:
        """Raises :class:`ExecutionError` where no worker declares a GPU."""
        self.seen[True] = monotonic()
        if not self._usable(with_gpu=True):
            self.asked = float("-inf")  # what is known may be older than a worker that has just started
        if not self._usable(with_gpu=True):
            raise ExecutionError(
                f"no worker of {self.spec} declares a GPU",
                None,
                "start one on a machine that has one, with 'dask worker HOST:PORT --nthreads 1 --resources GPU=1'",
            )
        return {"resources": GPU}

    def check(self, with_gpu: bool) -> None:
        """Raises :class:`ExecutionError` where all workers that could do it have been gone for a while, or the scheduler is."""
        if self.client.status in ("closing", "closed"):
            raise ExecutionError(f"the Dask scheduler at {self.spec} has gone", None, _START)
        if self._usable(with_gpu):
            self.seen[with_gpu] = monotonic()
        elif monotonic() - self.seen[with_gpu] > ALONE_SECONDS:
            raise ExecutionError(
                f"the last worker of {self.spec}{' with a GPU' if with_gpu else ''} has gone", None, _START
            )

    def _usable(self, with_gpu: bool) -> bool:
        described = self._described().values()
        return any(not with_gpu or w.get("resources", {}).get("GPU", 0) >= GPU["GPU"] for w in described)

    def _described(self) -> Mapping[str, Any]:
        """Workers as the scheduler describes them, asked for at most every :data:`FRESH_SECONDS`."""
        if monotonic() - self.asked > FRESH_SECONDS:
            with suppress(OSError):  # nothing changes where the scheduler does not answer; a timeout is one as well
                identity = self.client.scheduler.identity
                self.described = self.client.sync(identity, n_workers=-1, callback_timeout=CONNECT_SECONDS)["workers"]
            self.asked = monotonic()
        return self.described


_LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado", "tornado.application")


@contextmanager
def _only_our_words() -> Iterator[None]:
    """What goes wrong is one line of ours; Dask's log of it would come before, with a traceback."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [log.level for log in loggers]
    for log in loggers:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, level in zip(loggers, levels, strict=True):
            log.setLevel(level)
