"""Structures of kernel graphs with two operators that matter: what the first leaves, and how the second goes on.

What a second kernel can do depends only on what it can load: the set of (expression, dims) that the first one saved. First
kernels save few distinct sets, so second kernels are searched once for each set, not once for each first kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from prism_mlir.graph.block import BlockGraph, Load, Stage, TensorType
from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import Program
from prism_mlir.graph.symbols import SECOND_GRID_NAMES, SECOND_LOOP_NAME
from prism_mlir.search.abstract import AbstractTarget
from prism_mlir.search.generate import Dims, Generator, _State
from prism_mlir.search.limits import Funnel, SearchLimits


@dataclass(frozen=True, slots=True, order=True)
class Saved:
    """A result kept between kernels: its abstract expression and its dims (``-1`` for size 1, so that sets sort)."""

    expr: int
    key: tuple[int, ...]

    @staticmethod
    def of(expr: int, dims: Dims) -> Saved:
        return Saved(expr, tuple(-1 if d is None else d for d in dims))

    @property
    def dims(self) -> Dims:
        return tuple(None if d < 0 else d for d in self.key)


@dataclass(frozen=True, slots=True)
class FirstStructure:
    """A first kernel: its block graph, and which output holds each result of the saved set (in the set's order)."""

    block: BlockGraph
    saved: tuple[Saved, ...]


class FirstKernel(Generator):
    """Block graphs of which every open tile is saved; any of the program's inputs may be left to the second kernel."""

    def run_first(self) -> Iterator[FirstStructure]:
        """All first kernels within the limits, in a fixed order."""
        for graph in self.run():
            yield self.structure_of(graph)

    def structure_of(self, newest: KernelGraph) -> FirstStructure:
        """What the graph that was found last is as a first kernel."""
        (node,) = newest.custom
        return FirstStructure(node.block, self._saved)

    def _load_sets(self) -> list[tuple[Load, ...]]:
        needed = [k for k in range(len(self.types)) if self.input_exprs[k] in self.target.distance]
        subsets = [s for size in range(1, len(needed) + 1) for s in combinations(needed, size)]
        return [tuple(Load(k, invariant) for k in subset) for subset in subsets for invariant in (False, True)]

    def _can_finish(self, state: _State, left: int) -> bool:
        open_tiles = [k for k, n in enumerate(state.uses) if n == 0]
        joins = max(0, len(open_tiles) - self.limits.saved)
        leave = sum(state.tiles[k].stage is Stage.BODY for k in open_tiles)
        return joins + (leave > 0) <= left

    def _finish(self, state: _State) -> Sequence[KernelGraph]:
        sinks = [k for k, n in enumerate(state.uses) if n == 0]
        tiles = [state.tiles[k] for k in sinks]
        if len(sinks) > self.limits.saved or any(t.stage is Stage.BODY for t in tiles):
            return ()
        if any(isinstance(state.nodes[k].op, Load) for k in sinks) or all(t.expr in self.target.roots for t in tiles):
            return ()
        order = sorted(range(len(sinks)), key=lambda n: Saved.of(tiles[n].expr, tiles[n].dims))
        self._saved = tuple(Saved.of(tiles[n].expr, tiles[n].dims) for n in order)
        if len(set(self._saved)) < len(sinks):
            return ()
        return (self._graph(state, tuple(sinks[n] for n in order)),)


class SecondKernel(Generator):
    """Block graphs that go on from a saved set: every saved result is loaded, and any of the program's inputs."""

    def __init__(
        self,
        program: Program,
        limits: SearchLimits,
        funnel: Funnel,
        target: AbstractTarget,
        saved: Sequence[Saved],
    ) -> None:
        super().__init__(program, replace(limits, operators=limits.second_operators), funnel, target=target)
        sizes = dim_classes(program).sizes
        self.first_saved = len(self.types)
        self.types = (*self.types, *(TensorType(_shape(s.dims, sizes), DType.F32) for s in saved))
        self.input_dims = (*self.input_dims, *(s.dims for s in saved))
        self.input_exprs = (*self.input_exprs, *(s.expr for s in saved))

    def _load_sets(self) -> list[tuple[Load, ...]]:
        saved = range(self.first_saved, len(self.types))
        inputs = [k for k in range(self.first_saved) if self.input_exprs[k] in self.target.distance]
        covered = frozenset[int]().union(*(self.target.support(self.input_exprs[k]) for k in saved))
        sets = []
        for size in range(len(inputs) + 1):
            for subset in combinations(inputs, size):
                if not covered.union(subset) >= set(inputs):
                    continue  # an input that the outputs depend on would reach them no more
                # a loop over everything; a loop over what was saved; no loop
                for loop_saved, loop_inputs in ((True, True), (True, False), (False, False)):
                    if subset or loop_saved == loop_inputs:
                        loads = [Load(k, not loop_inputs) for k in subset] + [Load(k, not loop_saved) for k in saved]
                        sets.append(tuple(loads))
        return sets

    def _graph(self, state: _State, outputs: tuple[int, ...]) -> KernelGraph:
        graph = super()._graph(state, outputs)
        (node,) = graph.custom
        loop = None if node.block.loop is None else SECOND_LOOP_NAME
        block = replace(node.block, grid=SECOND_GRID_NAMES[: self.limits.grid_dims], loop=loop)
        return replace(graph, nodes=(replace(node, block=block),))


def _shape(dims: Dims, sizes: Sequence[int]) -> Shape:
    return tuple(1 if d is None else sizes[d] for d in dims)


@dataclass(frozen=True, slots=True)
class PairStructures:
    """All first and second kernels that meet in one saved set."""

    saved: tuple[Saved, ...]
    first: tuple[BlockGraph, ...]
    second: tuple[BlockGraph, ...]

    def pairs(self) -> Iterator[tuple[BlockGraph, BlockGraph]]:
        return product(self.first, self.second)


def second_kernels(
    program: Program,
    limits: SearchLimits,
    funnel: Funnel,
    target: AbstractTarget,
    saved: tuple[Saved, ...],
    first: Sequence[BlockGraph],
) -> PairStructures | None:
    """Structures with two graph-defined operators that meet in one saved set; ``None`` where nothing goes on from it."""
    own = funnel.part()
    own.counts["states"] = funnel.counts["states"]  # the limit is one for all
    second = [next(g.custom).block for g in SecondKernel(program, limits, own, target, saved).run()]
    funnel.counts["states"] = own.counts["states"]
    for reason in own.stopped_by:
        funnel.stop(f"second kernels: {reason}")
    if not second:
        return None
    funnel.count("two-kernel structures", len(first) * len(second))
    return PairStructures(saved, tuple(first), tuple(second))


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A block graph without the inputs that it does not load, and the kernel value of each input that is left."""

    block: BlockGraph
    operands: tuple[int, ...]


def trim(block: BlockGraph) -> Trimmed:
    """Leave out what a kernel does not load; inputs of ``block`` are kernel values, in order."""
    loaded = sorted({n.op.source for n in block.nodes if isinstance(n.op, Load)})
    number = {source: k for k, source in enumerate(loaded)}
    nodes = tuple(
        replace(n, op=replace(n.op, source=number[n.op.source])) if isinstance(n.op, Load) else n for n in block.nodes
    )
    return Trimmed(replace(block, inputs=tuple(block.inputs[k] for k in loaded), nodes=nodes), tuple(loaded))


def join(inputs: tuple[TensorType, ...], first: CustomNode, second: CustomNode) -> KernelGraph:
    """The kernel graph of a pair. Saved results are numbered right after the inputs, as the first kernel's results are."""
    results = len(inputs) + len(first.block.outputs)
    outputs = tuple(results + k for k in range(len(second.block.outputs)))
    return KernelGraph(inputs, (first, second), outputs)


__all__ = ["FirstKernel", "PairStructures", "Saved", "SecondKernel", "Trimmed", "join", "second_kernels", "trim"]
