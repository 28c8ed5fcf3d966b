"""Mappings of two-kernel graphs, split reductions included (Split-K, Flash-Decoding).

The two kernels of a pair either meet in whole tensors, and then their mappings have nothing to do with each other, or one grid
dim of the first *splits* a reduction: every block stores its part of the result, one after the other along some dim, and the
second kernel's loop runs over the parts. Then the grid dim and the loop are one parallel dim with one size.

A grid mapping that leaves a dim uncut is the same graph as one that cuts it into one part. So of the correct cuts of the grid
only maximal sets are kept here; single-kernel graphs, of which there are few, list all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prism_mlir.graph.block import BlockGraph, Load
from prism_mlir.graph.dims import DimClass, dim_classes
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.program import Program
from prism_mlir.graph.symbols import GRID_NAMES, SECOND_GRID_NAMES
from prism_mlir.search.dim_match import match_dims
from prism_mlir.search.instantiate import Accept
from prism_mlir.search.kernel_generate import PairStructures, Trimmed, join, trim
from prism_mlir.search.library import is_plain, unfold
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.mappings import Cut, MappingSpace, combine, mapping_space, to_mapping

SPLIT = GRID_NAMES[2]  # the grid dim of the first kernel that is the second one's loop


@dataclass(frozen=True, slots=True)
class Half:
    """One kernel of a pair: its structure, mapping variables, and correct cuts of its own parallel dims.

    trimmed: the structure as it stands in a kernel graph
    names:   of its grid dims
    """

    block: BlockGraph
    space: MappingSpace
    trimmed: Trimmed
    names: tuple[str, ...]
    grid: tuple[Cut, ...] = ()
    loop: tuple[Cut, ...] = ()
    _known: dict[tuple[Any, ...], Any] = field(default_factory=dict, compare=False, repr=False)

    def mapping(self, grid: Sequence[Cut], loop: Cut) -> Mapping:
        key = ("mapping", *grid, loop)
        if key not in self._known:
            self._known[key] = to_mapping(self.space, grid, loop)
        found: Mapping = self._known[key]
        return found

    def node(self, mapping: Mapping, names: tuple[str, ...] | None = None) -> CustomNode:
        """The kernel with a mapping; ``names`` are those of the grid dims that the mapping has."""
        names = self.names[: len(mapping.imap[0]) if mapping.imap else 0] if names is None else names
        key = ("block", names)
        if key not in self._known:
            self._known[key] = replace(self.trimmed.block, grid=names)
        return CustomNode(self._known[key], self.trimmed.operands, mapping)

    def maximal(self, names: int, without: Cut = ()) -> list[tuple[Cut, ...]]:
        """Maximal sets of disjoint correct cuts, for at most ``names`` grid dims; cuts that touch ``without`` are left out."""
        key = ("maximal", self.grid, names, without)
        if key not in self._known:
            free = [c for c in self.grid if c and not set(c) & set(without)]
            grids = [tuple(c for c in grid if c) for grid, _ in combine([(), *free], [()], names)]
            sets = [frozenset(g) for g in grids]
            self._known[key] = [g for g, s in zip(grids, sets, strict=True) if not any(s < t for t in sets)]
        found: list[tuple[Cut, ...]] = self._known[key]
        return found


class PairInstantiator:
    """Enumerates the mappings of the pairs of one saved set."""

    def __init__(
        self, program: Program, pairs: PairStructures, accept: Accept, limits: SearchLimits, funnel: Funnel
    ) -> None:
        self.program, self.accept, self.funnel = program, accept, funnel
        self.pairs, self.limits, self.grid_dims = pairs, limits, limits.grid_dims
        self.dims = dim_classes(program).of[: len(program.inputs)]
        self.count, self.types = len(program.inputs), program_types(program)

    def run(self) -> Iterator[KernelGraph]:
        """Kernel graphs with concrete mappings, split ones first, in a fixed order."""
        first = [self._half(b, GRID_NAMES) for b in self.pairs.first]
        second = [self._half(b, SECOND_GRID_NAMES) for b in self.pairs.second]
        partner: dict[int, Half] = {}
        for a, left in enumerate(first):
            for b, right in enumerate(second):
                plain = self._graph(left, right, left.mapping((), ()), right.mapping((), ()))
                self.funnel.count("pairs tested at size 1")
                if not self.accept(plain, ""):  # no parallel dim has a size above 1
                    self.funnel.count("pairs refuted at size 1")
                    continue
                if a not in partner:
                    partner[a] = right
                    first[a] = left = self._cuts_of_first(left, right)
                if not second[b].grid and not second[b].loop:
                    second[b] = right = self._cuts_of_second(first[a], right)
                if self.limits.kernels > 1:
                    yield from self._split(first[a], second[b])
                    yield from self._whole(first[a], second[b])
                yield from self._library(first[a], second[b])

    def _half(self, block: BlockGraph, names: tuple[str, ...]) -> Half:
        dims: list[Sequence[DimClass]] = [*self.dims, *(s.dims for s in self.pairs.saved)]
        space = mapping_space(block, match_dims(block, dims[: len(block.inputs)]))
        return Half(block, space, trim(block), names)

    def _cuts_of_first(self, left: Half, right: Half) -> Half:
        empty = right.mapping((), ())

        def graph(grid: Sequence[Cut], loop: Cut) -> KernelGraph:
            return self._graph(left, right, left.mapping(grid, loop), empty)

        grid = [c for c in left.space.cuts(loop=False) if c and self._alone(graph((c,), ()), "x")]
        loops = [c for c in left.space.cuts(loop=True) if c] if left.block.loop else []
        loop = [c for c in loops if self._alone(graph((), c), str(left.block.loop))]
        return replace(left, grid=tuple(grid), loop=tuple(loop) if left.block.loop else ((),))

    def _cuts_of_second(self, left: Half, right: Half) -> Half:
        empty = left.mapping((), ())

        def graph(grid: Sequence[Cut], loop: Cut) -> KernelGraph:
            return self._graph(left, right, empty, right.mapping(grid, loop))

        grid = [c for c in right.space.cuts(loop=False) if c and self._alone(graph((c,), ()), SECOND_GRID_NAMES[0])]
        loops = [c for c in right.space.cuts(loop=True) if c] if right.block.loop else []
        loop = [c for c in loops if self._alone(graph((), c), str(right.block.loop))]
        return replace(right, grid=tuple(grid), loop=tuple(loop) if right.block.loop else ((),))

    def _alone(self, graph: KernelGraph, dim: str) -> bool:
        self.funnel.count("cuts tested alone")
        accepted = self.accept(graph, dim)
        self.funnel.count("cuts refuted alone", int(not accepted))
        return accepted

    def _whole(self, left: Half, right: Half) -> Iterator[KernelGraph]:
        """The kernels meet in whole tensors."""
        for grid in left.maximal(self.grid_dims):
            for loop in left.loop:
                for second_grid in right.maximal(self.grid_dims):
                    for second_loop in right.loop:
                        yield self._graph(
                            left, right, left.mapping(grid, loop), right.mapping(second_grid, second_loop)
                        )

    def _library(self, left: Half, right: Half) -> Iterator[KernelGraph]:
        """One kernel is taken apart into library operators, the other stays."""
        if is_plain(left.block, self.limits.library):
            for grid in right.maximal(self.grid_dims):
                for loop in right.loop:
                    yield unfold(self._graph(left, right, left.mapping((), ()), right.mapping(grid, loop)), 0)
        if is_plain(right.block, self.limits.library):
            for grid in left.maximal(self.grid_dims):
                for loop in left.loop:
                    yield unfold(self._graph(left, right, left.mapping(grid, loop), right.mapping((), ())), 1)

    def _split(self, left: Half, right: Half) -> Iterator[KernelGraph]:
        """A grid dim of the first kernel is the loop of the second."""
        if right.block.loop is None or self.grid_dims == 0:
            return
        bodies = [k for k, t in enumerate(right.block.loads) if not _invariant(right.block, t)]
        if not any(_source(right.block, right.block.loads[k]) >= self.count for k in bodies):
            return
        for cut in (c for c in left.space.cuts(loop=False) if c and c not in left.grid):
            for split in self._splits(left, right, cut):
                if not self._alone(split.graph((), (), ()), SPLIT):
                    continue
                loops = left.loop if left.block.loop else ((),)
                for grid in left.maximal(self.grid_dims - 1, (*cut, *split.first_taken)):
                    for loop in loops:
                        for second in right.maximal(self.grid_dims, split.second_taken):
                            graph = split.graph(grid, loop, second)
                            if _fits(graph):
                                yield graph

    def _splits(self, left: Half, right: Half, cut: Cut) -> Iterator[_Split]:
        """Ways to store the parts: for each saved result a dim along which they follow each other, small dims first."""
        dims = []
        for output in left.block.outputs:
            shape = left.block.shapes[output]
            dims.append(min(range(len(shape)), key=lambda d: (shape[d], d)))
        yield _Split(self, left, right, cut, tuple(dims))

    def _graph(self, left: Half, right: Half, a: Mapping, b: Mapping) -> KernelGraph:
        return join(self.types, left.node(a), right.node(b))


@dataclass(frozen=True, slots=True)
class _Split:
    """A split reduction. dims[o]: where the parts of output ``o`` follow each other."""

    owner: PairInstantiator
    left: Half
    right: Half
    cut: Cut
    dims: tuple[int, ...]

    @property
    def first_taken(self) -> Cut:
        """Merged dims of the first kernel along which parts follow each other; no other grid dim may cut them."""
        outputs = [t for t in self.left.space.tensors if t.name.startswith("out")]
        return tuple(g for t, d in zip(outputs, self.dims, strict=True) if (g := t.groups[d]) is not None)

    @property
    def second_taken(self) -> Cut:
        """The same for the second kernel, which reads part by part."""
        taken = []
        loads = [t for t in self.right.space.tensors if t.name.startswith("t")]
        for tensor, load in zip(loads, self.right.block.loads, strict=True):
            saved = _source(self.right.block, load) - self.owner.count
            if saved >= 0 and not _invariant(self.right.block, load) and tensor.groups[self.dims[saved]] is not None:
                taken.append(tensor.groups[self.dims[saved]])
        return tuple(g for g in taken if g is not None)

    def graph(self, grid: Sequence[Cut], loop: Cut, second_grid: Sequence[Cut]) -> KernelGraph:
        """The pair with further cuts of both grids and of the first loop."""
        a = self.left.mapping((*grid, self.cut), loop)
        omap = tuple((*row[:-1], dim) for row, dim in zip(a.omap, self.dims, strict=True))
        first = self.left.node(replace(a, omap=omap), (*GRID_NAMES[: len(grid)], SPLIT))
        second = self._second(self.right.node(self.right.mapping(second_grid, ())))
        return join(self.owner.types, first, second)

    def _second(self, node: CustomNode) -> CustomNode:
        block = node.block
        assert node.mapping is not None
        fmap, inputs = list(node.mapping.fmap), list(block.inputs)
        for k, load in enumerate(block.loads):
            source = _source(block, load)
            output = node.operands[source] - self.owner.count
            if output >= 0 and not _invariant(block, load):
                fmap[k] = self.dims[output]
                inputs[source] = replace(inputs[source], expanded=((SPLIT, self.dims[output]),))
        mapping = replace(node.mapping, fmap=tuple(fmap))
        return replace(node, block=replace(block, loop=SPLIT, inputs=tuple(inputs)), mapping=mapping)


def _source(block: BlockGraph, load: int) -> int:
    op = block.nodes[load].op
    assert isinstance(op, Load)
    return op.source


def _invariant(block: BlockGraph, load: int) -> bool:
    op = block.nodes[load].op
    return isinstance(op, Load) and op.invariant


def _fits(graph: KernelGraph) -> bool:
    try:
        graph.check()
    except InputError:
        return False
    return True
