"""Search and proof together: all proved graphs of a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.instantiate import Accept
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.search import search
from prism_mlir.verify.prove import ProofLimits
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.verdict import Status, Verdict
from prism_mlir.verify.verify import verify


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a search found.

    candidates: graphs with concrete mappings, in search order
    verdicts:   one for each candidate
    seconds:    wall clock of search and proof
    """

    candidates: tuple[KernelGraph, ...]
    verdicts: tuple[Verdict, ...]
    funnel: Funnel
    search_seconds: float
    proof_seconds: float

    @property
    def proved(self) -> tuple[KernelGraph, ...]:
        return tuple(g for g, v in zip(self.candidates, self.verdicts, strict=True) if v.proved)

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


def accept_with(refuter: Refuter) -> Accept:
    """The search's question "could this be right when only one parallel dim counts?", answered by exact arithmetic."""
    return lambda graph, dim: refuter.refute_alone(graph, dim) is None


def discover(
    program: Program,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    proof_limits: ProofLimits | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Discovery:
    """Search a program's graphs and give each a verdict. Limits that were reached are recorded in the funnel."""
    funnel, refuter = Funnel(), Refuter(program, seed=seed)
    started = perf_counter()
    progress("searching")
    found = tuple(search(program, limits or SearchLimits(), funnel, accept_with(refuter), perf_counter))
    searched = perf_counter()
    progress(f"proving {len(found)} graphs")
    verdicts = tuple(verify(program, found, seed=seed, limits=proof_limits, refuter=refuter)) if found else ()
    return Discovery(found, verdicts, funnel, searched - started, perf_counter() - searched)
