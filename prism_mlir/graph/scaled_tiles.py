"""Scaled tiles: exponentials that cannot overflow, for any graph that the search finds.

Search works on ``exp(s)`` where the source program computes ``exp(s - m)`` with the row maximum m, a shift that cancels in every
output (see ``ProgramNode.shift``). Code must subtract it. Here a graph is rewritten so that it does: a tile that depends on such
an exponential is kept as values with *references*, tiles r of logarithms, and stands for ``values * exp(k * r)``. ``k`` is the
tile's degree in r: the exponential has degree 1; products add degrees, quotients subtract them; sums, and products with other
tiles, keep them. Where degrees cancel, nothing is left to be done.

The reference of an exponential is the maximum of its argument over all dims that are summed up later. In a loop it is the running
maximum, and accumulators rescale what they hold (``Accum.degree``): online softmax. A result that one kernel leaves for another
takes its references along; where parts are combined (Flash-Decoding), these take part in the running maximum. References start
from the least finite number: rows of -inf are zeros until something else comes, and NaN if nothing does, as in the source.

The result is an ordinary kernel graph, of the same value for every input where no intermediate value overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sympy

from prism_mlir.graph.block import Accum, BlockNode, BlockOp, Load, Stage, TensorType, node_stage
from prism_mlir.graph.dims import reshape_groups
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode
from prism_mlir.graph.mapping import Mapping, Partition, tile_partitions
from prism_mlir.graph.ops import (
    ADD,
    DIV,
    LAST,
    LOWEST,
    MAXIMUM,
    MUL,
    RUNNING_MAX,
    SUB,
    Kind,
    Op,
    Shape,
    reduce_max,
    reshape,
    unary,
)
from prism_mlir.graph.program import Program
from prism_mlir.graph.scalar_fn import ScalarFn, X
from prism_mlir.graph.shifts import Degrees, combined_degrees, meets

_ZERO = unary(ScalarFn.of(sympy.Integer(0)))
_NO_LESS = unary(ScalarFn.of(sympy.Max(X, sympy.Float(LOWEST))))
_EXP = unary("exp(x)")


def scale_tiles(program: Program, graph: KernelGraph) -> KernelGraph:
    """The graph with references for every exponential that the program shifts; the graph itself where there is none.

    Raises :class:`UnsupportedError` where a tile's reference would differ between parts that are put together as they are, and
    :class:`InputError` for a graph with symbolic mappings.
    """
    shifted = frozenset(n.op for n in program.nodes if n.shift is not None)
    if not shifted or any(isinstance(n, LibraryNode) for n in graph.nodes) or _is_scaled(graph):
        return graph
    return _Graph(graph, shifted, _summed_dims(graph, shifted)).run()


def _is_scaled(graph: KernelGraph) -> bool:
    return any(n.op in (RUNNING_MAX, _NO_LESS) for custom in graph.custom for n in custom.block.nodes)


# -- first: over which dims of each exponential's argument the maximum must be taken ---------------------------------------------

Site = tuple[int, int]  # kernel node, block node


@dataclass(frozen=True, slots=True)
class _Trace:
    """Degree of a tile in one exponential, and for each of its dims the dim of the exponential's argument it is (or ``None``)."""

    degree: int
    dims: tuple[int | None, ...]


Traces = dict[Site, _Trace]


def _summed_dims(graph: KernelGraph, shifted: frozenset[Op]) -> dict[Site, set[int]]:
    """For each exponential, the dims of its argument that are summed up while it counts.

    In a tile in which degrees cancel, as in a quotient of an exponential and a sum that another kernel made of the same one,
    it counts no more: what is summed up then are values of ordinary size.
    """
    summed: dict[Site, set[int]] = {}
    values: list[Traces] = [{} for _ in graph.inputs]
    for k, node in enumerate(graph.nodes):
        assert isinstance(node, CustomNode)
        tiles: list[Traces] = []
        for j, n in enumerate(node.block.nodes):
            if isinstance(n.op, Load):
                tiles.append(values[node.operands[n.op.source]])
            elif isinstance(n.op, Accum):
                tiles.append(tiles[n.operands[0]])
            elif n.op in shifted:
                summed[k, j] = set()
                tiles.append({(k, j): _Trace(1, tuple(range(len(node.block.shapes[j]))))})
            else:
                shapes = [node.block.shapes[v] for v in n.operands]
                tiles.append(_traced(n.op, [tiles[v] for v in n.operands], shapes, node.block.shapes[j], summed))
        values += [tiles[o] for o in node.block.outputs]
    return summed


