"""The search against brute force: on a program small enough for both, do they find the same proved graphs?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from prism_mlir.graph.errors import LimitError
from prism_mlir.graph.examples import attention, qk_attention, rms_norm, rms_norm_mlp, swiglu
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import MATMUL, MUL, Op
from prism_mlir.graph.program import Program
from prism_mlir.search.concrete import search_concrete
from prism_mlir.search.exhaustive import Exhaustive, load_sets
from prism_mlir.search.exhaustive_maps import mappings, settled
from prism_mlir.search.generate import load_stages
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.normal_form import Form, normal_form
from prism_mlir.search.search import search
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.verify import verify

Graphs = dict[Form, KernelGraph]
"""Graphs by their normal form, so that each is there once."""


def small_workloads(queries: int = 1) -> tuple[Program, ...]:
    """The paper's workloads at small sizes, all different, so that no two dims fit each other by accident."""
    return (
        rms_norm(8, 12, 6),
        rms_norm_mlp(8, 12, 6),
        swiglu(8, 12, 6),
        attention(4, 12, 10, queries),
        qk_attention(4, 12, 10, queries),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What search and brute force found of one program.

    listed:   graphs that brute force had to judge
    search:   proved graphs of the search
    brute:    proved graphs of brute force
    unproved: graphs that brute force cannot refute and nobody proves
    proved:   proved graphs of both together
    lost:     proved graphs that only brute force finds
    extra:    proved graphs that only the search finds
    """

    program: Program
    limits: SearchLimits
    listed: int
    search: int
    brute: int
    unproved: int
    proved: tuple[KernelGraph, ...]
    lost: tuple[KernelGraph, ...]
    extra: tuple[KernelGraph, ...]

    @property
    def same(self) -> bool:
        return not self.lost and not self.extra


class Oracle:
    """All graphs of a program within the limits (of one kernel) that brute force finds right, to compare searches with.

    also:   binary operators that brute force uses beside the program's own
    listed: how many graphs there are
    """

    def __init__(self, program: Program, limits: SearchLimits, also: Iterable[Op] = (MATMUL, MUL)) -> None:
        self.program, self.limits = program, limits
        self.listed = 0
        self._refuter = Refuter(program)
        self._found = self._brute_force(Exhaustive(program, limits.operators, also))

    def compare(self, families: AbstractSet[str] | None = None) -> Comparison:
        """Compare with the search.

        families: maps to enumerate during generation (see ``search.concrete``); ``None`` for the symbolic search

        Raises :class:`LimitError` where a limit ends the search.
        """
        searched, brute = self._search(families), self._found
        union = searched | brute
        verdicts = verify(
            self.program, list(union.values()), refuter=self._refuter
        )  # one proof, so as not to judge twice
        proved = {form: g for (form, g), v in zip(union.items(), verdicts, strict=True) if v.proved}
        return Comparison(
            self.program,
            self.limits,
            self.listed,
            sum(form in searched for form in proved),
            sum(form in brute for form in proved),
            sum(form not in proved for form in brute),
            tuple(proved.values()),
            tuple(graph for form, graph in proved.items() if form not in searched),
            tuple(graph for form, graph in proved.items() if form not in brute),
        )

    def _search(self, families: AbstractSet[str] | None) -> Graphs:
        funnel = Funnel()
        if families is None:
            found = search(self.program, self.limits, funnel, self._accept)
        else:
            found = search_concrete(self.program, self.limits, funnel, self._accept, families)
        graphs = {normal_form(g): g for g in found}
        if not funnel.complete:
            raise LimitError(f"the search was stopped by its {', '.join(funnel.stopped_by)}")
        return graphs

    def _accept(self, graph: KernelGraph, dim: str) -> bool:
        return self._refuter.refute_alone(graph, dim) is None

    def _brute_force(self, graphs: Exhaustive) -> Graphs:
        """As the search does, it goes on to loads outside the loop where no graph with a loop was found, or few graphs."""
        found = Graphs()
        for stage, outside in load_stages(self.limits, len(self.program.inputs)):
            for graph in _all_graphs(graphs, stage, outside):
                self.listed += 1
                form = normal_form(graph)
                if form not in found and self._refuter.refute(graph) is None:
                    found[form] = graph
            looped = any(node.block.loop is not None for graph in found.values() for node in graph.custom)
            if self.limits.suffice(looped, len(found)):
                break
        return found


def _all_graphs(graphs: Exhaustive, limits: SearchLimits, outside: int | None) -> Iterator[KernelGraph]:
    count = len(graphs.inputs)
    stages = [None, *range(1, count + 1)] if limits.invariant_loads and outside is None else [outside]
    for stage in stages:
        for loads in load_sets(count, stage):
            for structure in graphs.structures(loads):
                yield from map(settled, mappings(structure, limits.grid_dims))
