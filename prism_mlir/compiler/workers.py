"""What is searched and proved in other processes: parts of one program's search, and batches of its graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from prism_mlir.compiler.task_pool import TaskPool
from prism_mlir.compiler.tasks import Context
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.parallel import Searcher
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.verdict import Verdict

if TYPE_CHECKING:
    from prism_mlir.verify.prove import ProofLimits


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


class Worker:
    """What a process knows of a program that is searched; crosses to another process without what it has learned."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.searcher = Searcher(judge.program, judge.accept)

    def __reduce__(self) -> tuple[Any, ...]:
        return Worker, (self.judge,)


class Workers:
    """A pool for :mod:`prism_mlir.search.parallel` that judges graphs as well."""

    def __init__(self, pool: TaskPool, judge: Judge) -> None:
        self.pool = pool
        self._context = Context(Worker(judge))

    @property
    def jobs(self) -> int:
        """How many tasks run at once."""
        return self.pool.jobs

    def submit(self, graphs: Sequence[KernelGraph]) -> Future[list[Verdict]]:
        """Verdicts of some graphs, later."""
        return self.pool.submit(self._context, _verdicts, tuple(graphs))

    def ordered(
        self,
        function: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        seconds_left: Callable[[], float | None] = lambda: None,
    ) -> Iterator[Any]:
        """See :class:`prism_mlir.search.parallel.Pool`."""
        return self.pool.ordered(self._context, _search, ((function, *call) for call in arguments), seconds_left)


def _search(worker: Worker, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(worker.searcher, *arguments)


def _verdicts(worker: Worker, graphs: Sequence[KernelGraph]) -> list[Verdict]:
    return worker.judge.judge(graphs)