def _traced(
    op: Op, operands: Sequence[Traces], shapes: Sequence[Shape], result: Shape, summed: dict[Site, set[int]]
) -> Traces:
    number = {site: k for k, site in enumerate(summed)}
    degrees = [{number[site]: t.degree for site, t in traces.items()} for traces in operands]
    if degree := meets(op, degrees):
        kept = {site: degree for traces in operands for site in traces}
    else:
        places = list(summed)
        kept = {places[k]: degree for k, degree in combined_degrees(op, degrees).items()}
    if op.kind in (Kind.MATMUL, Kind.REDUCE):
        cancelled = [site for o in operands if not sum(t.degree for t in o.values()) for site in o]
        kept = {site: degree for site, degree in kept.items() if site not in cancelled}
    if not kept:
        return {}
    traces = {site: [o[site].dims if site in o else None for o in operands] for site in kept}
    found: Traces = {}
    for site, degree in kept.items():
        dims: tuple[int | None, ...]
        match op.kind:
            case Kind.MATMUL:
                a, b = traces[site]
                rank = len(result)
                left = a or (None,) * rank
                right = b or (None,) * rank
                lead = tuple(x if x is not None else y for x, y in zip(left[:-2], right[:-2], strict=True))
                summed[site] |= {d for d in (left[-1], right[-2]) if d is not None}
                dims = (*lead, left[-2], right[-1])
            case Kind.REDUCE:
                (own,) = traces[site]
                assert own is not None and op.dim is not None
                summed[site] |= {d for d in (own[op.dim],) if d is not None}
                dims = tuple(None if d == op.dim else x for d, x in enumerate(own))
            case Kind.TRANSPOSE:
                (own,) = traces[site]
                assert own is not None and op.perm is not None
                dims = tuple(own[p] for p in op.perm)
            case Kind.RESHAPE:
                (own,) = traces[site]
                assert own is not None
                dims = _reshaped_dims(own, shapes[0], result)
            case _:
                rows = [row for row in traces[site] if row is not None]
                dims = tuple(next((d for d in column if d is not None), None) for column in zip(*rows, strict=True))
        found[site] = _Trace(degree, dims)
    return found


def _reshaped_dims(own: Sequence[int | None], source: Shape, target: Shape) -> tuple[int | None, ...]:
    dims: list[int | None] = [None] * len(target)
    for a, b in reshape_groups(source, target):
        for d in b:  # of merged dims the first that counts; a maximum over more dims than needed is right as well
            dims[d] = next((own[x] for x in a if own[x] is not None), None)
    return tuple(dims)


# -- second: the graph anew ------------------------------------------------------------------------------------------------------


@dataclass
class _Graph:
    """Rewrites the kernels in order.

    degrees: of kernel values of the new graph, in other kernel values, their references
    fine:    of references that blocks have written for each element, the dims along which they are constant only in parts
    """

    old: KernelGraph
    shifted: frozenset[Op]
    summed: dict[Site, set[int]]
    number: list[int] = field(default_factory=list)
    types: list[TensorType] = field(default_factory=list)
    degrees: dict[int, Degrees] = field(default_factory=dict)
    fine: dict[int, frozenset[int]] = field(default_factory=dict)

    def run(self) -> KernelGraph:
        self.number = list(range(len(self.old.inputs)))
        self.types = list(self.old.inputs)
        nodes = [self._node(k, n) for k, n in enumerate(self.old.custom)]
        return KernelGraph(self.old.inputs, tuple(nodes), tuple(self.number[v] for v in self.old.outputs))

    def _node(self, k: int, node: CustomNode) -> CustomNode:
        first = len(self.number)
        results = [first + j for j in range(len(node.block.outputs))]
        passed_on = [v not in self.old.outputs for v in results]
        block = _Block(self, k, node)
        made, references = block.run(passed_on)
        start = len(self.types)
        self.number += [start + j for j in range(len(results))]
        parts = tile_partitions(made.block, made.mapping) if made.mapping else ()
        for j, out in enumerate(made.block.outputs):
            added = _expansion(made, j, parts[out])
            self.types.append(TensorType(made.block.shapes[out], DType.F32, added))
        for j, degrees in references.items():
            self.degrees[start + j] = {start + at: degree for at, degree in degrees.items()}
        self.fine |= {start + at: dims for at, dims in block.fine.items()}
        return made


def _expansion(node: CustomNode, output: int, parts: Sequence[Partition]) -> tuple[tuple[str, int], ...]:
    assert node.mapping is not None
    cut = frozenset[str]().union(*parts)
    pairs = zip(node.block.grid, node.mapping.omap[output], strict=True)
    return tuple((p, d) for p, d in pairs if d >= 0 and p not in cut)


