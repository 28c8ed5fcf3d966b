"""Concrete mode: imap, fmap and omap enumerated while graphs are generated (the ablation of the paper's Table 4).

The search is the symbolic one except for where maps are chosen: imap and fmap when a tensor is loaded, omap when a tile is
saved. A tile's dims then say not only which dim of the program they are but also which parallel dims cut them, and dimension
matching compares both. Maps that are not enumerated stay symbols until instantiation; grid dims that differ by a permutation
are merged at the end, as in symbolic mode. The result is the same set of graphs, found more slowly: the oracle of "symbolic
search loses nothing".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import product

from prism_mlir.graph.block import Load
from prism_mlir.graph.dims import DimClass, dim_classes
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget, abstract_target
from prism_mlir.search.generate import Dims, Generator, Goal, Tile, _State, load_stages
from prism_mlir.search.instantiate import Accept, instantiate
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.mappings import Fixed

FAMILIES = ("imap", "fmap", "omap")

Row = tuple[int, ...]  # for each grid dim the data dim it cuts, -1 for none


class ConcreteGenerator(Generator):
    """Generates structures together with the maps of the families in ``concrete``.

    A dim of a tile is ``class + classes * mask``; bit k of the mask is set where grid dim k cuts the dim, the bit above the
    grid dims where the loop does. Bits of families that are not enumerated are never set.
    """

    def __init__(
        self,
        program: Program,
        limits: SearchLimits,
        funnel: Funnel,
        concrete: AbstractSet[str],
        *,
        target: AbstractTarget | None = None,
        outside: int | None = None,
    ) -> None:
        super().__init__(program, limits, funnel, target=target, outside=outside)
        unknown = sorted(concrete - set(FAMILIES))
        if unknown:
            raise InputError(f"no maps are called '{unknown[0]}', known are {', '.join(FAMILIES)}")
        self.concrete = concrete
        self._classes = max(1, len(dim_classes(program).sizes))
        self._loop_bit = len(self.grid)
        self._tiles_found: tuple[Tile, ...] = ()

    def run_fixed(self) -> Iterator[tuple[KernelGraph, Fixed]]:
        """All structures, each with every choice of the enumerated maps that its dims allow."""
        for graph in self.run():
            for fixed in self._choices(graph, self._tiles_found):
                self.funnel.count("structures with concrete maps")
                yield graph, fixed

    def _load_tiles(self, loads: Sequence[Load]) -> Iterator[tuple[Tile, ...]]:
        choices = [[self._load_tile(load, dims) for dims in self._load_choices(load)] for load in loads]
        for tiles in product(*choices):
            self.funnel.count("choices at loading")
            yield tiles

    def _load_choices(self, load: Load) -> Iterator[Dims]:
        dims = self.input_dims[load.source]
        rows = self._rows(dims) if "imap" in self.concrete else [(-1,) * len(self.grid)]
        loops = [-1]
        if "fmap" in self.concrete and not load.invariant:
            loops += [d for d, c in enumerate(dims) if c is not None]
        for row in rows:
            for fmap in loops:
                yield tuple(self._cut(c, d, row, fmap) for d, c in enumerate(dims))

    def _rows(self, dims: Dims) -> list[Row]:
        """Every row of an imap or omap: no two grid dims cut one data dim (constraint 2), dims of size 1 are never cut."""
        options = [-1, *(d for d, c in enumerate(dims) if c is not None)]
        rows = product(options, repeat=len(self.grid))
        return [row for row in rows if all(d < 0 or row.count(d) == 1 for d in row)]

    def _cut(self, dim: DimClass, d: int, row: Row, fmap: int) -> DimClass:
        if dim is None:
            return None
        mask = sum(1 << k for k, cut in enumerate(row) if cut == d) | (1 << self._loop_bit if fmap == d else 0)
        return dim + self._classes * mask

    def _class_of(self, dim: DimClass) -> DimClass:
        return None if dim is None else dim % self._classes

    def _dims_reach(self, dims: Dims, goal: Goal) -> bool:
        return tuple(map(self._class_of, dims)) == goal.dims

    def _graph(self, state: _State, outputs: tuple[int, ...]) -> KernelGraph:
        self._tiles_found = tuple(state.tiles)
        return super()._graph(state, outputs)

    def _choices(self, graph: KernelGraph, tiles: Sequence[Tile]) -> Iterator[Fixed]:
        """The maps chosen at loading, with every choice at saving."""
        (node,) = graph.custom
        loads, saved = [tiles[k] for k in node.block.loads], [tiles[k] for k in node.block.outputs]
        joined = [self._row(tile) for tile in saved]
        if None in joined or any(self._cut_dim(tile, self._loop_bit) != -1 for tile in saved):
            self.funnel.count("rejected: output cannot be put together")
            return
        imap = tuple(row for tile in loads if (row := self._row(tile)) is not None) if "imap" in self.concrete else None
        fmap = tuple(self._cut_dim(tile, self._loop_bit) for tile in loads) if "fmap" in self.concrete else None
        if "omap" not in self.concrete:
            yield Fixed(imap, fmap, None)
            return
        for omap in product(*(self._rows(goal.dims) for goal in self.goals)):
            if imap is None or list(omap) == joined:
                yield Fixed(imap, fmap, omap)
            else:
                self.funnel.count("rejected: output cannot be put together")

    def _row(self, tile: Tile) -> Row | None:
        row = tuple(self._cut_dim(tile, k) for k in range(len(self.grid)))
        return None if -2 in row else row

    def _cut_dim(self, tile: Tile, bit: int) -> int:
        """The data dim that a parallel dim cuts, -1 for none, -2 for several."""
        cut = [d for d, c in enumerate(tile.dims) if c is not None and c // self._classes >> bit & 1]
        return -2 if len(cut) > 1 else cut[0] if cut else -1


def search_concrete(
    program: Program,
    limits: SearchLimits,
    funnel: Funnel,
    accept: Accept,
    concrete: AbstractSet[str],
    clock: Callable[[], float] | None = None,
) -> Iterator[KernelGraph]:
    """As ``search.search`` for one graph-defined operator, with the named families of maps enumerated during generation.

    concrete: any of ``imap``, ``fmap``, ``omap``; with none of them this is the symbolic search

    Raises :class:`InputError` for another name.
    """
    deadline = None if limits.seconds is None or clock is None else clock() + limits.seconds
    target = abstract_target(program)
    if not target.saturated:
        funnel.stop("abstract expressions did not saturate")
        return
    if deadline is not None and clock is not None:
        funnel = _Timed(funnel, deadline, clock, f"time limit of {limits.seconds} s")
    input_dims = dim_classes(program).of[: len(program.inputs)]
    for stage, outside in load_stages(limits, len(program.inputs)):
        generator = ConcreteGenerator(program, stage, funnel, concrete, target=target, outside=outside)
        for graph, fixed in generator.run_fixed():
            before = funnel.counts["mappings"]
            yield from instantiate(graph, accept, funnel, input_dims, limits.candidates, fixed)
            if any(node.block.loop is not None for node in graph.custom):
                funnel.count("mappings with a loop", funnel.counts["mappings"] - before)
            if not funnel.complete:
                return
        enough = limits.suffice(funnel.counts["mappings with a loop"] > 0, funnel.counts["mappings"])
        if enough or not funnel.complete:
            return


class _Timed(Funnel):
    """A funnel that ends a search when time is up: concrete searches visit many partial graphs for each finished one."""

    def __init__(self, funnel: Funnel, deadline: float, clock: Callable[[], float], why: str) -> None:
        super().__init__(funnel.counts, funnel.stopped_by)
        self._deadline, self._clock, self._why = deadline, clock, why

    def count(self, what: str, by: int = 1) -> None:
        super().count(what, by)
        if what == "states" and self.counts[what] % 256 == 0 and self._clock() > self._deadline:
            self.stop(self._why)
