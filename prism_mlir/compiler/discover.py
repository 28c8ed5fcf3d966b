"""Search and proof together: all proved graphs of a program."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter

from prism_mlir.compiler.progress import progress_of
from prism_mlir.compiler.resume import RecordedWorkers, Steps
from prism_mlir.compiler.task_pool import TaskPool, open_pool
from prism_mlir.compiler.workers import Judge, Workers
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import OUT_OF_TIME, Funnel, SearchLimits
from prism_mlir.search.search import search
from prism_mlir.verify.prove import BATCH, ProofLimits
from prism_mlir.verify.verdict import Status, Verdict

INTERRUPTED = "interrupted"
NOT_JUDGED = "interrupted before it was judged"


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a search found.

    candidates: graphs with concrete mappings, in search order
    verdicts:   one for each candidate
    seconds:    wall clock of search, and of proof as far as it was not done meanwhile
    recorded:   whether it was read from tuning records; then the seconds are those of the search that was recorded
    """

    candidates: tuple[KernelGraph, ...]
    verdicts: tuple[Verdict, ...]
    funnel: Funnel
    search_seconds: float
    proof_seconds: float
    recorded: bool = False

    @property
    def proved(self) -> tuple[KernelGraph, ...]:
        return tuple(g for g, v in zip(self.candidates, self.verdicts, strict=True) if v.proved)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; what is here was found before."""
        return any(INTERRUPTED in reason for reason in self.funnel.stopped_by)

    @property
    def out_of_time(self) -> bool:
        """Whether the clock ended it, or a part of it; a search with more time may find more."""
        return any(OUT_OF_TIME in reason for reason in self.funnel.stopped_by)

    @property
    def if_cut_short(self) -> tuple[KernelGraph, ...]:
        """The proved graphs, if another search under the same limits may find others; none if it cannot."""
        return self.proved if self.interrupted or self.out_of_time else ()

    def verdict_of(self, graph: KernelGraph) -> Verdict:
        return self.verdicts[self.candidates.index(graph)]

    def to_dict(self) -> dict[str, object]:
        """The funnel from partial graphs to proved graphs."""
        counts = dict(self.funnel.counts)
        counts["mappings"] = len(self.candidates)
        for status in Status:
            counts[status.value] = sum(v.status is status for v in self.verdicts)
        unknown = sorted({v.reason for v in self.verdicts if v.status is Status.UNKNOWN})
        result: dict[str, object] = {**self.funnel.to_dict(), "counts": dict(sorted(counts.items()))}
        return result | ({"unknown because": unknown} if unknown else {})


def discover(
    program: Program,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    proof_limits: ProofLimits | None = None,
    progress: Callable[[str], None] = lambda _: None,
    jobs: int = 1,
    pool: TaskPool | None = None,
    steps: Steps | None = None,
) -> Discovery:
    """Search a program's graphs and give each a verdict. Limits that were reached are recorded in the funnel.

    jobs: processes to use. Candidates, their order, counts and verdicts are the same for any number; a script that asks for
          more than one must do so under ``if __name__ == "__main__":``
    pool: where to search and prove instead, which stays open; the results are the same
    steps: finished steps of an earlier run with the same arguments, which are not done again; those of this one are added

    Ctrl-C (``KeyboardInterrupt``) ends the search: what was found so far is returned, in search order, with the funnel stopped
    by ``interrupted``; candidates that were not judged yet are unknown.

    Raises :class:`InputError` where ``jobs`` is not positive, :class:`ExecutionError` where a process dies.
    """
    line = _Line(Funnel(), Judge(program, seed, proof_limits), progress)
    with ExitStack() as stack:
        try:
            used = pool or stack.enter_context(open_pool(jobs=jobs))
            limits = limits or SearchLimits()
            workers = _workers(used, line.judge, steps)
            # here, a part could not be stopped when time is up
            searchers = None if used.here and limits.seconds is not None else workers
            found = search(program, limits, line.funnel, line.judge.accept, perf_counter, searchers)
            line.run(found, workers)
        except KeyboardInterrupt:
            line.interrupt()
            if pool is not None:
                pool.abandon()
    return line.discovery()


def _workers(pool: TaskPool, judge: Judge, steps: Steps | None) -> Workers | None:
    """Who searches parts and judges; ``None`` where the whole is done here, and nothing is on record."""
    if pool.here and steps is None:
        return None
    workers = Workers(pool, judge)
    return workers if steps is None else RecordedWorkers(workers, steps)


def _succeeded(future: Future[list[Verdict]]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


class _Line:
    """Candidates as they come, and their verdicts, batch by batch. A batch is judged together, so batches are the same always."""

    def __init__(self, funnel: Funnel, judge: Judge, progress: Callable[[str], None]) -> None:
        self.funnel, self.judge, self.progress = funnel, judge, progress_of(progress)
        self.found: list[KernelGraph] = []
        self.verdicts: list[Verdict] = []
        self.waiting: deque[Future[list[Verdict]]] = deque()
        self.started, self.proof_seconds = perf_counter(), 0.0

    def run(self, candidates: Iterator[KernelGraph], workers: Workers | None) -> None:
        self.progress.search()
        batches = self._batches(candidates)
        if workers is None or workers.pool.here:
            for batch in batches:
                self._judged(lambda batch=batch: self._verdicts(batch, workers))  # type: ignore[misc]
            return
        self.waiting += (workers.submit(batch) for batch in batches)
        while self.waiting:
            self._judged(lambda: workers.pool.result(self.waiting[0]))
            self.waiting.popleft()

    def _verdicts(self, batch: list[KernelGraph], workers: Workers | None) -> list[Verdict]:
        """Verdicts found in this process, or on record."""
        return self.judge.judge(batch) if workers is None else workers.submit(batch).result()

    def interrupt(self) -> None:
        """Keep the verdicts that are there."""
        while self.waiting and _succeeded(self.waiting[0]):
            self.verdicts += self.waiting.popleft().result()
        self.funnel.stop(INTERRUPTED)
        self.funnel.leave("everything after what was found")

    def _batches(self, candidates: Iterator[KernelGraph]) -> Iterator[list[KernelGraph]]:
        batch: list[KernelGraph] = []
        for graph in candidates:
            self.found.append(graph)
            self.progress.found(len(self.found))
            batch.append(graph)
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _judged(self, verdicts: Callable[[], list[Verdict]]) -> None:
        self.progress(f"proving {len(self.found)} graphs")
        before = perf_counter()
        self.verdicts += verdicts()
        self.proof_seconds += perf_counter() - before

    def discovery(self) -> Discovery:
        missing = len(self.found) - len(self.verdicts)
        if missing:
            self.funnel.leave(f"verdicts of {missing} of {len(self.found)} candidates")
        verdicts = (*self.verdicts, *[Verdict(Status.UNKNOWN, reason=NOT_JUDGED)] * missing)
        seconds = perf_counter() - self.started
        return Discovery(tuple(self.found), verdicts, self.funnel, seconds - self.proof_seconds, self.proof_seconds)