class _Block:
    """Rewrites one kernel."""

    def __init__(self, owner: _Graph, kernel: int, node: CustomNode) -> None:
        if node.mapping is None:
            raise InputError("the graph still has symbolic mappings; instantiate them first")
        self.owner, self.kernel, self.node, self.block, self.mapping = owner, kernel, node, node.block, node.mapping
        self.parts = tile_partitions(node.block, node.mapping)
        self.maps = dict(zip(node.block.loads, zip(node.mapping.imap, node.mapping.fmap, strict=True), strict=True))
        self.inputs = list(node.block.inputs)
        self.operands = [owner.number[v] for v in node.operands]
        self.nodes: list[BlockNode] = []
        self.shapes: list[Shape] = []
        self.stages: list[Stage] = []
        self.known: dict[BlockNode, int] = {}
        self.new_maps: dict[int, tuple[tuple[int, ...], int]] = {}
        self.number: list[int] = []
        self.degrees: dict[int, Degrees] = {}
        self.cut_maxima: set[str] = set()  # grid dims that cut a dim of which the maximum is taken
        self.fine: dict[int, frozenset[int]] = {}  # of outputs, see ``_Graph``

    def run(self, passed_on: Sequence[bool]) -> tuple[CustomNode, dict[int, Degrees]]:
        """The new kernel, and for each of its outputs the degrees in other outputs."""
        for j, node in enumerate(self.block.nodes):
            self.number.append(self._made(j, node))
        outputs = [
            self.number[o] if keep else self.plain(self.number[o])
            for o, keep in zip(self.block.outputs, passed_on, strict=True)
        ]
        omap = list(self.mapping.omap)
        references: dict[int, Degrees] = {}
        for j, out in enumerate(tuple(outputs)):
            found: Degrees = {}
            for own, degree in self.degrees.get(out, {}).items():
                fine = self._parts_with_maxima(self.mapping.omap[j])
                reference = self.add(ADD, own, self.add(_ZERO, out)) if fine else own
                row = self._reference_row(self.mapping.omap[j], reference)
                places = [k for k in range(len(passed_on), len(outputs)) if outputs[k] == reference and omap[k] == row]
                if not places:
                    outputs.append(reference)
                    omap.append(row)
                    places = [len(outputs) - 1]
                    if fine:
                        self.fine[places[0]] = fine
                found[places[0]] = degree
            if found:
                references[j] = found
        loads = [self.new_maps[k] for k, n in enumerate(self.nodes) if isinstance(n.op, Load)]
        mapping = Mapping(tuple(i for i, _ in loads), tuple(f for _, f in loads), tuple(omap))
        block = replace(self.block, inputs=tuple(self.inputs), nodes=tuple(self.nodes), outputs=tuple(outputs))
        return replace(self.node, block=block, operands=tuple(self.operands), mapping=mapping), references

    def _parts_with_maxima(self, row: Sequence[int]) -> frozenset[int]:
        """Dims of a stored tensor of which each block holds a part with a maximum of its own: later kernels may cut them
        elsewhere, so that the maxima are stored for each element."""
        cut = frozenset[str]().union(*(part for n in self.block.outputs for part in self.parts[n]))
        pairs = zip(self.block.grid, row, strict=True)
        return frozenset(d for g, d in pairs if d >= 0 and g in self.cut_maxima and g in cut)

    def _reference_row(self, row: Sequence[int], reference: int) -> tuple[int, ...]:
        """Where the blocks' references go, when the tiles that they belong to go where ``row`` says."""
        shape, found = self.shapes[reference], []
        own = min(range(len(shape)), key=lambda d: (shape[d], d))
        for g, d in zip(self.block.grid, row, strict=True):
            if d < 0:
                if g in self.cut_maxima:
                    raise UnsupportedError(f"no code where blocks along {g} have a maximum each and store one tile")
                found.append(-1)
            elif self._is_expanded(g):
                found.append(own)
            else:
                found.append(d if shape[d] > 1 else -1)
        return tuple(found)

    def _is_expanded(self, grid_dim: str) -> bool:
        """Whether all outputs hold one part for each block along a grid dim."""
        cut = frozenset[str]().union(*(part for o in self.block.outputs for part in self.parts[o]))
        g = self.block.grid.index(grid_dim)
        return grid_dim not in cut and all(row[g] >= 0 for row in self.mapping.omap)

    # -- nodes ---------------------------------------------------------------------------------------------------------------

    def add(self, op: BlockOp, *operands: int) -> int:
        """A node, made if it is new."""
        node = BlockNode(op, operands)
        known = self.known.get(node)
        if known is not None and not isinstance(op, Load):
            return known
        index = self.known[node] = len(self.nodes)
        self.stages.append(node_stage(node, [self.stages[v] for v in operands], index))
        shapes = [self.shapes[v] for v in operands]
        match op:
            case Load(source=source):
                self.shapes.append(self.inputs[source].shape)
            case Accum():
                self.shapes.append(shapes[0])
            case Op():
                self.shapes.append(op.spec.shape(op, shapes))
        self.nodes.append(node)
        return index

    def _made(self, j: int, node: BlockNode) -> int:
        if isinstance(node.op, Load):
            return self._load(j, node.op)
        operands = [self.number[v] for v in node.operands]
        if isinstance(node.op, Accum):
            return self._accumulate(node.op, operands[0])
        if node.op in self.owner.shifted:
            return self._exponential(j, node.op, self.plain(operands[0]))
        return self._apply(node.op, operands)

    def _apply(self, op: Op, operands: Sequence[int]) -> int:
        degrees = [self.degrees.get(v, {}) for v in operands]
        if (degree := meets(op, degrees)) and all(len(d) == 1 for d in degrees):
            return self._meet(op, operands, degree)
        kept = combined_degrees(op, degrees)
        multiplied_out = any(degrees) and not kept and not (op in (MUL, DIV) or op.kind is Kind.MATMUL)
        if multiplied_out or not self._sums_rows_alone(op, operands):
            return self.add(op, *map(self.plain, operands))
        index = self.add(op, *operands)
        if kept:
            self.degrees[index] = {self._moved(op, r, operands[0]): d for r, d in kept.items()}
        return index

    def _meet(self, op: Op, operands: Sequence[int], degree: int) -> int:
        """A sum of tiles with different references: both are brought to the larger one."""
        references = [next(iter(self.degrees[v])) for v in operands]
        larger = self.add(MAXIMUM, *references)
        brought = [
            self.add(MUL, v, self.add(_EXP, self._times(degree, self.add(SUB, r, larger))))
            for v, r in zip(operands, references, strict=True)
        ]
        index = self.add(op, *brought)
        self.degrees[index] = {larger: degree}
        return index

    def _times(self, degree: int, index: int) -> int:
        return index if degree == 1 else self.add(unary(ScalarFn.of(degree * X)), index)

    def _sums_rows_alone(self, op: Op, operands: Sequence[int]) -> bool:
        """Whether what an operator sums up has one reference."""
        if op.kind is Kind.REDUCE:
            assert op.dim is not None
            return all(self.shapes[r][op.dim] == 1 for r in self.degrees.get(operands[0], {}))
        if op.kind is Kind.MATMUL:
            left, right = (self.degrees.get(v, {}) for v in operands)
            return all(self.shapes[r][-1] == 1 for r in left) and all(self.shapes[r][-2] == 1 for r in right)
        return True

    def _moved(self, op: Op, reference: int, value: int) -> int:
        """A reference of ``value`` as one of what a transpose or a reshape makes of it."""
        if op.kind is Kind.TRANSPOSE:
            return self.add(op, reference)
        if op.kind is not Kind.RESHAPE:
            return reference
        assert op.shape is not None
        source, own, target = self.shapes[value], self.shapes[reference], list(op.shape)
        for a, b in reshape_groups(source, op.shape):
            if all(own[d] == 1 for d in a):
                for d in b:
                    target[d] = 1
            elif any(own[d] != source[d] for d in a):
                raise UnsupportedError("no code for a reshape that merges a dim of a maximum with another dim")
        return self.add(reshape(*target), reference)

    def plain(self, index: int) -> int:
        """The tile itself, without references: multiplied out."""
        degrees = self.degrees.get(index)
        if not degrees:
            return index
        return self.add(MUL, index, self.add(_EXP, self._logarithm(degrees)))

    def _logarithm(self, degrees: Degrees) -> int:
        """The logarithm of what the references of a tile stand for together."""
        terms = [self._times(degree, reference) for reference, degree in degrees.items()]
        total, *rest = terms
        for term in rest:
            total = self.add(ADD, total, term)
        return total

    def _exponential(self, j: int, op: Op, argument: int) -> int:
        assert op.fn is not None and isinstance(op.fn.expr, sympy.exp)
        dims = self.owner.summed[self.kernel, j]
        inner = op.fn.expr.args[0]
        scaled = argument if inner == X else self.add(unary(ScalarFn.of(inner)), argument)
        largest = scaled  # where nothing is summed each element is its own maximum, and exponents cancel before they are taken
        for d in sorted(dims):
            largest = self.add(reduce_max(d), largest)
            self.cut_maxima |= self.parts[j][d] & set(self.block.grid)
        reference = self.add(RUNNING_MAX if self._is_one_maximum(j, largest) else _NO_LESS, largest)
        index = self.add(_EXP, self.add(SUB, scaled, reference))
        self.degrees[index] = {reference: 1}
        return index

    def _is_one_maximum(self, j: int, largest: int) -> bool:
        """Whether the maxima of all iterations are parts of one maximum; else each iteration has rows of its own."""
        dims = self.owner.summed[self.kernel, j]
        kept = frozenset[str]().union(*(part for d, part in enumerate(self.parts[j]) if d not in dims))
        return bool(dims) and self.stages[largest] is Stage.BODY and self.block.loop not in kept

    def _accumulate(self, op: Accum, operand: int) -> int:
        degrees = self.degrees.get(operand, {})
        moving = [(r, d) for r, d in degrees.items() if self.stages[r] is Stage.BODY]
        if not moving:
            index = self.add(op, operand)
            self.degrees[index] = dict(degrees)
            return index
        (reference, degree), *more = moving
        still = {r: d for r, d in degrees.items() if self.stages[r] is not Stage.BODY}
        if more or degree < 0 or self.nodes[reference].op != RUNNING_MAX:
            operand, reference, degree = self._under_one_maximum(operand, dict(moving))
        index = self.add(replace(op, degree=degree), operand, reference)
        self.degrees[index] = {**still, self.add(LAST, reference): degree}
        return index

    def _under_one_maximum(self, operand: int, moving: Degrees) -> tuple[int, int, int]:
        """What an iteration adds, with the logarithm of all its references together as one that only rises."""
        total = self._logarithm(moving)
        running = self.add(RUNNING_MAX, total)
        return self.add(MUL, operand, self.add(_EXP, self.add(SUB, total, running))), running, 1

    def _load(self, j: int, op: Load) -> int:
        imap, fmap = self.maps[j]
        value = self.operands[op.source]
        index = self.add(op)
        self.new_maps[index] = (imap, fmap)
        degrees = self.owner.degrees.get(value, {})
        for reference, degree in degrees.items():
            loaded = self._load_reference(reference, op, imap, fmap)
            fine = self.owner.fine.get(reference, frozenset())
            largest = loaded
            for d in sorted(fine):
                largest = self.add(reduce_max(d), largest)
            self.cut_maxima |= {g for g, d in zip(self.block.grid, imap, strict=True) if d in fine}
            rises = self.stages[loaded] is Stage.BODY and (fmap in fine or not self._has_own_rows(reference, fmap))
            if largest == loaded and not rises:
                self.degrees.setdefault(index, {})[loaded] = degree
                continue
            common = self.add(RUNNING_MAX, largest) if rises else largest
            behind = self.add(SUB, loaded, common)
            scaled = self.add(MUL, index, self.add(_EXP, self._times(degree, behind)))
            self.degrees[scaled] = {**self.degrees.get(index, {}), common: degree}
            index = scaled
        return index

    def _has_own_rows(self, reference: int, fmap: int) -> bool:
        """Whether each iteration has rows of its own, with a reference each."""
        return fmap >= 0 and self.owner.types[reference].shape[fmap] > 1

    def _load_reference(self, value: int, beside: Load, imap: Sequence[int], fmap: int) -> int:
        """Load the reference of a tile with the part of it that belongs to the tile."""
        tensor = self.owner.types[value]
        added = dict(tensor.expanded)
        row = tuple(d if d >= 0 and tensor.shape[d] > 1 else -1 for d in imap)
        along = added.get(self.block.loop, -1) if self.block.loop is not None else -1
        if fmap >= 0 and along < 0 and self._has_own_rows(value, fmap) and not beside.invariant:
            along = fmap
        op = Load(self._input(value), beside.invariant or along < 0)
        for k, n in enumerate(self.nodes):
            if n.op == op and self.new_maps[k] == (row, along):
                return k
        index = self.add(op)
        self.new_maps[index] = (row, along)
        return index

    def _input(self, value: int) -> int:
        if value not in self.operands:
            self.operands.append(value)
            self.inputs.append(self.owner.types[value])
        return self.operands.index(value)


__all__ = ["scale_tiles"]
