"""A search that is killed goes on where it stopped: its finished parts, and verdicts, are kept until it is whole.

Parts are what other processes search (``search.parallel``), and batches of graphs that are judged together; both are the same
whenever the same program is searched under the same limits, so what is on record stands for doing it again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from time import monotonic
from typing import Any

from prism_mlir.compiler.source_digest import hash_of
from prism_mlir.compiler.task_pool import TaskPool
from prism_mlir.compiler.workers import Workers
from prism_mlir.graph.data import graph_from_data, graph_to_data
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.search.branches import Part
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.stages import Stage
from prism_mlir.tune.records.store import Records
from prism_mlir.verify.verdict import Verdict

INTERVAL = 1.0  # seconds of work that a killed run may lose; a search that takes less writes nothing


class Steps:
    """Finished steps of one run, by name, as JSON-able data."""

    def __init__(self, records: Records, run: str, interval: float = INTERVAL) -> None:
        self._records, self._run, self._interval = records, run, interval
        self._known = records.steps(run)
        self._new: dict[str, str] = {}
        self._flushed, self._written = monotonic(), bool(self._known)

    def get(self, name: str) -> Any | None:
        """What is on record under a name; ``None`` where nothing is."""
        return json.loads(self._known[name]) if name in self._known else None

    def put(self, name: str, data: Any) -> None:
        """Keep a step. It is written with the next ones, at the latest when the interval has passed."""
        self._new[name] = json.dumps(data)
        if monotonic() - self._flushed >= self._interval:
            self.flush()

    def flush(self) -> None:
        """Write everything that was kept."""
        new, self._new = self._new, {}
        for name, payload in new.items():
            self._records.add_step(self._run, name, payload)
            self._written = True
        self._flushed = monotonic()

    def drop(self) -> None:
        """Forget the run: it is whole, and on record as such."""
        self._new.clear()
        if self._written:
            self._records.drop_steps(self._run)


class RecordedWorkers(Workers):
    """Workers that are asked only for what is not among the steps of a run."""

    def __init__(self, workers: Workers, steps: Steps) -> None:
        self._workers, self._steps = workers, steps

    @property
    def pool(self) -> TaskPool:  # type: ignore[override]  # an attribute there
        return self._workers.pool

    @property
    def jobs(self) -> int:
        return self._workers.jobs

    def submit(self, graphs: Sequence[KernelGraph]) -> Future[list[Verdict]]:
        """Verdicts of some graphs, now if they are on record."""
        name = f"verdicts {hash_of([g.fingerprint for g in graphs])}"
        known = _verdicts(self._steps.get(name), len(graphs))
        future: Future[list[Verdict]]
        if known is not None:
            future = Future()
            future.set_result(known)
            return future
        future = self._workers.submit(graphs)
        future.add_done_callback(lambda done: self._keep(name, done))
        return future

    def _keep(self, name: str, done: Future[list[Verdict]]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._steps.put(name, [v.to_dict() for v in done.result()])

    def ordered(
        self,
        function: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        seconds_left: Callable[[], float | None] = lambda: None,
    ) -> Iterator[Any]:
        """See :class:`prism_mlir.search.parallel.Pool`."""
        plan: deque[tuple[str, Any]] = deque()  # calls given out, with what is on record of them

        def missing() -> Iterator[tuple[Any, ...]]:
            for call in arguments:
                name = _name(function, call)
                plan.append((name, _read(self._steps.get(name))))
                if plan[-1][1] is None:
                    yield call

        results = self._workers.ordered(function, missing(), seconds_left)
        while True:
            result = next(results, None)
            while plan and plan[0][1] is not None:
                yield plan.popleft()[1]
            if result is None:
                return
            name, _ = plan.popleft()
            data = _data(result)
            if data is not None:
                self._steps.put(name, data)
            yield result


def _name(function: Callable[..., Any], call: tuple[Any, ...]) -> str:
    return f"{function.__name__} {hash_of([repr(_without_clock(a)) for a in call])}"


def _without_clock(argument: Any) -> Any:
    """A part that was searched to its end is the same whenever time would have been up."""
    if isinstance(argument, SearchLimits):
        return replace(argument, seconds=None)
    return replace(argument, limits=_without_clock(argument.limits)) if isinstance(argument, Stage) else argument


def _data(result: Any) -> Any | None:
    """Parts as JSON-able data; ``None`` where they do not consist of graphs, or were not searched to their end."""
    parts = result if isinstance(result, list) else [result]
    for part in parts:
        if not part.funnel.complete or not all(isinstance(g, KernelGraph) for g in part.found):
            return None
    rows = [{"found": [graph_to_data(g) for g in p.found], "funnel": p.funnel.to_dict()} for p in parts]
    return {"list": isinstance(result, list), "parts": rows}


def _read(data: Any | None) -> Any | None:
    """The inverse of :func:`_data`; ``None`` where data is none."""
    if data is None:
        return None
    try:
        parts = [Part(tuple(map(graph_from_data, p["found"])), Funnel.from_dict(p["funnel"])) for p in data["parts"]]
        return parts if data["list"] else parts[0]
    except (InputError, KeyError, TypeError, IndexError):
        return None


def _verdicts(data: Any | None, count: int) -> list[Verdict] | None:
    try:
        found = None if data is None else [Verdict.from_dict(v) for v in data]
    except (InputError, TypeError):
        return None
    return found if found is not None and len(found) == count else None
